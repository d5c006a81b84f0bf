import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { resolveTarget } from './apply-targets.js';
import type { Config, Endpoint } from './config.js';
import { findCrossProblems } from './cross-checks.js';
import { DEFAULT_CONFIG_FILES, DEFAULT_MODELS, DEFAULT_V3_KEY_ENV, DEFAULT_V4_KEY_ENV } from './defaults.js';
import { parseConfigFile } from './parse-file.js';
import { configError, describeIssue, problemsOf, type SourceText } from './problems.js';
import { configSchema, type Settings } from './settings.js';

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
 * `nowMs`: the time that `backfill.days` is subtracted from.
 *
 * @throws SvcError `config`, naming every problem with its path
 */
export function loadConfig(given: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags?: ConfigFlags;
  readonly nowMs: number;
}): Config {
  const { env, flags = {}, nowMs } = given;
  const { source, value } = parseConfigFile(findConfigFile(env, flags.config));
  return parseConfig(source, value, nowMs, flags.db ?? (env['SVC_MIGRATE_DB'] || undefined));
}

/** The configuration file that is named by `--config` or the environment, or else found in the working directory. */
export function findConfigFile(
  env: Readonly<Record<string, string | undefined>>,
  named: string | undefined,
): string {
  const [usual, ...others] = DEFAULT_CONFIG_FILES;
  const found = [usual, ...others].find((name) => existsSync(name));
  return resolve(named ?? (env['SVC_MIGRATE_CONFIG'] || (found ?? usual)));
}

/** Parses a configuration that is already a value; `file` is only the base of relative paths. */
export function parseConfigValue(value: unknown, file: string, nowMs: number): Config {
  return parseConfig({ file: resolve(file), text: '', tree: undefined }, value, nowMs);
}

function parseConfig(source: SourceText, value: unknown, nowMs: number, database?: string): Config {
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
      sweepOverlapMs: v3.sweepOverlap,
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
    apply: { targets: apply.targets.map((target) => resolveTarget(target, folder)) },
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
