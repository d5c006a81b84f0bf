import { appendFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { withFileLock } from '../../../src/apply/files/file-lock.js';
import { createOrders, MAPPED, makeScene, ordersIn, query, runOf, type Scene, upTo } from './scene.js';

const INVOICES = 'accounting/invoices';
const ORDERS = ['shop.db', '--table', 'orders'];
const IDS = ['--ids', `invoice_id=${INVOICES}`];

/** Every V4 id of a scene is a V3 id too: nothing but what the ledger knows keeps it from being mapped again. */
function sceneWithShop(columns?: string): Scene {
  const scene = makeScene();
  createOrders(scene.path('shop.db'), upTo(MAPPED), columns);
  return scene;
}

async function expectRefused(scene: Scene, args: readonly string[], says: string): Promise<void> {
  const ended = await scene.run(['apply', 'write', ...args, '--yes']);
  expect([ended.code, ended.stdout.replace(/\s+/g, ' ')]).toEqual([6, expect.stringContaining(says)]);
}

describe('an id is mapped once, also when', () => {
  it('a column that was rewritten in place is to be copied to a new one', async () => {
    const scene = sceneWithShop();
    const done = await scene.run(['apply', 'write', ...ORDERS, ...IDS, '--in-place', '--yes']);
    expect(done.code).toBe(0);
    await expectRefused(
      scene,
      [...ORDERS, ...IDS],
      `was rewritten in place by run ${runOf(done)}: its ids are V4 ids`,
    );
    const checked = await scene.run(['apply', 'check', ...ORDERS, ...IDS]);
    expect([checked.code, checked.stdout]).toEqual([
      0,
      expect.stringContaining(`${MAPPED} cells hold their V4 id already, by the ledger`),
    ]);
  });

  it('the new column is named as the old one', async () => {
    const scene = sceneWithShop();
    expect(await scene.run(['apply', 'write', ...ORDERS, ...IDS, '--yes'])).toMatchObject({ code: 0 });
    const filled = query(scene.path('shop.db'), 'SELECT invoice_id_v4 FROM orders');
    for (const mode of [[], ['--in-place']]) {
      await expectRefused(
        scene,
        [...ORDERS, '--ids', `invoice_id_v4=${INVOICES}`, ...mode],
        'its ids are V4 ids',
      );
    }
    expect(query(scene.path('shop.db'), 'SELECT invoice_id_v4 FROM orders')).toEqual(filled);
  });

  it('two JSON paths lead to the same value', async () => {
    const scene = sceneWithShop('invoice_id, doc TEXT');
    query(scene.path('shop.db'), `UPDATE orders SET doc = json_object('a', json_object('id', invoice_id))`);
    const at = (path: string) => {
      const ids = [{ column: 'doc', path, model: INVOICES }];
      scene.configure([{ name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids }]);
      return ['orders'];
    };
    const inPlace = (path: string) => [...at(path), '--in-place'];
    expect(await scene.run(['apply', 'write', ...inPlace('$.a.id'), '--yes'])).toMatchObject({ code: 0 });
    for (const path of ['$..id', '$.*.id', "$['a'].id"])
      await expectRefused(scene, inPlace(path), 'its ids are V4 ids');
    expect(await scene.run(['apply', 'check', ...at('$.b.id')])).toMatchObject({ code: 1 });
  });

  it('two targets name the same column of a table', async () => {
    const ids = [{ column: 'invoice_id', model: INVOICES }];
    const shop = { kind: 'sqlite', file: 'shop.db', ids };
    const scene = makeScene([
      { ...shop, name: 'a', table: 'orders' },
      { ...shop, name: 'b', table: 'ORDERS' },
    ]);
    createOrders(scene.path('shop.db'), upTo(MAPPED), 'invoice_id INTEGER UNIQUE');
    for (const mode of [[], ['--in-place']]) await expectRefused(scene, mode, 'is named by target b too');
    expect(ordersIn(scene.path('shop.db'))).toEqual(upTo(MAPPED).map(String));
  });

  it('a new file grew since', async () => {
    const scene = makeScene();
    writeFileSync(scene.path('orders.csv'), `invoice_id\n${upTo(MAPPED).join('\n')}\n`);
    const csv = ['orders.csv', ...IDS];
    expect(await scene.run(['apply', 'write', ...csv, '--yes'])).toMatchObject({ code: 0 });
    appendFileSync(scene.path('orders.v4.csv'), '7\n');
    await expectRefused(scene, ['orders.v4.csv', ...IDS], 'changed since');
  });

  it('two processes rewrite a file at once', async () => {
    const scene = makeScene();
    const rows = 30_000;
    const text = (map: (id: number) => number) =>
      `invoice_id\n${Array.from({ length: rows }, (_, at) => map((at % MAPPED) + 1)).join('\n')}\n`;
    writeFileSync(
      scene.path('orders.csv'),
      text((id) => id),
    );
    const csv = ['orders.csv', ...IDS];
    const args = ['apply', 'write', ...csv, '--yes'];
    const codes = (await Promise.all([scene.spawn(args, {}), scene.spawn(args, {})])).map(({ code }) => code);
    expect(codes).toContain(0);
    expect(await scene.run(['apply', 'verify', ...csv.slice(0, 1)])).toMatchObject({ code: 0 });
    expect(scene.read('orders.v4.csv') === text(scene.v4Of)).toBe(true);
    const done = await scene.run(args);
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('Nothing was left to do')]);
    expect(await scene.run(['apply', 'undo', runOf(done), 'orders.csv'])).toMatchObject({ code: 0 });
    expect(scene.read('orders.csv') === text((id) => id)).toBe(true);
  });

  it('new rows are filled in later', async () => {
    const scene = sceneWithShop();
    const file = scene.path('shop.db');
    expect(await scene.run(['apply', 'write', ...ORDERS, ...IDS, '--yes'])).toMatchObject({ code: 0 });
    const again = await scene.run(['apply', 'write', ...ORDERS, ...IDS, '--yes']);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('Nothing was left to do')]);
    query(file, 'INSERT INTO orders(invoice_id) VALUES (9)');
    const planned = await scene.run(['apply', 'plan', ...ORDERS, ...IDS]);
    expect(planned.stdout).toContain('1 cell with an id are empty in the new column');
    expect(await scene.run(['apply', 'write', ...ORDERS, ...IDS, '--yes'])).toMatchObject({ code: 0 });
    const expected = [...upTo(MAPPED), 9].map((id) => String(scene.v4Of(id)));
    expect(query(file, 'SELECT invoice_id_v4 FROM orders ORDER BY id')).toEqual(expected);
  });
});

it('a file that another process writes is left to it: exit code 6, also for a plan that both carry out', async () => {
  const scene = makeScene();
  const csv = ['orders.csv'];
  writeFileSync(scene.path('orders.csv'), 'invoice_id\n1\n');
  const save = ['--save', 'plan.json'];
  expect(await scene.run(['apply', 'plan', ...csv, ...IDS, ...save])).toMatchObject({ code: 0 });
  const write = ['apply', 'write', '--plan', 'plan.json', '--yes'];
  const expectLocked = async (args: readonly string[]) => {
    const hold = { file: scene.path('orders.v4.csv'), command: 'apply write', nowMs: 0 };
    const ended = await withFileLock(hold, () => scene.run(args));
    expect([ended.code, ended.stderr]).toEqual([
      6,
      expect.stringContaining(`is in use: svc-migrate apply write (process ${process.pid}`),
    ]);
  };
  await expectLocked(write);
  expect(await scene.run(write)).toMatchObject({ code: 0 });
  const car = scene.path('orders.v4.csv.svc-migrate.json');
  // The other process has recorded the run of the plan, and not finished it.
  writeFileSync(car, scene.read('orders.v4.csv.svc-migrate.json').replace('"done"', '"writing"'));
  await expectLocked(write);
  await expectLocked(['apply', 'undo', ...csv]);
  expect(await scene.run(write)).toMatchObject({ code: 0 });
  expect(await scene.run(['apply', 'undo', ...csv])).toMatchObject({ code: 0 });
  expect(scene.read('orders.csv')).toBe('invoice_id\n1\n');
});
