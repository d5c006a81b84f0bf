import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import { SvcError } from '../errors.js';

/**
 * better-sqlite3 from version 13 on is a Node-API addon: it needs this version of it (Node 22.14) and crashes where there
 * is less. Up to version 12 it is compiled against V8, and from Node 24.19 on it aborts the process when a statement is
 * freed, which Node asserts against.
 */
const NODE_API = 10;
const LAST_NODE_OF_12 = 23;

/** SQLite, by the better-sqlite3 that this Node can run. */
export const Sqlite: typeof BetterSqlite3 = loadSqlite(createRequire(import.meta.url), process.versions);

/**
 * @throws SvcError `internal` where what this Node needs was not installed
 */
export function loadSqlite(
  require: (name: string) => unknown,
  { node, napi = '0' }: { readonly node: string; readonly napi?: string },
): typeof BetterSqlite3 {
  if (Number(napi) < NODE_API) return require('better-sqlite3') as typeof BetterSqlite3;
  try {
    const found = require('better-sqlite3-napi') as typeof BetterSqlite3;
    // the addon itself is loaded when it is first used
    new found(':memory:').close();
    return found;
  } catch (cause) {
    if (Number.parseInt(node, 10) <= LAST_NODE_OF_12)
      return require('better-sqlite3') as typeof BetterSqlite3;
    throw new SvcError(
      'internal',
      `better-sqlite3 13, which Node ${node} needs, is not installed or does not run here.`,
      {
        hint: 'Install svc-migrate again with its optional dependencies, or use Node 22.',
        cause,
      },
    );
  }
}
