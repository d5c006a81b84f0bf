import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';
import { SvcError } from '../errors.js';

/**
 * From here on better-sqlite3 12, which is compiled against V8, aborts the process when a statement is freed (24.19 and
 * later, whose node::ObjectWrap asserts an environment). Version 13 is a Node-API addon and crashes where Node-API 10 is
 * missing: before 22.14.
 */
const FIRST_NODE_OF_13 = 24;

/** SQLite, by the better-sqlite3 that this Node can run; where there is none, opening a database says so. */
export const Sqlite: typeof BetterSqlite3 = loadSqlite(createRequire(import.meta.url), process.versions.node);

/** `require`: of the packages; `node`: its version, such as `24.20.0`. */
export function loadSqlite(require: (name: string) => unknown, node: string): typeof BetterSqlite3 {
  try {
    const isNew = Number.parseInt(node, 10) >= FIRST_NODE_OF_13;
    const found = isNew ? require('better-sqlite3-napi') : require('better-sqlite3');
    const Found = found as typeof BetterSqlite3;
    // the addon itself is loaded when it is first used
    new Found(':memory:').close();
    return Found;
  } catch (cause) {
    return lacking(node, cause);
  }
}

function lacking(node: string, cause: unknown): typeof BetterSqlite3 {
  class Lacking {
    static readonly SqliteError = class extends Error {};

    constructor() {
      throw new SvcError('sqlite_missing', `SQLite for Node ${node} is not installed or does not run here.`, {
        hint: 'Install svc-migrate again, with its optional dependencies, or use Node 22.',
        facts: { error: cause instanceof Error ? cause.message.split('\n')[0] : String(cause) },
        cause,
      });
    }
  }
  return Lacking as unknown as typeof BetterSqlite3;
}
