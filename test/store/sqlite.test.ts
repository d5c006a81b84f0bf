import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { loadSqlite, Sqlite } from '../../src/store/sqlite.js';

const OLD = 'better-sqlite3';
const NEW = 'better-sqlite3-napi';

/** Stands for a package that opens databases, or one that cannot, or is not there. */
function packages(newOne: 'runs' | 'crashes' | 'missing') {
  class Runs {
    close(): void {}
  }
  class Crashes {
    constructor() {
      throw new Error('GLIBC is too old');
    }
  }
  return (name: string): unknown => {
    if (name === OLD) return OLD;
    if (newOne === 'missing')
      throw Object.assign(new Error(`Cannot find ${name}`), { code: 'MODULE_NOT_FOUND' });
    return newOne === 'runs' ? Runs : Crashes;
  };
}

describe('the better-sqlite3 for this Node', () => {
  // https://nodejs.org/docs/latest/api/n-api.html#node-api-version-matrix
  it.each([
    ['20.18.1', '9', 'runs', OLD],
    ['20.20.2', '9', 'missing', OLD],
    ['22.13.1', '9', 'runs', OLD],
    ['22.14.0', '10', 'runs', NEW],
    ['22.23.3', '10', 'missing', OLD],
    ['22.23.3', '10', 'crashes', OLD],
    ['23.11.0', '10', 'crashes', OLD],
    ['24.20.0', '10', 'runs', NEW],
    ['26.10.0', '11', 'runs', NEW],
  ] as const)('is on Node %s with Node-API %s, where the new one %s: %s', (node, napi, newOne, expected) => {
    const found = loadSqlite(packages(newOne), { node, napi });
    expect(found === (OLD as unknown) ? OLD : NEW).toBe(expected);
  });

  it.each(['missing', 'crashes'] as const)('is none on Node 24 where the new one is %s', (newOne) => {
    const load = () => loadSqlite(packages(newOne), { node: '24.0.0', napi: '10' });
    expect(load).toThrow(
      expect.objectContaining({ code: 'internal', hint: expect.stringContaining('optional') }),
    );
  });

  it('is the one that runs here', () => {
    const require = createRequire(import.meta.url);
    const expected = Number(process.versions.napi) >= 10 ? NEW : OLD;
    expect(Sqlite).toBe(require(expected));
  });
});
