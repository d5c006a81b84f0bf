import { describe, expect, it } from 'vitest';
import { write } from '../../../src/apply/actions.js';
import { type ApplyContext, DEFAULT_TUNING } from '../../../src/apply/context.js';
import { campaign, campaignCases } from '../../support/campaign.js';
import { ENGINES, type Kind } from '../support/databases.js';
import { IN_PLACE, INVOICES, NEW, openIds } from '../support/remap.js';
import { ID_TYPES, openScene } from '../support/scene.js';

const BOTH = { ids: ['i', 'j'].map((column) => ({ column, model: INVOICES })) };
const AGAIN = { ...IN_PLACE, again: true } as const;

/** Triggers on row 3 that ignore a change, or take it back. */
const TRIGGERS: Readonly<Record<Kind, readonly (readonly [what: string, sql: string])[]>> = {
  sqlite: [
    ['ignores', 'CREATE TRIGGER stubborn BEFORE UPDATE ON t WHEN new.id = 3 BEGIN SELECT RAISE(IGNORE); END'],
    [
      'reverts',
      `CREATE TRIGGER stubborn AFTER UPDATE ON t WHEN new.id = 3 AND new.i IS NOT old.i
       BEGIN UPDATE t SET i = old.i WHERE id = new.id; END`,
    ],
  ],
  postgres: ['RETURN NULL;', 'new.i := old.i;'].map((body, at) => [
    at === 0 ? 'ignores' : 'reverts',
    `CREATE OR REPLACE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.id = 3 THEN ${body} END IF; RETURN new; END $$;
     CREATE TRIGGER stubborn BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()`,
  ]),
  mysql: [
    [
      'reverts',
      'CREATE TRIGGER stubborn BEFORE UPDATE ON t FOR EACH ROW SET NEW.i = IF(OLD.id = 3, OLD.i, NEW.i)',
    ],
  ],
};

describe.each(ENGINES)('$product', (engine) => {
  const scene = openScene(engine);
  const { tableOf, sql, apply, check, verify, undo, database } = scene;
  const json = engine.json.at(-1) ?? 'text';
  const ids = async (column = 'i', order = 'id') =>
    (await sql(`SELECT ${column} FROM t ORDER BY ${order}`)).flat();
  const create = async (columns: string, ...rows: readonly string[]) => {
    await sql(`CREATE TABLE t(${columns})`);
    await sql(`INSERT INTO t VALUES ${rows.map((row) => `(${row})`).join(', ')}`);
  };
  const dropTrigger = () => sql(`DROP TRIGGER stubborn${engine.kind === 'postgres' ? ' ON t' : ''}`);

  describe('new columns', () => {
    it('are filled in tables of every name', async () => {
      const tables = ['q', 'looked_up', 'filled', 'w', 'e', 'm'];
      for (const table of tables) {
        await sql(`CREATE TABLE ${table}(id integer PRIMARY KEY, i bigint)`);
        await sql(`INSERT INTO ${table} VALUES (1, 5), (2, 6)`);
      }
      const targets = tables.map((table) => tableOf({ name: table, table }));
      expect(await apply(NEW, { targets })).toEqual([]);
      for (const table of tables)
        expect((await sql(`SELECT i_v4 FROM ${table} ORDER BY id`)).flat()).toEqual(['6', '7']);
    });

    it('are filled at once where the keys lie far apart', async () => {
      const keys = ['-9223372036854775808', '1', '1700000000000', '9223372036854775807'];
      await create('id bigint PRIMARY KEY, i bigint', ...keys.map((key, at) => `${key}, ${at + 5}`));
      let steps = 0;
      const onProgress = () => {
        steps += 1;
        if (steps > 100) throw new Error('more steps than rows');
      };
      expect(await apply(NEW, { tuning: { batchRows: 1 }, more: { onProgress } })).toEqual([]);
      expect(await ids('i_v4')).toEqual(['6', '7', '8', '5']);
    });

    it('say what to do where a target grew', async () => {
      await create('id integer PRIMARY KEY, i bigint, j bigint', '1, 5, 6');
      expect(await apply(NEW)).toEqual([]);
      expect(await apply(NEW, { targets: [tableOf(BOTH)], run: 'run-2' })).toEqual(['other_run']);
    });

    it('are not said to be wrong once the old ones are rewritten', async () => {
      await create('id integer PRIMARY KEY, i bigint', '1, 5', '2, 6');
      expect(await apply(NEW)).toEqual([]);
      expect(await apply(IN_PLACE, { run: 'run-2' })).toEqual([]);
      const verified = await verify();
      expect(
        verified.map(({ run, checked, wrongCount, notChecked }) => [run, checked, wrongCount, notChecked]),
      ).toEqual([
        ['run-1', 0, 0, 'i was rewritten in place by run run-2'],
        ['run-2', 2, 0, null],
      ]);
    });

    it('are one for each path of JSON', async () => {
      await create(`id integer PRIMARY KEY, i ${json}`, `1, '{"a":5,"b":6}'`);
      const at = (name: string) =>
        tableOf({ name, ids: [{ column: 'i', model: INVOICES, path: `$.${name}` }] });
      expect(await apply(NEW, { targets: [at('a'), at('b')] })).toEqual(['named_twice']);
      expect(await apply(NEW, { targets: [at('a')] })).toEqual([]);
      expect(await apply(NEW, { targets: [at('b')], run: 'run-2' })).toEqual(['new_column_exists']);
    });
  });

  it.each([
    ['rewritten in place, and copied to a new column', IN_PLACE, {}, [{}], [NEW], 'rewritten'],
    [
      'in a new column, and named as the old one',
      NEW,
      {},
      [{ column: 'i_v4' }],
      [NEW, IN_PLACE],
      'v4_column',
    ],
    [
      'at another path, too',
      IN_PLACE,
      { path: '$.a.id' },
      ['$.*.id', "$['a'].id"].map((path) => ({ path })),
      [IN_PLACE],
      'rewritten',
    ],
  ] as const)('does not map an id again that is %s', async (_, policy, first, others, policies, code) => {
    const targetOf = (more: object) => ({
      targets: [tableOf({ ids: [{ column: 'i', model: INVOICES, ...more }] })],
    });
    const isJson = 'path' in first;
    const rows = [5, 6, 7, 8].map((id, at) => `${at}, ${isJson ? `'{"a":{"id":${id}}}'` : id}`);
    await create(`id integer PRIMARY KEY, i ${isJson ? json : 'bigint'}`, ...rows);
    expect(await apply(policy, targetOf(first))).toEqual([]);
    const before = await database().dump();
    for (const other of others)
      for (const then of policies)
        expect(await apply(then, { ...targetOf(other), run: 'run-2' })).toContain(code);
    expect(await database().dump()).toBe(before);
  });

  it('maps a column once that two targets name, whatever the case', async () => {
    await create('id integer PRIMARY KEY, i bigint UNIQUE', '1, 5', '2, 6');
    const targets = ['a', 'b'].map((name) =>
      tableOf({ name, table: engine.kind === 'sqlite' && name === 'b' ? 'T' : 't' }),
    );
    for (const policy of [NEW, IN_PLACE]) expect(await apply(policy, { targets })).toContain('named_twice');
    expect(await ids()).toEqual(['5', '6']);
  });

  it('does not rewrite keys while a run finds its rows by them, nor takes them back', async () => {
    const ofKey = tableOf({ name: 'keys', ids: [{ column: 'id', model: INVOICES }] });
    await create('id integer PRIMARY KEY, i bigint', '5, 7', '6, 8');
    expect(await apply(IN_PLACE)).toEqual([]);
    expect(await apply(IN_PLACE, { targets: [ofKey], run: 'run-2' })).toEqual(['other_run']);
    await undo('run-1');
    expect(await apply(IN_PLACE, { targets: [ofKey], run: 'run-2' })).toEqual([]);
    expect(await apply(IN_PLACE, { run: 'run-3' })).toEqual([]);
    await expect(undo('run-2')).rejects.toMatchObject({ code: 'bad_input' });
    await undo('run-3');
    await undo('run-2');
    expect(await sql('SELECT id, i FROM t ORDER BY id')).toEqual([
      ['5', '7'],
      ['6', '8'],
    ]);
  });

  const types = campaignCases(ID_TYPES[engine.kind], engine.kind === 'sqlite' ? 2 : 1);
  describe.each(types)('a cell of type %s', (type) => {
    it('counts as done only while it holds what was written', async () => {
      await create(
        `id integer PRIMARY KEY, i ${type}, j bigint`,
        '1, 20, 20',
        '2, 5, 6',
        '3, 7, 7',
        '4, 8, 8',
      );
      const targets = [tableOf(BOTH)];
      expect(await apply(IN_PLACE, { targets })).toEqual([]);
      expect(await check(targets)).toMatchObject({
        exitCode: 0,
        ids: { done: 8, changedSince: 0, since: 0 },
      });
      // One is inserted again under its key, one is emptied, one is gone.
      await sql('DELETE FROM t WHERE id > 1');
      await sql('INSERT INTO t VALUES (2, 9, 7), (3, NULL, 8)');
      const red = await check(targets);
      expect(red).toMatchObject({ exitCode: 1, ids: { done: 4, changedSince: 1, since: 0 } });
      expect(red.blocks.map(({ note }) => note.text)).toEqual([
        'Changed since: 1 cell does not hold what ledger and remap say (row 2).',
      ]);
      expect(await apply(AGAIN, { targets, run: 'run-2' })).toEqual([]);
      expect(await ids()).toEqual(['20', '9', null]);
      await undo('run-1');
      expect(await sql('SELECT i, j FROM t ORDER BY id')).toEqual([
        ['20', '20'],
        ['9', '6'],
        [null, '7'],
      ]);
      // What maps to itself left the ledger as well.
      expect((await database().ledger.changes()).map(({ key }) => key)).toEqual(['2', '3']);
    });

    it.each(TRIGGERS[engine.kind])('stops the run where a trigger %s the change', async (_, trigger) => {
      await create(`id integer PRIMARY KEY, i ${type}`, '3, 5', '4, 7');
      await sql(trigger);
      const stopped = { code: 'bad_input', hint: expect.stringContaining('stubborn') };
      await expect(apply(IN_PLACE)).rejects.toMatchObject(stopped);
      expect(await ids()).toEqual(['5', '7']);
      await dropTrigger();
      expect(await apply(IN_PLACE)).toEqual([]);
      await sql(trigger);
      await expect(undo('run-1')).rejects.toMatchObject(stopped);
      expect(await ids()).toEqual(['6', '8']);
      await dropTrigger();
      await undo('run-1');
      expect(await ids()).toEqual(['5', '7']);
    });
  });

  it('counts as done what a run wrote beside another path of the same JSON', async () => {
    const at = (name: string) =>
      tableOf({ name, ids: [{ column: 'i', model: INVOICES, path: `$.${name}` }] });
    const both = [at('a'), at('b')];
    await create(`id integer PRIMARY KEY, i ${json}`, `1, '{"a":5,"b":6}'`, `2, '{"a":7,"b":8}'`);
    const before = await ids();
    expect(await apply(IN_PLACE, { targets: both })).toEqual([]);
    // The path that was written last is taken back first.
    expect(await undo()).toMatchObject([{ restored: 2 }, { restored: 2 }]);
    expect(await ids()).toEqual(before);
    expect(await apply(IN_PLACE, { targets: both, run: 'run-2' })).toEqual([]);
    expect(await check(both)).toMatchObject({ exitCode: 0, ids: { done: 4, changedSince: 0 } });
    await sql(`UPDATE t SET i = '{"a":8,"b":8}' WHERE id = 2`);
    expect(await check(both)).toMatchObject({ exitCode: 1, ids: { done: 3, changedSince: 1 } });
    await sql(`UPDATE t SET i = '{"a":5,"b":6}' WHERE id = 1`);
    expect(await check(both)).toMatchObject({ exitCode: 1, ids: { done: 1, changedSince: 3 } });
  });

  it('does not pass where the table lost the key that its ledger goes by', async () => {
    await create('id integer PRIMARY KEY, i bigint', '1, 5', '2, 6');
    await apply(IN_PLACE);
    expect((await check()).blocks).toEqual([]);
    await sql('CREATE TABLE u AS SELECT * FROM t');
    await sql('DROP TABLE t');
    await sql('ALTER TABLE u RENAME TO t');
    await sql('INSERT INTO t VALUES (3, 5)');
    const red = await check();
    expect(red.blocks.map(({ note }) => note.code)).toContain('no_key');
    expect(red.exitCode).not.toBe(0);
  });

  it.each([IN_PLACE, NEW])('writes nothing where other ids came after the plan ($mode)', async (policy) => {
    await create('id integer PRIMARY KEY, i bigint', '1, 5');
    await scene.withStore(policy, {}, async (store, plan) => {
      const { targets } = await plan();
      const expectRefused = (isExact: boolean, text: string) =>
        expect(store.write(targets, { run: 'run-1', planSha256: 'p', isExact })).rejects.toMatchObject({
          code: 'bad_input',
          message: expect.stringContaining(text),
        });
      await sql('INSERT INTO t VALUES (2, 6)');
      await expectRefused(true, 'the data changed since the plan');
      await sql('UPDATE t SET i = 404 WHERE id = 2');
      await expectRefused(false, 'This is new since the plan');
    });
    expect(await ids()).toEqual(['5', '404']);
    expect(await database().ledger.states()).toEqual([]);
  });

  it('says of a table that is not there only that', async () => {
    await sql('CREATE TABLE tt(id integer PRIMARY KEY, i bigint)');
    expect((await check()).blocks.map(({ note }) => note.code)).toEqual(['unknown_table']);
    expect((await check()).blocks[0]?.note.text).toContain('did you mean "tt"?');
  });

  it('gives the name of a run that was stopped to the tables it did not get to', async () => {
    await sql('CREATE TABLE once(id integer PRIMARY KEY, i bigint UNIQUE)');
    await sql('INSERT INTO once VALUES (1, 5)');
    for (const name of ['a', 'b']) {
      await sql(`CREATE TABLE ${name}(id integer PRIMARY KEY, i bigint)`);
      await sql(`INSERT INTO ${name} VALUES (1, 5), (2, 6), (3, 7)`);
    }
    const targets = ['once', 'a', 'b'].map((name) => tableOf({ name, table: name }));
    const onProgress: ApplyContext['onProgress'] = (event) => {
      if (event.kind === 'step' && /^rewriting .*\ba\b/.test(event.name)) throw new Error('killed');
    };
    await expect(apply(IN_PLACE, { targets, more: { onProgress } })).rejects.toThrow('killed');
    const done = await scene.withStore(IN_PLACE, { targets }, (store, _, context) => {
      const stores = [{ ...store, targets: targets.map(({ name }) => name) }];
      const formatCommand = (action: string, _?: object, ...words: readonly string[]) =>
        [action, ...words].join(' ');
      return write({ context, stores, targets, width: 200, isVerbose: true, formatCommand }, null, 'run-2');
    });
    expect([done.exitCode, done.text]).toEqual([0, expect.stringContaining('undo run-1')]);
    expect(await database().ledger.states()).toEqual(targets.map(() => 'run-1 done'));
    await undo('run-1', { targets });
    for (const name of ['a', 'b'])
      expect((await sql(`SELECT i FROM ${name} ORDER BY id`)).flat()).toEqual(['5', '6', '7']);
    expect(await sql('SELECT i FROM once')).toEqual([['5']]);
  });

  it.each([IN_PLACE, NEW])('is verified by the remap and its own policy ($mode)', async (policy) => {
    const rows = [{ v3: 5, v4: 6 }, { v3: 7 }, { v3: 8, v4: 9, status: 'deleted', reason: 'deleted_in_v3' }];
    const [now, later] = [openIds([...rows, { v3: 6, v4: 7 }]), openIds([...rows, { v3: 6, v4: 5 }])];
    const found = async (more: Partial<ApplyContext> = {}) => {
      const verified = await scene.withStore(policy, { more }, (store) => store.verify(null));
      return verified.flatMap(({ checked, wrong, changedSince }) =>
        [checked, ...wrong, ...changedSince].sort(),
      );
    };
    await create('id integer PRIMARY KEY, i bigint', '1, 5', '2, 6', '3, 7', '4, 8');
    expect(await apply({ ...policy, missing: 'null', mapDeleted: true }, { more: now })).toEqual([]);
    const [count, name] = policy === NEW ? [3, 'i 6'] : [4, 'row 2'];
    expect(await found(now)).toEqual([count]);
    expect(await found(later)).toEqual([count, `${name}: the remap gives another id`]);
    if (policy === NEW) {
      await sql('ALTER TABLE t DROP COLUMN i_v4');
      expect(await found(now)).toEqual([0, 'column i_v4 is gone']);
      return;
    }
    await sql('UPDATE t SET i = 5 WHERE id = 1');
    await sql('UPDATE t SET i = 77 WHERE id = 2');
    await sql('DELETE FROM t WHERE id = 4');
    expect(await found(now)).toEqual([
      4,
      'row 1: holds its old id again',
      'row 2: holds something other than what the run wrote',
      'row 4 is gone',
    ]);
  });

  it('records and takes back only what it rewrote before it was stopped', async () => {
    await create('id integer PRIMARY KEY, i bigint', '1, 5', '2, 6', '3, 7');
    const onProgress: ApplyContext['onProgress'] = (event) => {
      if (event.kind === 'step' && event.name.startsWith('rewriting')) throw new Error('killed');
    };
    await expect(apply(IN_PLACE, { more: { onProgress } })).rejects.toThrow('killed');
    expect((await database().ledger.changes()).map(({ key }) => key)).toEqual(['1', '2']);
    expect(await undo()).toMatchObject([{ restored: 2, changedSinceCount: 0 }]);
    expect(await ids()).toEqual(['5', '6', '7']);
  });

  it.each(['bigint', 'bigint UNIQUE'])(
    'is undone where all that others changed is gone (%s)',
    async (type) => {
      await create(`id integer PRIMARY KEY, i ${type}`, '1, 5', '2, 6', '3, 7');
      expect(await apply(IN_PLACE)).toEqual([]);
      await sql('DELETE FROM t WHERE id = 3');
      expect(await undo()).toMatchObject([{ restored: 2, changedSince: ['row 3 (gone)'] }]);
      expect(await database().ledger.states()).toEqual(['run-1 undone']);
      expect(await ids()).toEqual(['5', '6']);
    },
  );

  it('names what others changed where taking back was stopped after it', async () => {
    await create('id integer PRIMARY KEY, i bigint', '1, 5', '2, 6', '3, 7');
    expect(await apply(IN_PLACE)).toEqual([]);
    await sql('UPDATE t SET i = 77 WHERE id = 3');
    let steps = 0;
    const onProgress: ApplyContext['onProgress'] = (event) => {
      if (event.kind === 'step' && event.name.startsWith('undoing') && ++steps === 2)
        throw new Error('killed');
    };
    await expect(undo('run-1', { more: { onProgress } })).rejects.toThrow('killed');
    expect(await ids()).toEqual(['6', '6', '77']);
    expect(await undo()).toMatchObject([{ restored: 2, changedSince: ['row 3'] }]);
    expect(await ids()).toEqual(['5', '6', '77']);
  });

  it('finds what came since several runs by long keys within the statement timeout', async () => {
    const rowsOf = (letter: string, count: number) =>
      Array.from({ length: count }, (_, at) => `'${letter.repeat(80)}${at}', ${5 + (at % 4)}`);
    const count = campaign({ small: 800, full: 8000 });
    await create('id varchar(700) PRIMARY KEY, i bigint', ...rowsOf('a', count));
    const tuning = { statementTimeoutMs: 5000, batchRows: count };
    await apply(IN_PLACE, { tuning });
    for (const letter of ['b', 'c']) {
      await sql(`INSERT INTO t VALUES ${rowsOf(letter, 100).map((row) => `(${row})`)}`);
      expect(await apply({ ...IN_PLACE, again: true }, { run: `run-${letter}`, tuning })).toEqual([]);
    }
    expect(await database().ledger.countListed()).toBe(count + 200);
  });

  it('undoes a full batch within the statement timeout', async () => {
    // Comparing the changes of a batch pair by pair takes several times as long.
    const batchRows = campaign({ small: 500, full: DEFAULT_TUNING.batchRows });
    await create(
      'id integer PRIMARY KEY, i bigint',
      ...Array.from({ length: batchRows }, (_, at) => `${at}, ${5 + (at % 4)}`),
    );
    const before = await database().dump();
    const tuning = { statementTimeoutMs: 5000, batchRows };
    expect(await apply(IN_PLACE, { tuning })).toEqual([]);
    expect(await database().dump()).not.toBe(before);
    await undo('run-1', { tuning });
    expect(await database().dump()).toBe(before);
    expect(await database().ledger.countListed()).toBe(0);
  });
});
