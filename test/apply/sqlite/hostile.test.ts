import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { write } from '../../../src/apply/actions.js';
import type { ApplyContext } from '../../../src/apply/context.js';
import { findBlocks, type Policy } from '../../../src/apply/plan.js';
import { ensureLedger } from '../../../src/apply/sqlite/ledger.js';
import { openSqliteSite } from '../../../src/apply/sqlite/sqlite-site.js';
import { unenteredRows } from '../../../src/apply/sqlite/sqlite-survey.js';
import { survey } from '../../../src/apply/survey.js';
import { judgeCheck, type Verdict } from '../../../src/apply/verdict.js';
import type { SqliteTarget } from '../../../src/config/apply-targets.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { FRESH } from '../support/fresh.js';
import { createRemap, IN_PLACE, INVOICES, NEW, openContext, pairs, target } from '../support/remap.js';

const folder = makeFastFolder();
const remap = join(folder, 'remap.db');
const file = join(folder, 'user.db');
/** Every V4 id is a V3 id too. */
createRemap(remap, pairs([...[5, 6, 7, 8].map((id) => [id, id === 8 ? 5 : id + 1] as const), [20, 20]]));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => {
  if (existsSync(file)) rmSync(file);
});

function tableOf(more: object = {}): SqliteTarget {
  const given = { kind: 'sqlite', file, table: 't', ids: [{ column: 'i', model: INVOICES }], ...more };
  const parsed = target(given);
  if (parsed.kind !== 'sqlite') throw new Error('no SQLite target');
  return parsed;
}

function sql(text: string): unknown[] {
  const db = new Database(file);
  try {
    if (!text.startsWith('SELECT')) {
      db.exec(text);
      return [];
    }
    return db.prepare(text).raw().all();
  } finally {
    db.close();
  }
}

interface Options {
  readonly targets?: readonly SqliteTarget[];
  readonly run?: string;
  readonly more?: Partial<ApplyContext>;
  readonly batchRows?: number;
}

/** Plans, and writes where nothing is in the way; the codes of what is. */
async function apply(policy: Policy, options: Options = {}): Promise<string[]> {
  const { targets = [tableOf()], run = 'run-1' } = options;
  const opened = openContext(remap, policy, { batchRows: options.batchRows ?? 2 });
  const context = { ...opened, ...options.more };
  try {
    const site = { ...openSqliteSite(context, file, targets), targets: targets.map(({ name }) => name) };
    const plan = await survey(context, [site], targets);
    const found = findBlocks(plan).map(({ note }) => note.code);
    if (found.length === 0) await site.write(plan.targets, { run, planSha256: 'p', isExact: true });
    return [...new Set(found)];
  } finally {
    opened.remap.close();
  }
}

/** What `--check --in-place` says. */
async function check(targets = [tableOf()]): Promise<Verdict> {
  const context = openContext(remap, IN_PLACE);
  try {
    const site = { ...openSqliteSite(context, file, targets), targets: targets.map(({ name }) => name) };
    const plan = await survey(context, [site], targets);
    return judgeCheck(plan, FRESH);
  } finally {
    context.remap.close();
  }
}

async function undo(run: string): Promise<void> {
  const context = openContext(remap, IN_PLACE);
  try {
    await openSqliteSite(context, file, [tableOf()]).undo(run);
  } finally {
    context.remap.close();
  }
}

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
  it.each(['INTEGER', 'TEXT', 'ANY'])('of type %s find their entries without reading all of them', (type) => {
    sql(`CREATE TABLE t(id ${type} PRIMARY KEY NOT NULL, i INTEGER)`);
    const db = new Database(file);
    ensureLedger(db);
    const unit = { unit: 1, labels: ['i'] };
    const from = unenteredRows({ table: 't' }, ['id'], [unit], { column: 'i', model: INVOICES });
    const steps = db.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN SELECT count(*) FROM ${from}`).all();
    db.close();
    const details = steps.map(({ detail }) => detail).join('\n');
    expect(details).toContain('AUTOMATIC COVERING INDEX (row_key=?)');
    expect(details).not.toContain('SCAN svc_migrate_entry');
  });

  it('are told apart to the letter where the index does', async () => {
    sql(`CREATE TABLE t(k TEXT COLLATE NOCASE NOT NULL, i INTEGER UNIQUE);
      CREATE UNIQUE INDEX u ON t(k COLLATE BINARY); INSERT INTO t VALUES ('a', 5), ('A', 6), ('b', 7)`);
    expect(await apply(IN_PLACE)).toEqual([]);
    expect(sql('SELECT k, i FROM t ORDER BY rowid')).toEqual([['a', 6], ['A', 7], ['b', 8]]); // biome-ignore format: rows
    await undo('run-1');
    expect(sql('SELECT k, i FROM t ORDER BY rowid')).toEqual([['a', 5], ['A', 6], ['b', 7]]); // biome-ignore format: rows
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
    expect(sql('SELECT id, i FROM t ORDER BY id')).toEqual([[5, 7], [6, 8]]); // biome-ignore format: rows
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
        'Changed since: 1 cell holds something else than the run wrote (row 2).',
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

describe('an id in SQLite that maps to itself', () => {
  it.each(['INTEGER', 'INTEGER UNIQUE'])('is entered and forgotten with a column %s', async (type) => {
    sql(
      `CREATE TABLE t(id INTEGER PRIMARY KEY, i ${type}, j INTEGER); INSERT INTO t VALUES (1, 20, 20), (2, 5, 6), (3, 7, NULL)`,
    );
    const targets = [tableOf({ ids: ['i', 'j'].map((column) => ({ column, model: INVOICES })) })];
    expect(await apply(IN_PLACE, { targets })).toEqual([]);
    expect(await check(targets)).toMatchObject({ exitCode: 0, ids: { done: 5, since: 0 } });
    await undo('run-1');
    expect(sql('SELECT i, j FROM t ORDER BY id')).toEqual([[20, 20], [5, 6], [7, null]]); // biome-ignore format: rows
    expect(sql('SELECT count(*) FROM svc_migrate_entry')).toEqual([[0]]);
    expect(sql('SELECT state FROM svc_migrate_run')).toEqual([['undone']]);
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
    const sites = [{ ...openSqliteSite(context, file, targets), targets: targets.map(({ name }) => name) }];
    const say = (...words: readonly string[]) => words.join(' ');
    const done = await write({ context, sites, targets, width: 200, say }, null, 'run-2');
    context.remap.close();
    expect([done.exitCode, done.next]).toEqual([0, expect.stringContaining('undo run-1')]);
    expect(sql('SELECT DISTINCT run, state FROM svc_migrate_run')).toEqual([['run-1', 'done']]);
    await undo('run-1');
    for (const name of ['a', 'b']) expect(sql(`SELECT i FROM ${name}`)).toEqual([[5], [6], [7]]);
    expect(sql('SELECT i FROM once')).toEqual([[5]]);
  });

  it('that filled new columns are not said to be wrong once the old ones are rewritten', async () => {
    sql('CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER); INSERT INTO t VALUES (1, 5), (2, 6)');
    expect(await apply(NEW)).toEqual([]);
    expect(await apply(IN_PLACE, { run: 'run-2' })).toEqual([]);
    const context = openContext(remap, IN_PLACE);
    const verified = await openSqliteSite(context, file, [tableOf()]).verify(null);
    context.remap.close();
    expect(
      verified.map(({ run, checked, wrongCount, notChecked }) => [run, checked, wrongCount, notChecked]),
    ).toEqual([
      ['run-1', 0, 0, 'i was rewritten in place by run run-2'],
      ['run-2', 2, 0, null],
    ]);
  });
});
