import { describe, expect, it } from 'vitest';
import { campaignCases } from '../../support/campaign.js';
import { cpuMsDuring, growthOfAsync } from '../../support/growth.js';
import { only } from '../support/databases.js';
import { IN_PLACE, INVOICES, NEW } from '../support/remap.js';
import { openScene } from '../support/scene.js';

describe.each(only('sqlite'))('$product', (engine) => {
  const { tableOf, sql, apply, undo, database } = openScene(engine);

  describe('new columns in SQLite', () => {
    it.each(['rowid TEXT', 'ROWID INTEGER, _rowid_ INTEGER'])(
      'are filled row by row beside a column %s',
      async (own) => {
        await sql(`CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, ${own});
      INSERT INTO t(id, i, rowid) VALUES (1, 5, 1), (2, 6, 1), (3, 7, 1)`);
        expect(await apply(NEW)).toEqual([]);
        expect(await sql('SELECT i_v4 FROM t ORDER BY id')).toEqual([['6'], ['7'], ['8']]);
      },
    );
  });

  describe('keys in SQLite', () => {
    it.each(['INTEGER', 'TEXT', 'ANY'])(
      'of type %s find what is changed without reading all of it',
      async (type) => {
        /** CPU time of a run that leaves so many rows of an earlier one alone. */
        const measure = async (rows: number): Promise<number> => {
          await sql('DROP TABLE IF EXISTS t');
          await database().ledger.drop();
          await sql(`CREATE TABLE t(id ${type} PRIMARY KEY NOT NULL, i INTEGER);
        INSERT INTO t WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n LIMIT ${rows}) SELECT k, 5 FROM n`);
          expect(await apply(IN_PLACE, { tuning: { batchRows: rows } })).toEqual([]);
          await sql(`INSERT INTO t VALUES (${rows + 1}, 6)`);
          const policy = { ...IN_PLACE, again: true };
          return cpuMsDuring(async () => expect(await apply(policy, { run: 'run-2' })).toEqual([]));
        };
        // Comparing each with each takes 25 times as long for 5 times as many.
        expect(
          await growthOfAsync(
            () => measure(1000),
            () => measure(5000),
            9,
          ),
        ).toBeLessThan(9);
        expect(await sql(`SELECT i, count(*) FROM t GROUP BY i ORDER BY i`)).toEqual([
          ['6', '5000'],
          ['7', '1'],
        ]);
      },
    );

    it('may have many columns', async () => {
      /** CPU time of a run on a table with a key of so many columns. */
      const measure = async (columns: number): Promise<number> => {
        await sql('DROP TABLE IF EXISTS t');
        await database().ledger.drop();
        const key = Array.from({ length: columns }, (_, at) => `k${at}`);
        await sql(`CREATE TABLE t(${key.join(', ')}, i INTEGER, PRIMARY KEY(${key.join(', ')}));
        INSERT INTO t VALUES (${key.map((_, at) => at).join(', ')}, 5)`);
        const targets = [tableOf({ key, ids: [{ column: 'i', model: INVOICES }] })];
        return cpuMsDuring(async () => expect(await apply(IN_PLACE, { targets })).toEqual([]));
      };
      expect(
        await growthOfAsync(
          () => measure(10),
          () => measure(100),
          20,
        ),
      ).toBeLessThan(20);
    });

    it('are told apart to the letter where the index does', async () => {
      await sql(`CREATE TABLE t(k TEXT COLLATE NOCASE NOT NULL, i INTEGER UNIQUE);
      CREATE UNIQUE INDEX u ON t(k COLLATE BINARY); INSERT INTO t VALUES ('a', 5), ('A', 6), ('b', 7)`);
      expect(await apply(IN_PLACE)).toEqual([]);
      expect(await sql('SELECT k, i FROM t ORDER BY rowid')).toEqual([
        ['a', '6'],
        ['A', '7'],
        ['b', '8'],
      ]);
      await undo('run-1');
      expect(await sql('SELECT k, i FROM t ORDER BY rowid')).toEqual([
        ['a', '5'],
        ['A', '6'],
        ['b', '7'],
      ]);
    });
  });

  /** Rows are read through SQL functions, whose arguments SQLite limits. */
  const cases = [
    [130, 1, NEW],
    [130, 1, IN_PLACE],
    [1, 50, IN_PLACE],
    [1, 50, NEW],
  ] as const;
  it.each(campaignCases(cases, 2))(
    'a table with a key of %i columns and %i columns of ids is rewritten',
    async (keys, ids, policy) => {
      const key = Array.from({ length: keys }, (_, at) => `k${at}`);
      const columns = Array.from({ length: ids }, (_, at) => `i${at}`);
      const row = (k: number, i: number) => `(${[...key.map(() => k), ...columns.map(() => i)].join(', ')})`;
      await sql(`CREATE TABLE t(${[...key, ...columns].join(', ')}, PRIMARY KEY(${key.join(', ')}));
      INSERT INTO t VALUES ${row(1, 5)}, ${row(2, 8)}`);
      const targets = [tableOf({ key, ids: columns.map((column) => ({ column, model: INVOICES })) })];
      expect(await apply(policy, { targets })).toEqual([]);
      const last = `${columns.at(-1)}${policy.mode === 'new' ? '_v4' : ''}`;
      expect(await sql(`SELECT CAST(${last} AS INTEGER) FROM t ORDER BY k0`)).toEqual([['6'], ['5']]);
      await undo('run-1');
      expect(await sql(`SELECT CAST(${columns.at(-1)} AS INTEGER) FROM t ORDER BY k0`)).toEqual([
        ['5'],
        ['8'],
      ]);
    },
  );
});
