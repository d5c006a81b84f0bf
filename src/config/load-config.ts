import { resolve } from 'node:path';
import type { Config } from './config.js';
import { findCrossProblems } from './cross-check.js';
import { DEFAULT_CONFIG_FILE } from './defaults.js';
import { parseConfigFile } from './parse-file.js';
import { configError, describeIssue, problemsOf, type Source } from './problems.js';
import { resolveConfig } from './resolve-config.js';
import { configSchema } from './schema.js';

type Env = Readonly<Record<string, string | undefined>>;

/** Settings given on the command line. */
export interface ConfigFlags {
  /** `--config`. */
  readonly config?: string | undefined;
  /** `--db`. */
  readonly db?: string | undefined;
}

/**
 * The configuration after defaults, file, environment (`SVC_MIGRATE_CONFIG`, `SVC_MIGRATE_DB`) and flags, the
 * later ones winning. Paths in the file are relative to it, others to the working directory.
 *
 * `nowMs` is what `backfill.days` counts back from.
 *
 * @throws SvcError `config`, naming every problem with its path
 */
export function loadConfig(given: {
  readonly env: Env;
  readonly flags?: ConfigFlags;
  readonly nowMs: number;
}): Config {
  const { env, flags = {}, nowMs } = given;
  const file = resolve(flags.config ?? (env['SVC_MIGRATE_CONFIG'] || DEFAULT_CONFIG_FILE));
  const { source, value } = parseConfigFile(file);
  const database = flags.db ?? (env['SVC_MIGRATE_DB'] || undefined);
  return parseConfig(source, value, { database, nowMs });
}

/** A configuration that is at hand as a value, such as the one a rehearsal makes; `file` only anchors paths. */
export function buildConfig(value: unknown, file: string, nowMs: number): Config {
  return parseConfig({ file: resolve(file), text: '', tree: undefined }, value, {
    database: undefined,
    nowMs,
  });
}

function parseConfig(
  source: Source,
  value: unknown,
  given: { readonly database: string | undefined; readonly nowMs: number },
): Config {
  const parsed = configSchema.safeParse(value, { error: describeIssue });
  const problems = [...problemsOf(parsed.error?.issues ?? []), ...findCrossProblems(value)];
  if (!parsed.success || problems.length > 0) throw configError(source, problems);
  return resolveConfig(parsed.data, { file: source.file, ...given });
}
