import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type ParseError, parse, printParseErrorCode, visit } from 'jsonc-parser';
import * as z from 'zod';
import type { Env } from '../domain.js';
import { describeFileError, errorCodeOf, SvcError } from '../errors.js';
import { type Config, readInput, resolveSettings } from './config.js';
import { configSchema } from './settings.js';

const MAX_BYTES = 16 * 1_048_576;

export const DEFAULT_CONFIG_FILES = ['svc-migrate.config.jsonc', 'svc-migrate.config.json'] as const;

export interface ConfigFlags {
  readonly config?: string | undefined;
  readonly db?: string | undefined;
}

/**
 * Loads the configuration from defaults, file, environment (`SVC_MIGRATE_CONFIG`, `SVC_MIGRATE_DB`) and flags; later
 * ones override earlier ones. Paths in the file are relative to it, others to the working directory.
 * @param given `nowMs`: the time that `backfill.days` is subtracted from
 * @throws SvcError `config`, naming every problem with its path
 */
export async function loadConfig(given: {
  readonly env: Env;
  readonly flags?: ConfigFlags;
  readonly nowMs: number;
}): Promise<Config> {
  const { env, flags = {}, nowMs } = given;
  const file = findConfigFile(env, flags.config);
  const value = parseJson(file, await readConfigFile(file));
  return parseConfigValue(value, file, nowMs, flags.db ?? (env['SVC_MIGRATE_DB'] || undefined));
}

/** The configuration file that is named by `--config` or the environment, or else found in the working directory. */
export function findConfigFile(env: Env, named: string | undefined): string {
  const [usual] = DEFAULT_CONFIG_FILES;
  const existing = DEFAULT_CONFIG_FILES.find((name) => existsSync(name));
  return resolve(named ?? (env['SVC_MIGRATE_CONFIG'] || (existing ?? usual)));
}

/** Parses a configuration that is already a value; `file` is only named, and the base of relative paths. */
export function parseConfigValue(value: unknown, file: string, nowMs: number, database?: string): Config {
  const { data, error } = configSchema.safeParse(value);
  if (data === undefined) throw configError(file, error.issues);
  const config = resolveSettings(data, resolve(file), nowMs, database);
  if ((config.backfill.sinceMs ?? nowMs) <= nowMs) return config;
  throw configError(file, [{ path: ['backfill', 'since'], message: 'is in the future' }]);
}

async function readConfigFile(file: string): Promise<string> {
  try {
    return (await readInput(file, MAX_BYTES)).replace(/^\uFEFF/, '');
  } catch (cause) {
    if (cause instanceof SvcError) throw new SvcError('config', cause.message, { hint: cause.hint, cause });
    const isMissing = errorCodeOf(cause) === 'ENOENT';
    const sentence = isMissing
      ? `There is no configuration file ${file}.`
      : `The configuration file ${file} cannot be read: ${describeFileError(cause)}.`;
    const hint = 'Run `svc-migrate init` to write one, or name yours with --config.';
    throw new SvcError('config', sentence, { hint: isMissing ? hint : undefined, cause });
  }
}

/** @throws SvcError `config` for a syntax error (with its position) or a repeated key */
function parseJson(file: string, text: string): unknown {
  try {
    const errors: ParseError[] = [];
    const value: unknown = parse(text, errors, { allowTrailingComma: true });
    const [first] = errors;
    if (first !== undefined) throw syntaxError(file, text, first);
    const problems = findKeyProblems(text);
    if (problems.length > 0) throw configError(file, problems);
    return value;
  } catch (cause) {
    // The parser is recursive: it fails at some thousands of levels.
    if (!(cause instanceof RangeError)) throw cause;
    throw new SvcError('config', `${file} is nested too deeply.`, { cause });
  }
}

/** Reports only the position: the text around an error may be a pasted key. */
function syntaxError(file: string, text: string, { error, offset }: ParseError): SvcError {
  const line = text.slice(0, offset).split('\n').length;
  const column = offset - text.lastIndexOf('\n', offset - 1);
  const what = printParseErrorCode(error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return new SvcError('config', `${file}:${line}:${column}: this is not JSON (${what}).`, {
    hint: 'Comments and trailing commas are allowed; keys and text need double quotes.',
  });
}

type Problem = Pick<z.core.$ZodIssue, 'path' | 'message'>;

/** Repeated keys, and `__proto__`, which becomes no member of an object. */
function findKeyProblems(text: string): Problem[] {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  const problems: Problem[] = [];
  visit(text, {
    onObjectProperty: (name, _offset, _length, _line, _column, pathOfObject) => {
      const parent = pathOfObject();
      const path = [...parent, name];
      const key = JSON.stringify(path);
      const isRepeated = seen.has(key);
      // The members of a repeated object are repeated with it.
      const isNamed = repeated.has(JSON.stringify(parent));
      if (name === '__proto__') problems.push({ path, message: 'is not a setting' });
      else if (isRepeated && !isNamed) problems.push({ path, message: 'is set more than once' });
      if (isRepeated) repeated.add(key);
      seen.add(key);
    },
  });
  return problems;
}

/** Limits of a message: a file that is not a configuration may have many thousands of problems. */
const MAX_SHOWN = 100;
const MAX_CHARS = 1000;

function configError(file: string, problems: readonly Problem[]): SvcError {
  const lines = problems.slice(0, MAX_SHOWN).map(({ path, message }) => {
    const place = path.length === 0 ? 'the configuration' : z.core.toDotPath(path);
    return `${place}: ${message.slice(0, MAX_CHARS)}`;
  });
  if (problems.length > lines.length) lines.push(`and ${problems.length - lines.length} more`);
  const sentence =
    lines.length === 1
      ? `${file}: ${lines.join('')}`
      : `${file} has ${problems.length} mistakes:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  return new SvcError('config', sentence, {
    hint: '`svc-migrate help config` describes every setting. Keys are never written into the file.',
  });
}
