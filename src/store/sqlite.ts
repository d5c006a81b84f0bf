import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { versions } from 'node:process';
import { fileURLToPath } from 'node:url';
import type BetterSqlite3 from 'better-sqlite3';
import { SvcError } from '../errors.js';
import { must } from '../text/at.js';

/** An open database. Integers read from it are `bigint`, so that ids are exact. */
export type Db = BetterSqlite3.Database;
export type Statement<Parameters extends unknown[], Row> = BetterSqlite3.Statement<Parameters, Row>;

/**
 * better-sqlite3 13 is a Node-API addon that crashes where Node-API 10 is missing: before Node 22.14. Version 12, which is
 * compiled against V8, aborts the process when a statement is freed on Node 24.19 and later (node::ObjectWrap asserts an
 * environment there). `bin/install-sqlite.js` installs version 12 on the Nodes that need it.
 */
const NODE_API_OF_13 = 10;

/** Beside the bundle, and beside the sources. */
const INSTALLER = must(
  ['../bin/install-sqlite.js', '../../bin/install-sqlite.js']
    .map((place) => new URL(place, import.meta.url))
    .find((url) => existsSync(url)),
  'installer',
);

/** The better-sqlite3 that this version of Node can run. If there is none, opening a database throws `sqlite_missing`. */
export const Sqlite: typeof BetterSqlite3 = loadSqlite(versions['napi'] ?? '0', (folder) =>
  createRequire(new URL(folder, INSTALLER))('better-sqlite3'),
);

/**
 * @param nodeApi version of Node-API, such as `10`
 * @param load returns the better-sqlite3 installed in a folder relative to `bin`
 */
function loadSqlite(nodeApi: string, load: (folder: string) => unknown): typeof BetterSqlite3 {
  const isOld = Number(nodeApi) < NODE_API_OF_13;
  try {
    const Found = load(isOld ? './sqlite-node20/' : './') as typeof BetterSqlite3;
    // the addon itself is loaded on first use
    new Found(':memory:').close();
    return Found;
  } catch (cause) {
    return missing(isOld, cause);
  }
}

function missing(isOld: boolean, cause: unknown): typeof BetterSqlite3 {
  class Missing {
    static readonly SqliteError = class extends Error {};

    constructor() {
      const command = `node ${JSON.stringify(fileURLToPath(INSTALLER))}`;
      const text = 'SQLite is not installed for this version of Node or does not run here.';
      throw new SvcError('sqlite_missing', text, {
        hint: isOld
          ? `Run \`${command}\`, which npm skips where install scripts are blocked, or use Node 22.14 or later, which needs none.`
          : 'Install svc-migrate again, with its optional dependencies.',
        facts: {
          node: versions.node,
          error: cause instanceof Error ? cause.message.split('\n')[0] : String(cause),
        },
        cause,
      });
    }
  }
  return Missing as unknown as typeof BetterSqlite3;
}
