import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Db } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { sqliteLedger } from '../support/ledger.js';
import { createOrders, IDS, MAPPED, makeScene, ordersIn, query, runOf, type Scene } from './scene.js';

const ROWS = 4_000;

/** With batches of 20 rows, and a short wait for locks. */
function sceneWithRows(): { readonly scene: Scene; readonly file: string; readonly after: string[] } {
  const shop = { name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS };
  const scene = makeScene([shop], {}, { batchRows: 20, lockTimeoutMs: 1000 });
  const file = scene.path('shop.db');
  createOrders(file, []);
  query(
    file,
    `INSERT INTO orders(invoice_id) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS - 1})
    SELECT i % ${MAPPED} + 1 FROM n`,
  );
  const after = Array.from({ length: ROWS }, (_, at) => String(scene.v4Of((at % MAPPED) + 1)));
  return { scene, file, after };
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
  /** Runs a command as a process, and does something once part of the rows is rewritten. */
  const disturb = (
    { scene, file }: ReturnType<typeof sceneWithRows>,
    words: string,
    signal: () => NodeJS.Signals | null,
  ) =>
    scene.spawn(['apply', ...words.split(' ')], {
      onStart: async (child) => {
        if (!(await isUnderWay(file))) return;
        const name = signal();
        if (name !== null) child.kill(name);
      },
    });

  it('leaves at Ctrl-C, says how to go on, and goes on where it was', async () => {
    const place = sceneWithRows();
    const { scene, file, after } = place;
    const stopped = await disturb(place, 'write --in-place --yes', () => 'SIGINT');
    const says =
      /If a run had begun, the ledger records it\.\n.*svc-migrate apply runs.*svc-migrate apply undo/;
    expect([stopped.code, stopped.stderr]).toEqual([130, expect.stringMatching(says)]);
    expect(ordersIn(file)).not.toEqual(after);
    await scene.apply('check', 1);
    const done = await scene.apply('write --in-place --yes');
    expect(ordersIn(file)).toEqual(after);
    const options = 'shop.db --table orders --ids invoice_id=accounting/invoices --in-place';
    scene.configure([]);
    const undone = await scene.apply(`undo ${runOf(done)} shop.db`);
    expect([ordersIn(file)[5], undone.stdout]).toEqual([
      '6',
      expect.stringContaining(`Next: svc-migrate apply plan ${options}\n`),
    ]);
  });

  it('exits with 7 where the database is held by another, and names run and way out', async () => {
    const place = sceneWithRows();
    const { scene, file, after } = place;
    let held: Db | undefined;
    const words = 'write shop.db --table orders --ids invoice_id=accounting/invoices --in-place --yes';
    const stopped = await disturb(place, words, () => {
      held = new Sqlite(file, { timeout: 5000 });
      held.exec('BEGIN IMMEDIATE');
      return null;
    });
    held?.exec('ROLLBACK');
    held?.close();
    const run = runOf({ ...stopped, stdout: stopped.stderr });
    expect([stopped.code, stopped.stderr]).toEqual([
      7,
      expect.stringContaining(`\`svc-migrate apply undo ${run} shop.db\``),
    ]);
    const done = await scene.apply(words);
    expect([runOf(done), ordersIn(file)]).toEqual([run, after]);
  });

  it('carries on the plan it began with', async () => {
    const place = sceneWithRows();
    const { scene, file, after } = place;
    await scene.apply('plan --in-place --save plan.json');
    const killed = await disturb(place, 'write --yes --plan plan.json', () => 'SIGKILL');
    expect(killed.code).toBe(137);
    await scene.apply('write --yes --plan plan.json');
    expect(ordersIn(file)).toEqual(after);
  });
});
