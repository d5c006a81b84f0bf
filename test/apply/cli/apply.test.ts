import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createOrders, IDS, MAPPED, makeScene, ordersIn, query, runOf, upTo, V4_ONLY } from './scene.js';

const CSV = ['orders.csv', '--ids', 'invoice_id=accounting/invoices'];

function csvOf(ids: readonly (number | string)[]): string {
  return `n;invoice_id\r\n${ids.map((id, at) => `${at};${id}\r\n`).join('')}`;
}

describe('apply on a CSV file', () => {
  it('looks first, writes a new file, does it once, and takes it back', async () => {
    const scene = makeScene();
    const before = csvOf(upTo(MAPPED));
    writeFileSync(scene.path('orders.csv'), before);
    const looked = await scene.run(['apply', 'plan', ...CSV]);
    expect(looked).toMatchObject({ code: 0 });
    expect(looked.stdout).toContain(`Of ${MAPPED} ids you store, ${MAPPED} map; none is left over.`);
    expect(existsSync(scene.path('orders.v4.csv'))).toBe(false);
    const done = await scene.run(['apply', 'write', ...CSV, '--yes']);
    expect(done).toMatchObject({ code: 0 });
    const after = csvOf(upTo(MAPPED).map(scene.v4Of));
    expect([scene.read('orders.csv'), scene.read('orders.v4.csv')]).toEqual([before, after]);
    const again = await scene.run(['apply', 'write', ...CSV, '--yes']);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('Nothing was left to do')]);
    expect(scene.read('orders.v4.csv')).toBe(after);
    expect(await scene.run(['apply', 'verify', ...CSV.slice(0, 1)])).toMatchObject({ code: 0 });
    const fed = await scene.run([
      'apply',
      'write',
      'orders.v4.csv',
      '--ids',
      'invoice_id=accounting/invoices',
      '--yes',
    ]);
    expect([fed.code, fed.stdout.replace(/\s+/g, ' ')]).toEqual([
      6,
      expect.stringMatching(/STOP .* wrote: its ids are V4 ids/),
    ]);
    expect(await scene.run(['apply', 'undo', runOf(done), 'orders.csv'])).toMatchObject({ code: 0 });
    expect([existsSync(scene.path('orders.v4.csv')), scene.read('orders.csv')]).toEqual([false, before]);
  });

  it('writes nothing while ids are without a twin, unless told what becomes of them', async () => {
    const scene = makeScene();
    writeFileSync(scene.path('orders.csv'), csvOf([1, 2, 181]));
    const refused = await scene.run(['apply', 'write', ...CSV, '--yes']);
    expect([refused.code, existsSync(scene.path('orders.v4.csv'))]).toEqual([1, false]);
    expect(refused.stdout).toContain('Nothing was written.');
    expect(refused.stdout).toContain('Next: svc-migrate explain accounting/invoices 181');
    const [one, two] = [scene.v4Of(1), scene.v4Of(2)];
    for (const [missing, third] of [
      ['keep', ''],
      ['keep-v3', '181'],
      ['null', ''],
    ] as const) {
      const output = 'orders.v4.csv';
      expect(await scene.run(['apply', 'write', ...CSV, '--yes', '--missing', missing])).toMatchObject({
        code: 0,
      });
      expect(scene.read(output)).toBe(csvOf([one, two, third]));
      expect(await scene.run(['apply', 'undo', 'orders.csv'])).toMatchObject({ code: 0 });
    }
  });
});

describe('apply on a SQLite table', () => {
  const SHOP = { name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS };

  it('carries out exactly the plan that was agreed to, once, and takes it back', async () => {
    const scene = makeScene([SHOP]);
    const file = scene.path('shop.db');
    createOrders(file, [...upTo(MAPPED), null]);
    const before = ordersIn(file);
    expect(await scene.run(['apply', 'plan', '--in-place', '--save', 'plan.json'])).toMatchObject({
      code: 0,
    });
    const done = await scene.run(['apply', 'write', '--yes', '--plan', 'plan.json']);
    const after = [...upTo(MAPPED).map((id) => String(scene.v4Of(id))), null];
    expect([done.code, ordersIn(file)]).toEqual([0, after]);
    for (const args of [
      ['write', '--yes', '--plan', 'plan.json'],
      ['write', '--yes', '--in-place'],
      ['plan', '--in-place'],
    ]) {
      expect(await scene.run(['apply', ...args])).toMatchObject({ code: 0 });
      expect(ordersIn(file)).toEqual(after);
    }
    expect(await scene.run(['apply', 'verify'])).toMatchObject({ code: 0 });
    expect(await scene.run(['apply', 'undo', runOf(done)])).toMatchObject({ code: 0 });
    expect(ordersIn(file)).toEqual(before);
  });

  it('refuses a plan when the data changed since', async () => {
    const scene = makeScene([SHOP]);
    const file = scene.path('shop.db');
    createOrders(file, [1, 2, 3]);
    expect(await scene.run(['apply', 'plan', '--in-place', '--save', 'plan.json'])).toMatchObject({
      code: 0,
    });
    query(file, 'UPDATE orders SET invoice_id = 4 WHERE id = 3');
    const refused = await scene.run(['apply', 'write', '--yes', '--plan', 'plan.json']);
    expect([refused.code, refused.stderr]).toEqual([
      6,
      expect.stringContaining('The data changed since the plan'),
    ]);
    expect(ordersIn(file)).toEqual(['1', '2', '4']);
  });

  it('stores platform_ids as the configuration says', async () => {
    const [id] = IDS;
    const scene = makeScene([{ ...SHOP, ids: [{ ...id, platformIdColumn: 'stable' }] }]);
    const file = scene.path('shop.db');
    createOrders(file, [3, 181, 404, 1]);
    const before = query(
      file,
      "SELECT sql || (SELECT group_concat(invoice_id) FROM orders) FROM sqlite_schema WHERE name = 'orders'",
    );
    const keep = ['--missing', 'keep', '--unknown', 'keep', '--in-place'];
    const looked = await scene.run(['apply', 'plan', ...keep]);
    expect(looked.stdout).toContain('invoice_id → stable: platform_id');
    const done = await scene.spawn(['apply', 'write', ...keep, '--yes'], {});
    expect(query(file, 'SELECT stable FROM orders ORDER BY id')).toEqual(['k3', 'k181', null, 'k1']);
    // Options say where the table is; the ledger knows the rest.
    expect(await scene.run(['apply', 'verify', 'shop.db'])).toMatchObject({ code: 0 });
    expect(await scene.run(['apply', 'undo', runOf(done), 'shop.db'])).toMatchObject({ code: 0 });
    expect(
      query(
        file,
        "SELECT sql || (SELECT group_concat(invoice_id) FROM orders) FROM sqlite_schema WHERE name = 'orders'",
      ),
    ).toEqual(before);
  });

  it('fills a new column by default and leaves the old one alone', async () => {
    const scene = makeScene([SHOP]);
    const file = scene.path('shop.db');
    createOrders(file, [3, null, 1]);
    const done = await scene.run(['apply', 'write', 'orders', '--yes']);
    expect([done.code, ordersIn(file)]).toEqual([0, ['3', null, '1']]);
    expect(query(file, 'SELECT invoice_id_v4 FROM orders ORDER BY id')).toEqual([
      String(scene.v4Of(3)),
      null,
      String(scene.v4Of(1)),
    ]);
    expect(await scene.run(['apply', 'undo', runOf(done)])).toMatchObject({ code: 0 });
    expect(query(file, "SELECT count(*) FROM pragma_table_info('orders')")).toEqual(['2']);
  });

  it('names rows changed since instead of undoing them', async () => {
    const scene = makeScene([SHOP]);
    const file = scene.path('shop.db');
    createOrders(file, [1, 2, 3]);
    const done = await scene.run(['apply', 'write', '--in-place', '--yes']);
    query(file, 'UPDATE orders SET invoice_id = 77 WHERE id = 2');
    const undone = await scene.run(['apply', 'undo', runOf(done)]);
    expect([undone.code, ordersIn(file)]).toEqual([1, ['1', '77', '3']]);
    expect(undone.stdout).toContain('row 2');
  });

  it('lists the runs where the one to undo is missing or unknown', async () => {
    const scene = makeScene([SHOP]);
    createOrders(scene.path('shop.db'), [1]);
    const done = await scene.run(['apply', 'write', '--in-place', '--yes']);
    const listed = await scene.run(['apply', 'runs']);
    expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining(runOf(done))]);
    const unknown = await scene.run(['apply', 'undo', '20200101-000000-ffff']);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining(runOf(done))]);
  });

  it('gates on the ids that are really stored', async () => {
    const scene = makeScene([SHOP]);
    const file = scene.path('shop.db');
    createOrders(file, [1, 2, 181, V4_ONLY, 5000]);
    const failed = await scene.run(['apply', 'check', '--json', 'check.json']);
    expect([failed.code, failed.stdout]).toEqual([
      1,
      expect.stringContaining('FAIL: Of 5 ids you store, 2 map; 3 do not'),
    ]);
    expect(JSON.parse(readFileSync(scene.path('check.json'), 'utf8'))).toMatchObject({
      action: 'check',
      exitCode: 1,
      ids: { stored: 5, mapped: 2, missing: 1, unknown: 2 },
    });
    query(file, 'DELETE FROM orders WHERE id > 2');
    expect(await scene.run(['apply', 'check'])).toMatchObject({ code: 0 });
    query(file, 'DELETE FROM orders');
    expect(await scene.run(['apply', 'check'])).toMatchObject({ code: 1 });
  });
});
