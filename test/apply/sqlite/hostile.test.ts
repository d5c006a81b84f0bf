import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { cpuMsDuring, growthOfAsync } from '../../support/growth.js';
import { IN_PLACE, INVOICES, NEW } from '../support/remap.js';
import { openSqliteScene } from '../support/sqlite-scene.js';

const scene = openSqliteScene();
const { tableOf, sql, apply, check, undo } = scene;
beforeEach(scene.clear);
afterAll(scene.close);

describe('new columns in SQLite', () => {
  it.each(['rowid TEXT', 'ROWID INTEGER, _rowid_ INTEGER'])(
    'are filled row by row beside a column %s',
    async (own) => {
      sql(`CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, ${own});
      INSERT INTO t(id, i, rowid) VALUES (1, 5, 1), (2, 6, 1), (3, 7, 1)`);
      expect(await apply(NEW)).toEqual([]);
      expect(sql('SELECT i_v4 FROM t ORDER BY id')).toEqual([[6], [7], [8]]);
    },
  );

  it.each(['q', 'looked_up', 'filled'])('are filled in a table called %s', async (table) => {
    sql(
      `CREATE TABLE ${table}(id INTEGER PRIMARY KEY, i INTEGER); INSERT INTO ${table} VALUES (1, 5), (2, 6)`,
    );
    expect(await apply(NEW, { targets: [tableOf({ table })] })).toEqual([]);
    expect(sql(`SELECT i_v4 FROM ${table} ORDER BY id`)).toEqual([[6], [7]]);
  });

  it('are filled at once where the keys lie far apart', async () => {
    sql(`CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER);
      INSERT INTO t VALUES (-9223372036854775808, 5), (1, 6), (1700000000000, 7), (9223372036854775807, 8)`);
    let steps = 0;
    const onProgress = () => {
      steps += 1;
      if (steps > 100) throw new Error('more steps than rows');
    };
    expect(await apply(NEW, { batchRows: 1, more: { onProgress } })).toEqual([]);
    expect(sql('SELECT i_v4 FROM t ORDER BY id')).toEqual([[6], [7], [8], [5]]);
  });

  it('say what to do where a target grew', async () => {
    sql('CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, j INTEGER); INSERT INTO t VALUES (1, 5, 6)');
    expect(await apply(NEW)).toEqual([]);
    const ids = ['i', 'j'].map((column) => ({ column, model: INVOICES }));
    expect(await apply(NEW, { targets: [tableOf({ ids })], run: 'run-2' })).toEqual(['other_run']);
  });
});

describe('keys in SQLite', () => {
  it.each(['INTEGER', 'TEXT', 'ANY'])(
    'of type %s find what is changed without reading all of it',
    async (type) => {
      /** CPU time of a run that leaves so many rows of an earlier one alone. */
      const measure = async (rows: number): Promise<number> => {
        scene.clear();
        sql(`CREATE TABLE t(id ${type} PRIMARY KEY NOT NULL, i INTEGER);
        INSERT INTO t WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n LIMIT ${rows}) SELECT k, 5 FROM n`);
        expect(await apply(IN_PLACE, { batchRows: rows })).toEqual([]);
        sql(`INSERT INTO t VALUES (${rows + 1}, 6)`);
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
      expect(sql(`SELECT i, count(*) FROM t GROUP BY i ORDER BY i`)).toEqual([
        [6, 5000],
        [7, 1],
      ]);
    },
  );

  it('are told apart to the letter where the index does', async () => {
    sql(`CREATE TABLE t(k TEXT COLLATE NOCASE NOT NULL, i INTEGER UNIQUE);
      CREATE UNIQUE INDEX u ON t(k COLLATE BINARY); INSERT INTO t VALUES ('a', 5), ('A', 6), ('b', 7)`);
    expect(await apply(IN_PLACE)).toEqual([]);
    expect(sql('SELECT k, i FROM t ORDER BY rowid')).toEqual([
      ['a', 6],
      ['A', 7],
      ['b', 8],
    ]);
    await undo('run-1');
    expect(sql('SELECT k, i FROM t ORDER BY rowid')).toEqual([
      ['a', 5],
      ['A', 6],
      ['b', 7],
    ]);
  });

  it('are not rewritten while a run finds its rows by them, nor taken back', async () => {
    const ofKey = tableOf({ name: 'keys', ids: [{ column: 'id', model: INVOICES }] });
    sql('CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER); INSERT INTO t VALUES (5, 7), (6, 8)');
    expect(await apply(IN_PLACE)).toEqual([]);
    expect(await apply(IN_PLACE, { targets: [ofKey], run: 'run-2' })).toEqual(['other_run']);
    await undo('run-1');
    expect(await apply(IN_PLACE, { targets: [ofKey], run: 'run-2' })).toEqual([]);
    expect(await apply(IN_PLACE, { run: 'run-3' })).toEqual([]);
    await expect(undo('run-2')).rejects.toMatchObject({ code: 'bad_input' });
    await undo('run-3');
    await undo('run-2');
    expect(sql('SELECT id, i FROM t ORDER BY id')).toEqual([
      [5, 7],
      [6, 8],
    ]);
  });
});

describe('a cell in SQLite counts as done only while it holds what was written', () => {
  it.each(['INTEGER', 'INTEGER UNIQUE'])(
    'under another value of a column %s the gate is red',
    async (type) => {
      sql(
        `CREATE TABLE t(id INTEGER PRIMARY KEY, i ${type}); INSERT INTO t VALUES (1, 5), (2, 6), (3, 7), (4, 8)`,
      );
      expect(await apply(IN_PLACE)).toEqual([]);
      expect(await check()).toMatchObject({ exitCode: 0, ids: { done: 4, changedSince: 0 } });
      // One is inserted again under its key, one is gone, one is emptied.
      sql(`DELETE FROM t WHERE id > 1; INSERT INTO t VALUES (2, 9), (3, NULL)`);
      const red = await check();
      expect(red).toMatchObject({ exitCode: 1, ids: { done: 1, changedSince: 1, since: 0 } });
      expect(red.blocks.map(({ note }) => note.text)).toEqual([
        'Changed since: 1 cell holds something other than what the run wrote (row 2).',
      ]);
      expect(await apply({ ...IN_PLACE, again: true }, { run: 'run-2' })).toEqual([]);
      expect(sql('SELECT i FROM t ORDER BY id')).toEqual([[6], [9], [null]]);
      await undo('run-1');
      expect(sql('SELECT i FROM t ORDER BY id')).toEqual([[5], [9], [null]]);
    },
  );

  it('also where another run rewrote another path of its JSON', async () => {
    const at = (name: string) =>
      tableOf({ name, ids: [{ column: 'i', model: INVOICES, path: `$.${name}` }] });
    const both = [at('a'), at('b')];
    sql(`CREATE TABLE t(id INTEGER PRIMARY KEY, i TEXT);
      INSERT INTO t VALUES (1, '{"a":5,"b":6}'), (2, '{"a":7,"b":8}')`);
    expect(await apply(IN_PLACE, { targets: both })).toEqual([]);
    expect(await check(both)).toMatchObject({ exitCode: 0, ids: { done: 4, changedSince: 0 } });
    sql(`UPDATE t SET i = '{"a":8,"b":8}' WHERE id = 2`);
    expect(await check(both)).toMatchObject({ exitCode: 1, ids: { done: 3, changedSince: 1 } });
    sql(`UPDATE t SET i = '{"a":5,"b":6}' WHERE id = 1`);
    expect(await check(both)).toMatchObject({ exitCode: 1, ids: { done: 1, changedSince: 3 } });
  });
});
