import { expect, it } from 'vitest';
import { OUTPUT_SCHEMAS } from '../../../src/commands/output-schemas.js';
import { createOrders, makeScene, query, runOf } from './scene.js';

const TARGET = ['--sqlite', 'shop.db', '--table', 'orders', '--ids', 'invoice_id=accounting/invoices'];
/** A V3 id without a twin. */
const NO_TWIN = 181;

function openShop() {
  const scene = makeScene();
  const file = scene.path('shop.db');
  createOrders(file, [1, 2]);
  const sync = async (...words: string[]) => {
    const { stdout, code } = await scene.run(['apply', ...TARGET, '--sync', ...words, '--json', '-']);
    const value = OUTPUT_SCHEMAS.apply.schema.parse(JSON.parse(stdout));
    expect(value.exitCode).toBe(code);
    return value;
  };
  const objects = () =>
    query(file, "SELECT name FROM sqlite_schema WHERE name LIKE 'svc!_migrate!_sync%' ESCAPE '!'");
  return { scene, file, sync, objects };
}

it('plans, fills what the application writes, and lists what is left', async () => {
  const { scene, file, sync, objects } = openShop();
  const planned = await sync('on');
  expect(planned).toMatchObject({ action: 'sync', sync: 'on', isWritten: false, exitCode: 0 });
  expect(objects()).toEqual([]);
  const made = await sync('on', '--yes');
  expect(made).toMatchObject({ isWritten: true, tables: [{ wasOn: false, refreshed: { added: 190 } }] });
  // Nothing was made that the plan did not name.
  const named = 'tables' in planned ? (planned.tables[0]?.makes ?? []) : [];
  for (const name of objects()) expect(named.join(' ')).toContain(name);
  query(file, 'INSERT INTO orders(invoice_id) VALUES (3)');
  query(file, `INSERT INTO orders(invoice_id) VALUES (${NO_TWIN})`);
  const filled = await scene.run(['apply', ...TARGET, '--yes', '--missing', 'keep']);
  expect(filled.code).toBe(0);
  expect(await sync('off')).toMatchObject({ isWritten: false, exitCode: 0, tables: [{ unmappedCount: 1 }] });
  expect(await sync('off', '--yes', '--unmapped', 'left.ndjson')).toMatchObject({
    isWritten: true,
    exitCode: 1,
    tables: [{ wasOn: true, unmapped: [{ column: 'invoice_id', row: '4', value: String(NO_TWIN) }] }],
    left: [{ kind: 'undecided', cells: 1 }],
  });
  expect(objects()).toEqual([]);
  expect(JSON.parse(scene.read('left.ndjson'))).toMatchObject({ value: String(NO_TWIN), key: { id: '4' } });
  expect(query(file, 'SELECT invoice_id_v4 FROM orders ORDER BY id')).toEqual([
    ...[1, 2, 3].map((id) => String(scene.v4Of(id))),
    null,
  ]);
  expect(await sync('off', '--yes', '--missing', 'keep')).toMatchObject({
    exitCode: 0,
    tables: [{ removes: [] }],
  });
});

it('is undone with the run that it began', async () => {
  const { scene, file, sync, objects } = openShop();
  await sync('on', '--yes');
  const run = runOf(await scene.run(['apply', ...TARGET, '--yes']));
  expect((await scene.run(['undo', run, '--sqlite', 'shop.db'])).code).toBe(0);
  expect(objects()).toEqual([]);
  expect(query(file, "SELECT name FROM pragma_table_info('orders')")).toEqual(['id', 'invoice_id']);
  query(file, 'INSERT INTO orders(invoice_id) VALUES (3)');
});

it.each([
  [['--sync', 'on', '--in-place'], 2],
  [['--sync', 'on', '--check'], 2],
  [['--sync', 'on', '--plan', 'plan.json'], 2],
  [['--sync', 'on', '--unmapped', 'left.ndjson'], 2],
  [['--sync', 'maybe'], 2],
  [['--sync', 'on', '--again'], 2],
])('refuses %j', async (words, code) => {
  const { scene } = openShop();
  expect((await scene.run(['apply', ...TARGET, ...words])).code).toBe(code);
});

it('refuses files', async () => {
  const { scene } = openShop();
  const words = ['--csv', 'orders.csv', '--ids', 'invoice_id=accounting/invoices', '--sync', 'on'];
  const { stdout, code } = await scene.run(['apply', ...words]);
  expect(code).toBe(6);
  expect(stdout).toContain('--sync takes only tables of databases that apply connects to.');
});
