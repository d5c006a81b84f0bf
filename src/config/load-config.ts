import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import {
  getNodeValue,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import type { Env } from '../domain.js';
import { describeFileError, errorCodeOf, SvcError } from '../errors.js';
import { shellLine } from '../text/escape.js';
import { filesOf, resolveTarget } from './apply-targets.js';
import type { Config, Endpoint } from './config.js';
import { findCrossProblems } from './cross-checks.js';
import { type ConfigText, configError, describeIssue, lineOf, type Problem, problemsOf } from './problems.js';
import {
  configSchema,
  DEFAULT_CONFIG_FILES,
  DEFAULT_DATABASE,
  DEFAULT_MODELS,
  DEFAULT_V3_KEY_ENV,
  DEFAULT_V4_KEY_ENV,
  type Settings,
} from './settings.js';

const DAY_MS = 86_400_000;

/** Settings given on the command line. */
export interface ConfigFlags {
  /** `--config`. */
  readonly config?: string | undefined;
  /** `--db`. */
  readonly db?: string | undefined;
}

/**
 * Loads the configuration from defaults, file, environment (`SVC_MIGRATE_CONFIG`, `SVC_MIGRATE_DB`) and flags; later
 * ones override earlier ones. Paths in the file are relative to it, others to the working directory.
 *
 * `nowMs`: the time that `backfill.days` is subtracted from. `isWithoutTargets`: leave out `limits` and `apply` if the
 * configuration has a mistake.
 *
 * @throws SvcError `config`, naming every problem with its path
 */
export function loadConfig(given: {
  readonly env: Env;
  readonly flags?: ConfigFlags;
  readonly nowMs: number;
  readonly isWithoutTargets?: boolean;
}): Config {
  const { env, flags = {}, nowMs, isWithoutTargets = false } = given;
  const { source, value } = parseConfigFile(findConfigFile(env, flags.config));
  const read = () => parseConfig(source, value, nowMs, flags.db ?? (env['SVC_MIGRATE_DB'] || undefined));
  if (!isWithoutTargets || typeof value !== 'object' || value === null) return read();
  try {
    return read();
  } catch {
    Object.assign(value, { limits: undefined, apply: undefined });
    return { ...read(), possibleInputs: listNamedFiles(source.file) };
  }
}

/** The configuration file that is named by `--config` or the environment, or else found in the working directory. */
export function findConfigFile(env: Env, named: string | undefined): string {
  const [usual, ...others] = DEFAULT_CONFIG_FILES;
  const found = [usual, ...others].find((name) => existsSync(name));
  return resolve(named ?? (env['SVC_MIGRATE_CONFIG'] || (found ?? usual)));
}

/** Parses a configuration that is already a value; `file` is only the base of relative paths. */
export function parseConfigValue(value: unknown, file: string, nowMs: number): Config {
  return parseConfig({ file: resolve(file), text: '', tree: undefined }, value, nowMs);
}

function parseConfig(source: ConfigText, value: unknown, nowMs: number, database?: string): Config {
  const parsed = configSchema.safeParse(value, { error: describeIssue });
  const problems = [...problemsOf(parsed.error?.issues ?? []), ...findCrossProblems(value)];
  if (!parsed.success || problems.length > 0) throw configError(source, problems);
  return resolveSettings(parsed.data, source.file, nowMs, database);
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
  const { includeDeleted, companyIdField, eventTypeField } = v4;
  return {
    ...settings,
    file,
    database: database === undefined ? resolve(folder, settings.database) : resolve(database),
    v3: {
      regions: Object.entries(v3.regions).map(([region, own]) =>
        resolveEndpoint(region, { ...v3, ...own }, DEFAULT_V3_KEY_ENV, folder),
      ),
      companies: v3.companies,
    },
    v4: {
      ...resolveEndpoint('', v4, DEFAULT_V4_KEY_ENV, folder),
      includeDeleted,
      companies: v4.companies,
      companyIdField,
      eventTypeField,
    },
    models: models ?? DEFAULT_MODELS,
    companies: {
      ...companies,
      match: typeof match === 'string' ? match : { file: resolve(folder, match.file) },
    },
    decisions: decisions === null ? null : resolve(folder, decisions),
    backfill: {
      sinceMs: since ?? (days === undefined ? null : nowMs - days * DAY_MS),
      isRelative: since === undefined && days !== undefined,
      dateFields,
    },
    apply: { ...apply, targets: apply.targets.map((target) => resolveTarget(target, folder)) },
    maxAgeMs: maxAge,
  };
}

function resolveEndpoint(
  region: string,
  { baseUrl, apiKeyEnv, apiKeyFile, pageSize, concurrency, requestsPerSecond }: EndpointSettings,
  keyEnv: string,
  folder: string,
): Endpoint {
  const keySource = apiKeyFile === undefined ? (apiKeyEnv ?? keyEnv) : resolve(folder, apiKeyFile);
  return { region, baseUrl, keySource, pageSize, concurrency, requestsPerSecond };
}

type EndpointSettings = Pick<
  Settings['v4'],
  'baseUrl' | 'apiKeyEnv' | 'apiKeyFile' | 'pageSize' | 'concurrency' | 'requestsPerSecond'
>;

/**
 * Parses a configuration file. Comments and trailing commas are allowed.
 *
 * @throws SvcError `config` for a missing or unreadable file, a syntax error (with its position) or a repeated key
 */
function parseConfigFile(file: string): { readonly source: ConfigText; readonly value: unknown } {
  const text = readConfigText(file);
  try {
    const errors: ParseError[] = [];
    const tree = parseTree(text, errors, { allowTrailingComma: true });
    const source = { file, text, tree };
    if (tree === undefined) {
      const init = shellLine(['svc-migrate', 'init', '--force', '--config', file]);
      const hint = `Run \`${init}\` to write a new one.`;
      throw new SvcError('config', `${file} is empty.`, { hint });
    }
    const [first] = errors;
    if (first !== undefined) throw syntaxError(source, first);
    const repeated = findRepeatedKeys(text, tree, []);
    if (repeated.length > 0) throw configError(source, repeated);
    return { source, value: getNodeValue(tree) };
  } catch (cause) {
    // The parser is recursive: it fails at some thousands of levels.
    if (!(cause instanceof RangeError)) throw cause;
    const message = `${file}: this is not a configuration: it is nested too deeply.`;
    throw new SvcError('config', message, { cause });
  }
}

function readConfigText(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (cause) {
    const code = errorCodeOf(cause);
    if (code !== 'ENOENT') {
      throw new SvcError(
        'config',
        `The configuration file ${file} cannot be read: ${describeFileError(cause)}.`,
        { cause },
      );
    }
    const [usual, other] = DEFAULT_CONFIG_FILES;
    const isUsual = basename(file) === usual && !existsSync(resolve(dirname(file), other));
    const also = isUsual ? `, nor ${other}` : '';
    throw new SvcError('config', `There is no configuration file ${file}${also}.`, {
      hint: 'Run `svc-migrate init` to write one, or name yours with --config.',
      cause,
    });
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

function findRepeatedKeys(text: string, node: Node, path: Problem['path']): Problem[] {
  const children = node.children ?? [];
  if (node.type === 'array') {
    return children.flatMap((child, at) => findRepeatedKeys(text, child, [...path, at]));
  }
  if (node.type !== 'object') return [];
  const seen = new Set<string>();
  return children.flatMap(({ offset, children: [key, value] = [] }) => {
    const name = String(key?.value);
    const own = {
      path: [...path, name],
      // A getter, because counting lines is slow and only the first problems are shown.
      get message() {
        return `is set again on line ${lineOf(text, offset)}`;
      },
    };
    const nested = value === undefined ? [] : findRepeatedKeys(text, value, own.path);
    const isRepeated = seen.has(name);
    seen.add(name);
    return isRepeated ? [own, ...nested] : nested;
  });
}

/**
 * Files that may be inputs where the configuration cannot be loaded: its possible names, the database, and every string
 * in it taken as a path.
 */
export function listPossibleInputs(env: Env, flags: ConfigFlags): string[] {
  const given = (names: readonly (string | undefined)[]) => names.filter((name) => name !== undefined);
  const files = given([flags.config, env['SVC_MIGRATE_CONFIG'], ...DEFAULT_CONFIG_FILES]);
  const databases = given([flags.db, env['SVC_MIGRATE_DB'], DEFAULT_DATABASE]);
  return [
    ...new Set([...files, ...databases, ...files.flatMap(listNamedFiles)].map((file) => resolve(file))),
  ];
}

/** Every string in a configuration file taken as a path, and the default database beside it. */
function listNamedFiles(file: string): string[] {
  const texts = [DEFAULT_DATABASE, ...readStrings(file).flatMap((text) => filesOf({ file: text }))];
  return texts.map((text) => resolve(dirname(file), text));
}

/** The quoted strings of a file, even if it is not valid JSON. */
function readStrings(file: string): string[] {
  try {
    const found = readFileSync(file, 'utf8').matchAll(/"(?:[^"\\\n]|\\.)*"/g);
    return [...found].map(([quoted]) => String(parse(quoted))).filter((text) => !text.includes('\0'));
  } catch {
    return [];
  }
}
