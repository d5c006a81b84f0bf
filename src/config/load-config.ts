import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { Env } from '../domain.js';
import { describeFileError, errorCodeOf, SvcError } from '../errors.js';
import { readInput } from '../runtime/read-input.js';
import { isLoopback } from '../text/addresses.js';
import { didYouMeanClause } from '../text/suggest.js';
import { resolveTarget } from './apply-targets.js';
import type { Config, Endpoint } from './config.js';
import { type ConfigText, configError, lineOf, type Problem, problemsOf, unknownKey } from './problems.js';
import {
  configSchema,
  DEFAULT_MODELS,
  DEFAULT_V3_KEY_ENV,
  DEFAULT_V4_KEY_ENV,
  type Settings,
} from './settings.js';

const DAY_MS = 86_400_000;
const MAX_BYTES = 16 * 1_048_576;

/** Read where no file is named: the first that exists; `init` writes the first. */
export const DEFAULT_CONFIG_FILES = ['svc-migrate.config.jsonc', 'svc-migrate.config.json'] as const;

/** Settings given on the command line: `--config` and `--db`. */
export interface ConfigFlags {
  readonly config?: string | undefined;
  readonly db?: string | undefined;
}

/**
 * Loads the configuration from defaults, file, environment (`SVC_MIGRATE_CONFIG`, `SVC_MIGRATE_DB`) and flags; later
 * ones override earlier ones. Paths in the file are relative to it, others to the working directory.
 *
 * @param given `nowMs`: the time that `backfill.days` is subtracted from
 * @throws SvcError `config`, naming every problem with its path
 */
export async function loadConfig(given: {
  readonly env: Env;
  readonly flags?: ConfigFlags;
  readonly nowMs: number;
}): Promise<Config> {
  const { env, flags = {}, nowMs } = given;
  const { source, value } = await readConfigFile(findConfigFile(env, flags.config));
  return parseConfig(source, value, nowMs, flags.db ?? (env['SVC_MIGRATE_DB'] || undefined));
}

/** The configuration file that is named by `--config` or the environment, or else found in the working directory. */
export function findConfigFile(env: Env, named: string | undefined): string {
  const [usual] = DEFAULT_CONFIG_FILES;
  const existing = DEFAULT_CONFIG_FILES.find((name) => existsSync(name));
  return resolve(named ?? (env['SVC_MIGRATE_CONFIG'] || (existing ?? usual)));
}

/** Parses a configuration that is already a value; `file` is only the base of relative paths. */
export function parseConfigValue(value: unknown, file: string, nowMs: number): Config {
  return parseConfig({ file: resolve(file), text: '', tree: undefined }, value, nowMs);
}

function parseConfig(source: ConfigText, value: unknown, nowMs: number, database?: string): Config {
  const { data, error } = configSchema.safeParse(value);
  const problems = data === undefined ? problemsOf(error.issues) : findCrossProblems(data);
  if (data === undefined || problems.length > 0) throw configError(source, problems);
  return resolveSettings(data, source.file, nowMs, database);
}

function findCrossProblems({ v3, v4, http, limits, models }: Settings): Problem[] {
  const problems: Problem[] = [];
  const endpoints = [
    ...Object.entries(v3.regions).map(([region, { baseUrl }]) => ({
      path: ['v3', 'regions', region, 'baseUrl'],
      baseUrl,
    })),
    { path: ['v4', 'baseUrl'], baseUrl: v4.baseUrl },
  ];
  for (const { path, baseUrl } of endpoints) {
    const { protocol, hostname } = new URL(baseUrl);
    if (protocol !== 'http:' || isLoopback(hostname) || http.allowHttp) continue;
    const message = 'would send the key over plain http: use https, or accept this with http.allowHttp';
    problems.push({ path, message });
  }
  const paths = (models ?? DEFAULT_MODELS).map((model) => model.v3);
  for (const model of Object.keys(limits.models)) {
    if (paths.includes(model)) continue;
    const message = `is not a configured model${didYouMeanClause(model, paths)}`;
    problems.push({ path: ['limits', 'models', model], message });
  }
  return problems;
}

/** `database`: from flag or environment; it overrides the file. */
function resolveSettings(
  { $schema, v3, v4, models, companies, decisions, backfill, apply, maxAge, ...settings }: Settings,
  file: string,
  nowMs: number,
  database: string | undefined,
): Config {
  const folder = dirname(file);
  const { match } = companies;
  const { since, days, dateFields } = backfill;
  return {
    ...settings,
    file,
    database: database === undefined ? resolve(folder, settings.database) : resolve(database),
    v3: {
      regions: Object.entries(v3.regions).map(([region, endpoint]) =>
        resolveEndpoint(region, { ...v3, ...endpoint }, DEFAULT_V3_KEY_ENV, folder),
      ),
      companies: v3.companies,
    },
    v4: {
      ...resolveEndpoint('', v4, DEFAULT_V4_KEY_ENV, folder),
      includeDeleted: v4.includeDeleted,
      companies: v4.companies,
      companyIdField: v4.companyIdField,
    },
    models: models ?? DEFAULT_MODELS,
    companies: {
      ...companies,
      match: typeof match === 'string' ? match : { file: resolve(folder, match.file) },
    },
    decisions: decisions === null ? null : resolve(folder, decisions),
    backfill: {
      sinceMs: since ?? (days === undefined ? null : nowMs - days * DAY_MS),
      ...(days === undefined ? {} : { days }),
      dateFields,
    },
    apply: { ...apply, targets: apply.targets.map((target) => resolveTarget(target, folder)) },
    maxAgeMs: maxAge,
  };
}

type EndpointSettings = Pick<
  Settings['v4'],
  'baseUrl' | 'apiKeyEnv' | 'apiKeyFile' | 'pageSize' | 'concurrency' | 'requestsPerSecond'
>;

function resolveEndpoint(
  region: string,
  { baseUrl, apiKeyEnv, apiKeyFile, pageSize, concurrency, requestsPerSecond }: EndpointSettings,
  defaultEnv: string,
  folder: string,
): Endpoint {
  const keySource = apiKeyFile === undefined ? (apiKeyEnv ?? defaultEnv) : resolve(folder, apiKeyFile);
  return { region, baseUrl, keySource, pageSize, concurrency, requestsPerSecond };
}

/**
 * Parses a configuration file. Comments and trailing commas are allowed.
 *
 * @throws SvcError `config` for a missing or unreadable file, a syntax error (with its position) or a repeated key
 */
async function readConfigFile(
  file: string,
): Promise<{ readonly source: ConfigText; readonly value: unknown }> {
  const text = await readConfigText(file);
  try {
    const errors: ParseError[] = [];
    const tree = parseTree(text, errors, { allowTrailingComma: true });
    const source = { file, text, tree };
    if (tree === undefined) {
      throw new SvcError('config', `${file} is empty.`, { hint: 'Delete it and run `svc-migrate init`.' });
    }
    const [first] = errors;
    if (first !== undefined) throw syntaxError(source, first);
    const problems = findKeyProblems(tree, []);
    if (problems.length > 0) throw configError(source, problems);
    return { source, value: getNodeValue(tree) };
  } catch (cause) {
    // The parser is recursive: it fails at some thousands of levels.
    if (!(cause instanceof RangeError)) throw cause;
    throw new SvcError('config', `${file} is nested too deeply.`, { cause });
  }
}

async function readConfigText(file: string): Promise<string> {
  try {
    return (await readInput(file, MAX_BYTES)).replace(/^\uFEFF/, '');
  } catch (cause) {
    if (cause instanceof SvcError) throw new SvcError('config', cause.message, { hint: cause.hint, cause });
    if (errorCodeOf(cause) !== 'ENOENT') {
      const sentence = `The configuration file ${file} cannot be read: ${describeFileError(cause)}.`;
      throw new SvcError('config', sentence, { cause });
    }
    const [usual, other] = DEFAULT_CONFIG_FILES;
    const isUsual = basename(file) === usual && !existsSync(resolve(dirname(file), other));
    throw new SvcError(
      'config',
      `There is no configuration file ${file}${isUsual ? `, nor ${other}` : ''}.`,
      {
        hint: 'Run `svc-migrate init` to write one, or name yours with --config.',
        cause,
      },
    );
  }
}

/** Reports only the position: the text around an error may be a pasted key. */
function syntaxError({ file, text }: ConfigText, error: ParseError): SvcError {
  const line = lineOf(text, error.offset);
  const column = error.offset - text.lastIndexOf('\n', error.offset - 1);
  const what = printParseErrorCode(error.error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return new SvcError('config', `${file}:${line}:${column}: this is not JSON (${what}).`, {
    hint: 'Comments and trailing commas are allowed; keys and text need double quotes.',
  });
}

/** Repeated keys, and `__proto__`, which is no member once the tree becomes an object. */
function findKeyProblems(node: Node, path: Problem['path']): Problem[] {
  const children = node.children ?? [];
  if (node.type === 'array') {
    return children.flatMap((child, index) => findKeyProblems(child, [...path, index]));
  }
  if (node.type !== 'object') return [];
  const seen = new Set<string>();
  return children.flatMap(({ children: [key, value] = [] }) => {
    const name = String(key?.value);
    const at = [...path, name];
    if (name === '__proto__') return [{ path: at, message: unknownKey(name) }];
    const nested = value === undefined ? [] : findKeyProblems(value, at);
    if (seen.has(name)) return [{ path: at, message: 'is set more than once' }, ...nested];
    seen.add(name);
    return nested;
  });
}
