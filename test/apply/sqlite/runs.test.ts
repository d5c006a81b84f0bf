import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { write } from '../../../src/apply/actions.js';
import type { ApplyContext } from '../../../src/apply/context.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import { sqliteLedger } from '../support/ledger.js';
import { IN_PLACE, INVOICES, NEW, openContext } from '../support/remap.js';
import { openSqliteScene } from '../support/sqlite-scene.js';

const scene = openSqliteScene();
const { remap, file, tableOf, sql, apply, check, undo } = scene;
beforeEach(scene.clear);
afterAll(scene.close);

describe('an id in SQLite that maps to itself', () => {
  it.each(['INTEGER', 'INTEGER UNIQUE'])('is entered and forgotten with a column %s', async (type) => {
    sql(
      `CREATE TABLE t(id INTEGER PRIMARY KEY, i ${type}, j INTEGER); INSERT INTO t VALUES (1, 20, 20), (2, 5, 6), (3, 7, NULL)`,
    );
    const targets = [tableOf({ ids: ['i', 'j'].map((column) => ({ column, model: INVOICES })) })];
    expect(await apply(IN_PLACE, { targets })).toEqual([]);
    expect(await check(targets)).toMatchObject({ exitCode: 0, ids: { done: 5, since: 0 } });
    await undo('run-1');
    expect(sql('SELECT i, j FROM t ORDER BY id')).toEqual([
      [20, 20],
      [5, 6],
      [7, null],
    ]);
    expect(await sqliteLedger(file).countListed()).toBe(0);
    expect(await sqliteLedger(file).states()).toEqual(['run-1 undone']);
  });
});

describe('a trigger in SQLite that has its way', () => {
  const IGNORES =
    'CREATE TRIGGER stubborn BEFORE UPDATE ON t WHEN new.id = 3 BEGIN SELECT RAISE(IGNORE); END';
  const REVERTS = `CREATE TRIGGER stubborn AFTER UPDATE ON t WHEN new.id = 3 AND new.i IS NOT old.i
    BEGIN UPDATE t SET i = old.i WHERE id = new.id; END`;
  const rows = () => sql('SELECT i FROM t ORDER BY id');

  it.each([
    ['INTEGER', 'ignores', IGNORES],
    ['INTEGER', 'reverts', REVERTS],
    ['INTEGER UNIQUE', 'ignores', IGNORES],
    ['INTEGER UNIQUE', 'reverts', REVERTS],
  ])('is named and nothing of its batch is written (%s, %s)', async (type, _, trigger) => {
    sql(`CREATE TABLE t(id INTEGER PRIMARY KEY, i ${type}); INSERT INTO t VALUES (3, 5), (4, 7); ${trigger}`);
    const stopped = expect.objectContaining({
      code: 'bad_input',
      hint: expect.stringContaining('trigger stubborn'),
    });
    await expect(apply(IN_PLACE)).rejects.toEqual(stopped);
    expect(rows()).toEqual([[5], [7]]);
    sql('DROP TRIGGER stubborn');
    expect(await apply(IN_PLACE)).toEqual([]);
    sql(trigger);
    await expect(undo('run-1')).rejects.toEqual(stopped);
    expect(rows()).toEqual([[6], [8]]);
    sql('DROP TRIGGER stubborn');
    await undo('run-1');
    expect(rows()).toEqual([[5], [7]]);
  });
});

describe('a plan in SQLite', () => {
  it('stops where two targets would fill the same new column', async () => {
    sql(`CREATE TABLE t(id INTEGER PRIMARY KEY, i TEXT); INSERT INTO t VALUES (1, '{"a":5,"b":6}')`);
    const at = (name: string) =>
      tableOf({ name, ids: [{ column: 'i', model: INVOICES, path: `$.${name}` }] });
    expect(await apply(NEW, { targets: [at('a'), at('b')] })).toEqual(['named_twice']);
    expect(await apply(NEW, { targets: [at('a')] })).toEqual([]);
    expect(await apply(NEW, { targets: [at('b')], run: 'run-2' })).toEqual(['new_column_exists']);
  });

  it('is no pass where the table lost the key that its ledger goes by', async () => {
    sql('CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER); INSERT INTO t VALUES (1, 5), (2, 6)');
    await apply(IN_PLACE);
    expect((await check([tableOf()])).blocks).toEqual([]);
    sql(
      `CREATE TABLE u AS SELECT * FROM t; DROP TABLE t; ALTER TABLE u RENAME TO t; INSERT INTO t VALUES (3, 5)`,
    );
    const red = await check([tableOf()]);
    expect(red.blocks.map(({ note }) => note.code)).toContain('no_key');
    expect(red.exitCode).not.toBe(0);
  });

  it('says of a table that is not there only that', async () => {
    sql('CREATE TABLE tt(id INTEGER PRIMARY KEY, i INTEGER)');
    const red = await check([tableOf()]);
    expect(red.blocks.map(({ note }) => note.text)).toEqual(['There is no table "t"; did you mean "tt"?']);
  });
});

describe('runs in SQLite', () => {
  const table = (name: string) => tableOf({ name, table: name });

  it('that were stopped give their name to the tables they did not get to', async () => {
    sql('CREATE TABLE once(id INTEGER PRIMARY KEY, i INTEGER UNIQUE); INSERT INTO once VALUES (1, 5)');
    for (const name of ['a', 'b'])
      sql(
        `CREATE TABLE ${name}(id INTEGER PRIMARY KEY, i INTEGER); INSERT INTO ${name} VALUES (1, 5), (2, 6), (3, 7)`,
      );
    const targets = ['once', 'a', 'b'].map(table);
    const onProgress: ApplyContext['onProgress'] = (event) => {
      if (event.kind === 'step' && event.name === 'rewriting a') throw new Error('killed');
    };
    await expect(apply(IN_PLACE, { targets, more: { onProgress } })).rejects.toThrow('killed');
    const context = openContext(remap, IN_PLACE);
    const stores = [{ ...openSqliteStore(context, file, targets), targets: targets.map(({ name }) => name) }];
    const formatCommand = (action: string, _?: object, ...words: readonly string[]) =>
      [action, ...words].join(' ');
    const done = await write(
      { context, stores, targets, width: 200, isVerbose: true, formatCommand },
      null,
      'run-2',
    );
    context.remap.close();
    expect([done.exitCode, done.text]).toEqual([0, expect.stringContaining('undo run-1')]);
    expect(await sqliteLedger(file).states()).toEqual(targets.map(() => 'run-1 done'));
    await undo('run-1');
    for (const name of ['a', 'b']) expect(sql(`SELECT i FROM ${name}`)).toEqual([[5], [6], [7]]);
    expect(sql('SELECT i FROM once')).toEqual([[5]]);
  });

  it('that filled new columns are not said to be wrong once the old ones are rewritten', async () => {
    sql('CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER); INSERT INTO t VALUES (1, 5), (2, 6)');
    expect(await apply(NEW)).toEqual([]);
    expect(await apply(IN_PLACE, { run: 'run-2' })).toEqual([]);
    const context = openContext(remap, IN_PLACE);
    const verified = await openSqliteStore(context, file, [tableOf()]).verify(null);
    context.remap.close();
    expect(
      verified.map(({ run, checked, wrongCount, notChecked }) => [run, checked, wrongCount, notChecked]),
    ).toEqual([
      ['run-1', 0, 0, 'i was rewritten in place by run run-2'],
      ['run-2', 2, 0, null],
    ]);
  });
});
