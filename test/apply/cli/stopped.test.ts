import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Db } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { sqliteLedger } from '../support/ledger.js';
import { createOrders, MAPPED, makeScene, ordersIn, runOf, type Scene } from './scene.js';

const ROWS = 8_000;
const APPLY = ['shop.db', '--table', 'orders', '--ids', 'invoice_id=accounting/invoices', '--in-place'];

/** With batches of 20 rows, and a short wait for locks. */
function sceneWithRows(): { readonly scene: Scene; readonly file: string; readonly after: string[] } {
  const scene = makeScene([], {}, { batchRows: 20, lockTimeoutMs: 1000 });
  const file = scene.path('shop.db');
  createOrders(file, []);
  const db = new Sqlite(file);
  db.exec(`INSERT INTO orders(invoice_id) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS - 1})
    SELECT i % ${MAPPED} + 1 FROM n`);
  db.close();
  return {
    scene,
    file,
    after: Array.from({ length: ROWS }, (_, at) => String(scene.v4Of((at % MAPPED) + 1))),
  };
}

/** Waits until part of the rows is rewritten; false where it is all done before. */
async function isUnderWay(file: string): Promise<boolean> {
  for (let attempt = 0; attempt < 3000; attempt += 1) {
    await sleep(5);
    const [run] = await sqliteLedger(file).progress();
    if (run !== undefined && run.done > 0) return run.state === 'working';
  }
  return false;
}

describe('an apply that is stopped part-way', () => {
  it('leaves at Ctrl-C, says how to go on, and goes on where it was', async () => {
    const { scene, file, after } = sceneWithRows();
    const stopped = await scene.spawn(['apply', 'write', ...APPLY, '--yes'], {
      onStart: async (child) => {
        if (await isUnderWay(file)) child.kill('SIGINT');
      },
    });
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toContain('svc-migrate apply undo');
    const between = ordersIn(file);
    expect(between).not.toEqual(after);
    expect(
      await scene.run(['apply', 'check', ...APPLY.filter((word) => word !== '--in-place')]),
    ).toMatchObject({ code: 1 });
    const done = await scene.run(['apply', 'write', ...APPLY, '--yes']);
    expect([done.code, ordersIn(file)]).toEqual([0, after]);
    const undone = await scene.run(['apply', 'undo', runOf(done), 'shop.db']);
    expect([undone.code, ordersIn(file)[5]]).toEqual([0, '6']);
    const options = 'shop.db --table orders --ids invoice_id=accounting/invoices --in-place';
    expect(undone.stdout).toContain(`Next: svc-migrate apply plan ${options}\n`);
  });

  it('exits with 7 where the database is held by another, and names run and way out', async () => {
    const { scene, file, after } = sceneWithRows();
    let held: Db | undefined;
    const stopped = await scene.spawn(['apply', 'write', ...APPLY, '--yes'], {
      onStart: async () => {
        if (!(await isUnderWay(file))) return;
        held = new Sqlite(file, { timeout: 5000 });
        held.exec('BEGIN IMMEDIATE');
      },
    });
    held?.exec('ROLLBACK');
    held?.close();
    expect(stopped.code).toBe(7);
    const run = runOf({ ...stopped, stdout: stopped.stderr });
    expect(stopped.stderr).toContain(`svc-migrate apply undo ${run}`);
    const done = await scene.run(['apply', 'write', ...APPLY, '--yes']);
    expect([done.code, runOf(done), ordersIn(file)]).toEqual([0, run, after]);
  });

  it('carries on the plan it began with', async () => {
    const { scene, file, after } = sceneWithRows();
    expect(await scene.run(['apply', 'plan', ...APPLY, '--save', 'plan.json'])).toMatchObject({ code: 0 });
    const killed = await scene.spawn(['apply', 'write', '--yes', '--plan', 'plan.json'], {
      onStart: async (child) => {
        if (await isUnderWay(file)) child.kill('SIGKILL');
      },
    });
    expect(killed.code).toBe(137);
    const done = await scene.run(['apply', 'write', '--yes', '--plan', 'plan.json']);
    expect([done.code, ordersIn(file)]).toEqual([0, after]);
  });
});
