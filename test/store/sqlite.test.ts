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
  return (folder: string): unknown => {
    if (folder in found) return found[folder];
    throw new Error(`Cannot find better-sqlite3 for ${folder}`);
  };
}

describe('the better-sqlite3 for this Node', () => {
  it.each([
    ['9', './sqlite-node20/'],
    ['10', './'],
    ['11', './'],
  ])('is for Node-API %s the one of %s', (nodeApi, folder) => {
    expect(loadSqlite(nodeApi, packages({ [folder]: Runs }))).toBe(Runs);
  });

  it.each([
    [
      'is not there',
      '9',
      {},
      'Cannot find better-sqlite3 for ./sqlite-node20/',
      /^Run `node ".*install-sqlite\.js"`/,
    ],
    ['does not run', '9', { './sqlite-node20/': Crashes, './': Runs }, 'GLIBC is too old', /install-sqlite/],
    ['was left out', '10', {}, 'Cannot find better-sqlite3 for ./', /with its optional dependencies/],
  ])('says why and what to do where it %s, when a database is opened', (_, nodeApi, found, error, hint) => {
    const Missing = loadSqlite(nodeApi, packages(found));
    const open = () => new Missing('x.db');
    const facts = { node: process.versions.node, error };
    expect(open).toThrow(
      expect.objectContaining({
        code: 'sqlite_missing',
        exitCode: 6,
        facts,
        hint: expect.stringMatching(hint),
      }),
    );
    expect(new Error('any') instanceof Missing.SqliteError).toBe(false);
  });

  it('is the one that runs here', () => {
    const folder = Number(process.versions.napi) < 10 ? 'sqlite-node20/' : '';
    const require = createRequire(new URL(`../../bin/${folder}`, import.meta.url));
    expect(Sqlite).toBe(require('better-sqlite3'));
  });
});
