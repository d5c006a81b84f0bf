import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { versions } from 'node:process';
import { fileURLToPath } from 'node:url';
import type BetterSqlite3 from 'better-sqlite3';
import { SvcError } from '../errors.js';
import { must } from '../text/at.js';

/** An open database. Integers read from it are `bigint`, so that ids are exact. */
export type Db = BetterSqlite3.Database;

/** Beside the bundle, and beside the sources. */
const INSTALLER = must(
  ['../bin/install-sqlite.js', '../../bin/install-sqlite.js']
    .map((place) => new URL(place, import.meta.url))
    .find((url) => existsSync(url)),
  'installer',
);

/**
 * better-sqlite3 13 is a Node-API addon that crashes where Node-API 10 is missing: before Node 22.14. Version 12, which is
 * compiled against V8, aborts the process when a statement is freed on Node 24.19 and later (node::ObjectWrap asserts an
 * environment there). `bin/install-sqlite.js` installs version 12 on the Nodes that need it.
 */
const IS_OLD_NODE = Number(versions['napi'] ?? '0') < 10;

/** The better-sqlite3 that this version of Node can run. Importing this file throws `sqlite_missing` if there is none. */
export const Sqlite: typeof BetterSqlite3 = loadSqlite();

function loadSqlite(): typeof BetterSqlite3 {
  try {
    const require = createRequire(new URL(IS_OLD_NODE ? './sqlite-node20/' : './', INSTALLER));
    const loaded: typeof BetterSqlite3 = require('better-sqlite3');
    new loaded(':memory:').close();
    return loaded;
  } catch (cause) {
    const command = `node ${JSON.stringify(fileURLToPath(INSTALLER))}`;
    const text = 'SQLite is not installed for this version of Node or does not run here.';
    const error = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
    throw new SvcError('sqlite_missing', text, {
      hint: IS_OLD_NODE
        ? `Run \`${command}\`, which npm skips where install scripts are blocked, or use Node 22.14 or later, which needs none.`
        : 'Install svc-migrate again, with its optional dependencies.',
      facts: { node: versions.node, error },
      cause,
    });
  }
}
