import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DEFAULT_CONFIG_FILES } from './defaults.js';
import type { ConfigFlags } from './load-config.js';

const DEFAULT_DATABASE = 'svc-migrate.db';

/**
 * Files that may be inputs where the configuration cannot be loaded: its possible names, the database, and every string
 * in it taken as a path.
 */
export function listPossibleInputs(
  env: Readonly<Record<string, string | undefined>>,
  flags: ConfigFlags,
): string[] {
  const given = (names: readonly (string | undefined)[]) => names.filter((name) => name !== undefined);
  const files = given([flags.config, env['SVC_MIGRATE_CONFIG'], ...DEFAULT_CONFIG_FILES]);
  const databases = given([flags.db, env['SVC_MIGRATE_DB'], DEFAULT_DATABASE]);
  const named = files.flatMap((file) =>
    [DEFAULT_DATABASE, ...readStrings(file)].map((text) => resolve(dirname(file), text)),
  );
  return [...new Set([...files, ...databases, ...named].map((file) => resolve(file)))];
}

/** What stands between quotation marks in a file, even if it is not valid JSON. */
function readStrings(file: string): string[] {
  try {
    const found = readFileSync(file, 'utf8').matchAll(/"((?:[^"\\\n]|\\.)*)"/g);
    return [...found]
      .map(([quoted, raw = '']) => unquote(quoted) ?? raw)
      .filter((text) => !text.includes('\0'));
  } catch {
    return [];
  }
}

function unquote(quoted: string): string | null {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return null;
  }
}
