import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { loadSqlite, Sqlite } from '../../src/store/sqlite.js';

class Runs {
  close(): void {}
}
class Crashes {
  constructor() {
    throw new Error('GLIBC is too old\nRequire stack: …');
  }
}

function packages(found: Readonly<Record<string, unknown>>) {
  return (name: string): unknown => {
    if (name in found) return found[name];
    throw new Error(`Cannot find ${name}`);
  };
}

const majorHere = Number.parseInt(process.versions.node, 10);

describe('the better-sqlite3 for this Node', () => {
  it.each([
    ['20.18.1', 'better-sqlite3'],
    ['22.23.3', 'better-sqlite3'],
    ['24.0.0', 'better-sqlite3-napi'],
    ['26.10.0', 'better-sqlite3-napi'],
  ])('is on Node %s: %s', (node, name) => {
    expect(loadSqlite(packages({ [name]: Runs }), node)).toBe(Runs);
  });

  it.each([
    ['is not there', {}, 'Cannot find better-sqlite3-napi'],
    ['does not run', { 'better-sqlite3-napi': Crashes, 'better-sqlite3': Runs }, 'GLIBC is too old'],
  ])('says why where it %s, when a database is opened', (_, found, error) => {
    const Lacking = loadSqlite(packages(found), '24.20.0');
    const open = () => new Lacking('x.db');
    expect(open).toThrow(expect.objectContaining({ code: 'sqlite_missing', exitCode: 6, facts: { error } }));
    expect(new Error('any') instanceof Lacking.SqliteError).toBe(false);
  });

  it('is the one that runs here', () => {
    const require = createRequire(import.meta.url);
    expect(Sqlite).toBe(require(majorHere < 24 ? 'better-sqlite3' : 'better-sqlite3-napi'));
  });
});
