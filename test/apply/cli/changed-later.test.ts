import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { campaignCases } from '../../support/campaign.js';
import { ENGINES } from '../support/databases.js';
import { makeScene, runOf } from './scene.js';
import { openShop } from './shops.js';

const IDS = ['--ids', 'invoice_id=accounting/invoices'];

describe.each(campaignCases(ENGINES, 1))('what others did to a rewritten table in $product', (engine) => {
  const open = (name: string, ids?: readonly object[]) => openShop(engine, name, ids);
  it('is listed by --verify, which exits with 1', async () => {
    const { scene, place, sql, close } = await open('verify');
    const orders = [...place, '--table', 'orders', ...IDS];
    expect(await scene.run(['apply', 'write', ...orders, '--in-place', '--yes'])).toMatchObject({ code: 0 });
    expect(await scene.run(['apply', 'verify', ...orders.slice(0, 1)])).toMatchObject({ code: 0 });
    await sql('UPDATE orders SET invoice_id = 7777 WHERE id = 2');
    await sql('DELETE FROM orders WHERE id = 3');
    const verified = await scene.run(['apply', 'verify', ...orders.slice(0, 1), '--json', '-']);
    expect(JSON.parse(verified.stdout)).toMatchObject({
      exitCode: 1,
      verified: [
        {
          checked: 3,
          wrongCount: 0,
          changedSinceCount: 2,
          changedSince: ['row 2: holds something other than what the run wrote', 'row 3 is gone'],
        },
      ],
    });
    await close();
  });

  it('is listed where a new column was emptied or changed', async () => {
    const { scene, place, sql, close } = await open('emptied');
    const orders = [...place, '--table', 'orders', ...IDS];
    expect(await scene.run(['apply', 'write', ...orders, '--yes'])).toMatchObject({ code: 0 });
    await sql('UPDATE orders SET invoice_id_v4 = NULL WHERE id = 2');
    await sql('UPDATE orders SET invoice_id_v4 = 7777 WHERE id = 3');
    const verified = await scene.run(['apply', 'verify', ...orders.slice(0, 1), '--json', '-']);
    expect(JSON.parse(verified.stdout)).toMatchObject({
      exitCode: 1,
      verified: [
        {
          wrong: ['invoice_id_v4 7777'],
          changedSince: ['invoice_id 2: invoice_id_v4 is empty'],
        },
      ],
    });
    await close();
  });

  it('is said where the new column was dropped; undo clears the way', async () => {
    const { scene, place, sql, close } = await open('dropped');
    const orders = [...place, '--table', 'orders', ...IDS];
    const done = await scene.run(['apply', 'write', ...orders, '--yes']);
    const run = runOf(done);
    await sql('ALTER TABLE orders DROP COLUMN invoice_id_v4');
    for (const action of [['plan'], ['write', '--yes']]) {
      const stopped = await scene.run(['apply', ...action, ...orders]);
      expect([stopped.code, stopped.stdout.replace(/\s+/g, ' ')]).toEqual([
        6,
        expect.stringContaining(`The column invoice_id_v4, which run ${run} filled, is gone.`),
      ]);
    }
    const verified = await scene.run(['apply', 'verify', ...orders.slice(0, 1)]);
    expect([verified.code, verified.stdout]).toEqual([
      1,
      expect.stringContaining('column invoice_id_v4 is gone'),
    ]);
    expect(verified.stdout).not.toContain('unfinished');
    expect(await scene.run(['apply', 'undo', run, ...place])).toMatchObject({ code: 0 });
    expect(await scene.run(['apply', 'write', ...orders, '--yes'])).toMatchObject({ code: 0 });
    expect(await scene.run(['apply', 'verify', ...orders.slice(0, 1)])).toMatchObject({ code: 0 });
    await close();
  });
});

describe('what others did to a rewritten file', () => {
  it('is listed by --verify, which exits with 1', async () => {
    const output = 'orders.v4.csv';
    const scene = makeScene();
    writeFileSync(scene.path('orders.csv'), 'invoice_id\n1\n2\n');
    const csv = ['orders.csv', ...IDS];
    expect(await scene.run(['apply', 'write', ...csv, '--yes'])).toMatchObject({ code: 0 });
    appendFileSync(scene.path(output), '3\n');
    const verified = await scene.run(['apply', 'verify', ...csv.slice(0, 1), '--json', '-']);
    expect(JSON.parse(verified.stdout)).toMatchObject({
      exitCode: 1,
      verified: [{ wrongCount: 0, changedSince: [scene.path(output)], changedSinceCount: 1 }],
    });
    rmSync(scene.path(output));
    expect(await scene.run(['apply', 'verify', ...csv.slice(0, 1)])).toMatchObject({ code: 1 });
  });
});
