import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { alterDatabase } from '../../support/seal.js';
import { sqliteLedger } from '../support/ledger.js';
import { createOrders, IDS, makeScene, ordersIn, query } from './scene.js';

const INVOICES = '--ids invoice_id=accounting/invoices';
const SHOP = `shop.db --table orders ${INVOICES}`;
const CONFIGURED = [{ name: 'shop', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS }];

/** A scene with orders in SQLite. */
function open(
  ids: Parameters<typeof createOrders>[1] = [1],
  targets: readonly object[] = CONFIGURED,
  columns = 'invoice_id',
) {
  const scene = makeScene(targets);
  createOrders(scene.path('shop.db'), ids, columns);
  return { ...scene, file: scene.path('shop.db') };
}

describe('what cannot be applied to', () => {
  const cases = [
    [SHOP.replace('orders', 'order'), 6, 'did you mean "orders"?'],
    [SHOP.replace('orders', 'order_view'), 6, 'order_view is a view'],
    [SHOP.replace('invoice_id', 'invoiceid'), 6, 'did you mean "invoice_id"?'],
    [SHOP.replace('invoices', 'invoice'), 2, 'did you mean "accounting/invoices"?'],
    ['shop.db --table orders --ids invoice_id', 2, 'Write --ids invoice_id=MODEL'],
    ['shop.db --table orders --ids in$id', 2, "Write --ids 'in$id=MODEL'"],
    ['shop.db --table orders', 2, 'No column that holds ids'],
    ['none.csv', 6, 'none.csv cannot be read: it does not exist'],
    [INVOICES, 2, 'describes a target that is not configured'],
    ['shp', 2, 'Did you mean "shop"?'],
    [SHOP.replace('shop', 'none'), 6, 'There is no SQLite database'],
    [SHOP.replace('shop', 'svc-migrate').replace('orders', 'remap'), 6, 'is the svc-migrate database'],
    [`postgres://u:canary@h/d --table t ${INVOICES}`, 2, 'never given on the command line'],
    ['--check', 2, "unknown option '--check'"],
  ] as const;
  it('is named with a suggestion: tables, columns, models, targets', async () => {
    const scene = open();
    query(scene.file, 'CREATE VIEW order_view AS SELECT * FROM orders');
    for (const [words, code, says] of cases) {
      const { said } = await scene.apply(`plan ${words}`, code);
      expect(said).toContain(says);
      expect(said).not.toContain('canary');
    }
  });

  it('is a configuration with mistakes, which stop only what needs its targets', async () => {
    const scene = makeScene([{ name: 'shop', kind: 'sqlite' }]);
    for (const words of ['status', 'lookup accounting/invoices 1', 'backup copy.db'])
      expect(await scene.run(words.split(' '))).toMatchObject({ code: 0 });
    for (const words of ['apply plan', 'check'])
      expect(await scene.run(words.split(' '))).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('apply.targets[0].file'),
      });
  });

  it('is counted by how it is written, and never guessed', async () => {
    const texts = ['2.0', '007', '0x1F', ' 5 ', '1e3', 'INV-1', '1001'];
    const scene = open(['1', ...texts.slice(0, -1), 1001], CONFIGURED, 'invoice_id TEXT');
    const why = 'decimal exponent hex known_as_v4_only leading_zeros not_a_number spaces_around'.split(' ');
    const counts = ['mapped', ...why.map((one) => `unknown/${one}`)].map((name) => ({ name, ids: 1 }));
    expect(await scene.json('plan', 1)).toMatchObject({
      ids: { stored: 8, mapped: 1, missing: 0, unknown: 7 },
      targets: [{ columns: [{ counts }] }],
    });
    await scene.apply('write --unknown keep --in-place --yes');
    expect(ordersIn(scene.file)).toEqual([String(scene.v4Of(1)), ...texts]);
  });

  it('is a plan made for something else', async () => {
    const scene = open();
    await scene.apply('plan --save plan.json');
    await scene.apply('write --yes --plan plan.json --in-place', 2);
    const text = scene.read('plan.json');
    writeFileSync(scene.path('torn.json'), text.slice(0, 500));
    await scene.apply('write --yes --plan torn.json', 6);
    const other = text.replace(/"sha256": "[0-9a-f]{64}"/, `"sha256": "${'0'.repeat(64)}"`);
    writeFileSync(scene.path('other.json'), other);
    expect((await scene.apply('write --yes --plan other.json', 6)).said).toContain('remap › sha256');
    await scene.apply('write --yes --plan plan.json');
  });

  it('is a remap that is not what was built, or rests on unfinished or old exports', async () => {
    const scene = open();
    const database = scene.path('svc-migrate.db');
    const config = scene.read('svc-migrate.config.json');
    writeFileSync(scene.path('svc-migrate.config.json'), config.replace('36500d', '1h'));
    expect((await scene.apply('check', 1)).said).toContain('The remap is too old');
    alterDatabase(database, "UPDATE stream SET state = 'running' WHERE generation = 'v4'");
    for (const words of ['check', 'plan', 'write --yes']) await scene.apply(words, 4);
    alterDatabase(database, "UPDATE stream SET state = 'complete'");
    query(database, 'UPDATE exported_count SET records = records + 1');
    expect((await scene.apply('plan', 6)).said).toContain('altered or damaged since it was built');
    query(database, 'UPDATE exported_count SET records = records - 1');
    query(database, 'UPDATE remap_row SET v4_svc_id = 5 WHERE v3_svc_id = 1');
    expect((await scene.apply('write --yes', 6)).said).toContain('altered or damaged since it was built');
  });
});

it('names in a ledger reach the terminal with their control and bidi characters spelled out', async () => {
  const scene = open();
  await scene.apply('write --yes --in-place');
  const odd = 'r\u001b[2J\u202e\u0007';
  await sqliteLedger(scene.file).editRuns({ run: `'${odd}'`, target: `'${odd}'`, state: "'working'" });
  let all = '';
  for (const words of ['runs', 'plan', 'verify', 'undo none', `undo ${odd} --json out.json`]) {
    const { stdout, stderr } = await scene.run(['apply', ...words.split(' ')]);
    all += stdout + stderr;
  }
  all += scene.read('out.json');
  expect(all).toContain('\\u001b');
  expect(all).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e]/);
});

it('apply find proposes columns and paths with their evidence, and leaves small numbers alone', async () => {
  const scene = open([5, 17, 99, 140, 180], [], "invoice_id, quantity DEFAULT 3, note DEFAULT 'n'");
  query(scene.file, 'CREATE TABLE docs(doc TEXT)');
  query(
    scene.file,
    `INSERT INTO docs VALUES ('{"lines":[{"invoice_id":"7"},{"invoice_id":9}]}'), ('{"lines":[{"invoice_id":11}]}')`,
  );
  const scanned = await scene.apply('find shop.db --json found.json');
  expect(scanned.said).toContain('orders.invoice_id → accounting/invoices');
  const { apply } = JSON.parse(scene.read('found.json'));
  const where = { kind: 'sqlite', file: 'shop.db' };
  const ids = [{ column: 'doc', path: '$.lines[*].invoice_id', model: 'accounting/invoices' }];
  expect(apply.targets).toEqual([
    { name: 'docs', ...where, table: 'docs', ids },
    { name: 'orders', ...where, table: 'orders', ids: IDS },
  ]);
  scene.configure(apply.targets);
  await scene.apply('write orders --in-place --yes');
  expect((await scene.apply('find')).said).toMatch(/rewritten orders\.invoice_id: by run/);
});
