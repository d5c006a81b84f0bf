import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_TUNING } from '../../../src/apply/context.js';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import { findBlocks, judgeCheck } from '../../../src/apply/judge-plan.js';
import type { Plan } from '../../../src/apply/plan.js';
import { survey } from '../../../src/apply/stores.js';
import type { PostgresTarget } from '../../../src/config/apply-targets.js';
import { makeFolder } from '../support/folder.js';
import { FRESH } from '../support/fresh.js';
import { LedgerReader } from '../support/ledger.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';
import { createRemap, IN_PLACE, INVOICES, openContext, pairs, target } from '../support/remap.js';

const cluster = await startPostgres();

describe.skipIf(cluster === null)('a cell in PostgreSQL', () => {
  const remap = join(makeFolder(), 'remap.db');
  createRemap(
    remap,
    pairs([
      [5, 6],
      [6, 7],
      [7, 8],
      [8, 5],
      [20, 20],
    ]),
  );

  async function open(name: string, table: string) {
    const url = (await cluster?.createDatabase(name)) ?? '';
    const client = await connect(url);
    await client.query(table);
    const given = { kind: 'postgres', urlEnv: 'TEST_PG', table: 't' };
    const ids = ['i', 'j'].map((column) => ({ column, model: INVOICES }));
    const one = target({ ...given, ids });
    const targets = [one].filter((each): each is PostgresTarget => each.kind === 'postgres');
    const context = { ...openContext(remap, IN_PLACE, { statementTimeoutMs: 5000 }), env: { TEST_PG: url } };
    const store = { ...openPostgresStore(context, targets), targets: targets.map((each) => each.name) };
    const look = (): Promise<Plan> => survey(context, [store], targets);
    return {
      sql: (text: string) => readAll(client, text),
      apply: async () => {
        const plan = await look();
        expect(findBlocks(plan)).toEqual([]);
        await store.write(plan.targets, { run: 'run-1', planSha256: 'p', isExact: true });
      },
      check: async () => judgeCheck(await look(), FRESH),
      undo: () => store.undo('run-1'),
      close: async () => {
        await store.close();
        await client.end();
        context.remap.close();
      },
    };
  }

  it.each([
    ['batches', 'bigint'],
    ['atomic', 'bigint UNIQUE'],
  ])('counts as done only while it holds what was written (%s)', async (name, type) => {
    const scene = await open(name, `CREATE TABLE t(id int PRIMARY KEY, i ${type}, j bigint)`);
    await scene.sql('INSERT INTO t VALUES (1, 20, 20), (2, 5, 6), (3, 7, 7), (4, 8, 8)');
    await scene.apply();
    expect(await scene.check()).toMatchObject({ exitCode: 0, ids: { done: 8, changedSince: 0, since: 0 } });
    await scene.sql('DELETE FROM t WHERE id > 1');
    await scene.sql('INSERT INTO t VALUES (2, 9, 7), (3, NULL, 8)');
    const red = await scene.check();
    expect(red).toMatchObject({ exitCode: 1, ids: { done: 4, changedSince: 1, since: 0 } });
    expect(red.blocks.map(({ note }) => note.text)).toEqual([
      'Changed since: 1 cell holds something other than what the run wrote (row 2).',
    ]);
    await scene.undo();
    expect(await scene.sql('SELECT i, j FROM t ORDER BY id')).toEqual([
      ['20', '20'],
      ['9', '6'],
      [null, '7'],
    ]);
    // What maps to itself left the ledger as well.
    const left = await new LedgerReader('postgres', scene.sql).changes();
    expect(left.map(({ key }) => key)).toEqual(['2', '3']);
    await scene.close();
  });

  const IGNORES = 'IF new.id = 3 THEN RETURN NULL; END IF;';
  const REVERTS = 'IF new.id = 3 THEN new.i := old.i; END IF;';
  it.each([
    ['batch_null', 'bigint', IGNORES],
    ['batch_old', 'bigint', REVERTS],
    ['once_null', 'bigint UNIQUE', IGNORES],
    ['once_old', 'bigint UNIQUE', REVERTS],
  ])('that a trigger keeps as it was stops the run (%s)', async (name, type, body) => {
    const scene = await open(name, `CREATE TABLE t(id int PRIMARY KEY, i ${type}, j bigint)`);
    await scene.sql('INSERT INTO t VALUES (3, 5), (4, 7)');
    await scene.sql(
      `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN new; END $$`,
    );
    const trigger = 'CREATE TRIGGER stubborn BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()';
    const rows = () => scene.sql('SELECT i FROM t ORDER BY id');
    const stopped = { code: 'bad_input', hint: expect.stringContaining('stubborn') };
    await scene.sql(trigger);
    await expect(scene.apply()).rejects.toMatchObject(stopped);
    expect(await rows()).toEqual([['5'], ['7']]);
    await scene.sql('DROP TRIGGER stubborn ON t');
    await scene.apply();
    expect(await rows()).toEqual([['6'], ['8']]);
    await scene.sql(trigger);
    await expect(scene.undo()).rejects.toMatchObject(stopped);
    expect(await rows()).toEqual([['6'], ['8']]);
    await scene.sql('DROP TRIGGER stubborn ON t');
    await scene.undo();
    expect(await rows()).toEqual([['5'], ['7']]);
    await scene.close();
  });

  it('of a full batch is undone within the statement timeout', async () => {
    // Comparing the entries of a batch pair by pair takes several times as long.
    const scene = await open('full_batch', 'CREATE TABLE t(id int PRIMARY KEY, i bigint, j bigint)');
    await scene.sql(
      `INSERT INTO t SELECT k, 5 + k % 4, NULL FROM generate_series(1, ${DEFAULT_TUNING.batchRows}) AS k`,
    );
    const sums = () => scene.sql('SELECT i, count(*), sum(id) FROM t GROUP BY i ORDER BY i');
    const before = await sums();
    await scene.apply();
    expect(await sums()).not.toEqual(before);
    await scene.undo();
    expect(await sums()).toEqual(before);
    expect(await new LedgerReader('postgres', scene.sql).countListed()).toBe(0);
    await scene.close();
  });
});
