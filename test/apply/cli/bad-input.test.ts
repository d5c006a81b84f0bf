import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { alterDatabase } from '../../support/seal.js';
import { sqliteLedger } from '../support/ledger.js';
import { createOrders, IDS, makeScene, ordersIn, query, runOf } from './scene.js';

const INVOICES = 'invoice_id=accounting/invoices';
const SHOP = ['shop.db', '--table', 'orders'];

describe('what cannot be applied to', () => {
  it('is named with a suggestion: tables, columns, models, targets', async () => {
    const scene = makeScene([{ name: 'shop', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS }]);
    createOrders(scene.path('shop.db'), [1]);
    query(scene.path('shop.db'), 'CREATE VIEW order_view AS SELECT * FROM orders');
    const cases = [
      [['shop.db', '--table', 'order', '--ids', INVOICES], 6, 'did you mean "orders"?'],
      [['shop.db', '--table', 'order_view', '--ids', INVOICES], 6, 'order_view is a view'],
      [[...SHOP, '--ids', 'invoiceid=accounting/invoices'], 6, 'did you mean "invoice_id"?'],
      [[...SHOP, '--ids', 'invoice_id=accounting/invoice'], 2, 'did you mean "accounting/invoices"?'],
      [[...SHOP, '--ids', 'invoice_id'], 2, 'needs either model or modelColumn'],
      [[...SHOP], 2, 'No column that holds ids'],
      [['none.csv'], 6, 'none.csv cannot be read: it does not exist'],
      [['--ids', INVOICES], 2, 'describes a target that is not configured'],
      [['shp'], 2, 'Did you mean "shop"?'],
      [['none.db', '--table', 'orders', '--ids', INVOICES], 6, 'There is no SQLite database'],
      [['svc-migrate.db', '--table', 'remap', '--ids', INVOICES], 6, 'is the svc-migrate database'],
      [['postgres://u:canary@h/d', '--table', 't', '--ids', INVOICES], 2, 'never given on the command line'],
      [['--check'], 2, "unknown option '--check'"],
    ] as const;
    for (const [args, code, says] of cases) {
      const ended = await scene.run(['apply', 'plan', ...args]);
      expect([args, ended.code, `${ended.stdout}${ended.stderr}`.replace(/\s+/g, ' ')]).toEqual([
        args,
        code,
        expect.stringContaining(says),
      ]);
      expect(ended.stderr).not.toContain('canary');
    }
  });

  it('is a configuration with mistakes, which stop only what needs its targets', async () => {
    const scene = makeScene([{ name: 'shop', kind: 'sqlite' }]);
    for (const args of [['status'], ['lookup', 'accounting/invoices', '1'], ['backup', 'copy.db']])
      expect(await scene.run(args)).toMatchObject({ code: 0 });
    for (const args of [['apply', 'plan'], ['check']]) {
      const ended = await scene.run(args);
      expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('apply.targets[0].file')]);
    }
  });

  it.each(['postgres', 'mysql'])('is a server that does not answer, named once: %s', async (kind) => {
    const ended = await makeScene().run(['apply', 'find', 'DOWN'], {
      env: { DOWN: `${kind}://u:p@127.0.0.1:1/d` },
    });
    const [said = ''] = ended.stderr.split('\n');
    expect([ended.code, said]).toEqual([
      6,
      expect.stringMatching(/could not be made \(127\.0\.0\.1:1\/d\)\.$/),
    ]);
  });

  it('is counted by how it is written, and never guessed', async () => {
    const scene = makeScene();
    createOrders(
      scene.path('shop.db'),
      ['1', '2.0', '007', '0x1F', ' 5 ', '1e3', 'INV-1', 1001],
      'invoice_id TEXT',
    );
    const planned = await scene.run([
      'apply',
      'plan',
      ...SHOP,
      '--ids',
      INVOICES,
      '--json',
      'plan-result.json',
    ]);
    expect(planned.code).toBe(1);
    const found: unknown = JSON.parse(scene.read('plan-result.json'));
    const why = [
      'decimal',
      'exponent',
      'hex',
      'known_as_v4_only',
      'leading_zeros',
      'not_a_number',
      'spaces_around',
    ];
    expect(found).toMatchObject({
      ids: { stored: 8, mapped: 1, missing: 0, unknown: 7 },
      targets: [
        {
          columns: [
            { counts: ['mapped', ...why.map((one) => `unknown/${one}`)].map((name) => ({ name, ids: 1 })) },
          ],
        },
      ],
    });
    const kept = await scene.run([
      'apply',
      'write',
      ...SHOP,
      '--ids',
      INVOICES,
      '--unknown',
      'keep',
      '--in-place',
      '--yes',
    ]);
    expect([kept.code, ordersIn(scene.path('shop.db'))]).toEqual([
      0,
      [String(scene.v4Of(1)), '2.0', '007', '0x1F', ' 5 ', '1e3', 'INV-1', '1001'],
    ]);
  });

  it('is a plan made for something else', async () => {
    const scene = makeScene();
    createOrders(scene.path('shop.db'), [1]);
    expect(
      await scene.run(['apply', 'plan', ...SHOP, '--ids', INVOICES, '--save', 'plan.json']),
    ).toMatchObject({
      code: 0,
    });
    expect(await scene.run(['apply', 'write', '--yes', '--plan', 'plan.json', '--in-place'])).toMatchObject({
      code: 2,
    });
    writeFileSync(scene.path('torn.json'), scene.read('plan.json').slice(0, 500));
    expect(await scene.run(['apply', 'write', '--yes', '--plan', 'torn.json'])).toMatchObject({ code: 6 });
    const other = scene
      .read('plan.json')
      .replace(/"sha256": "[0-9a-f]{64}"/, `"sha256": "${'0'.repeat(64)}"`);
    writeFileSync(scene.path('other.json'), other);
    const refused = await scene.run(['apply', 'write', '--yes', '--plan', 'other.json']);
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('remap › sha256')]);
    expect(await scene.run(['apply', 'write', '--yes', '--plan', 'plan.json'])).toMatchObject({ code: 0 });
  });

  it('is a remap that is not what was built, or rests on unfinished or old exports', async () => {
    const scene = makeScene([{ name: 'shop', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS }]);
    createOrders(scene.path('shop.db'), [1]);
    const database = scene.path('svc-migrate.db');
    const config = scene.read('svc-migrate.config.json');
    writeFileSync(scene.path('svc-migrate.config.json'), config.replace('36500d', '1h'));
    const old = await scene.run(['apply', 'check']);
    expect([old.code, old.stdout]).toEqual([1, expect.stringContaining('The remap is too old')]);
    alterDatabase(database, "UPDATE stream SET state = 'running' WHERE generation = 'v4'");
    for (const args of [['check'], ['plan'], ['write', '--yes']])
      expect(await scene.run(['apply', ...args])).toMatchObject({ code: 4 });
    alterDatabase(database, "UPDATE stream SET state = 'complete'");
    query(database, 'UPDATE remap_row SET v4_svc_id = 5 WHERE v3_svc_id = 1');
    const changed = await scene.run(['apply', 'write', '--yes']);
    expect([changed.code, changed.stderr]).toEqual([
      6,
      expect.stringContaining('altered or damaged since it was built'),
    ]);
  });
});

describe('names in a ledger', () => {
  it('reach the terminal with their control and bidi characters spelled out', async () => {
    const scene = makeScene([{ name: 'shop', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS }]);
    createOrders(scene.path('shop.db'), [1, 2]);
    expect(await scene.run(['apply', 'write', '--yes', '--in-place'])).toMatchObject({ code: 0 });
    const odd = 'r\u001b[2J\u202e\u0007';
    const ledger = sqliteLedger(scene.path('shop.db'));
    await ledger.editRuns({ run: `'${odd}'`, target: `'${odd}'`, state: "'working'" });
    let said = '';
    const json = ['--json', 'out.json'];
    for (const args of [
      ['apply', 'runs'],
      ['apply', 'plan'],
      ['apply', 'verify'],
      ['apply', 'undo', 'none'],
      ['apply', 'undo', odd, ...json],
    ]) {
      const { stdout, stderr } = await scene.run(args);
      said += stdout + stderr;
    }
    said += scene.read('out.json');
    expect(said).toContain('\\u001b');
    expect(said).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e]/);
  });
});

describe('apply on NDJSON', () => {
  it('rewrites ids in lists and nested objects, and nothing else', async () => {
    const scene = makeScene();
    const line = (a: number, b: number, c: number) =>
      `{"n":${a},  "lines":[{"invoice":"${b}"},{"invoice":${c}}], "id": 1.50}\n`;
    writeFileSync(scene.path('orders.ndjson'), line(1, 2, 3) + line(4, 5, 6));
    const target = ['orders.ndjson', '--ids', '$.lines[*].invoice=accounting/invoices'];
    const done = await scene.run(['apply', 'write', ...target, '--yes']);
    expect(done).toMatchObject({ code: 0 });
    const [v2, v3, v5, v6] = [2, 3, 5, 6].map(scene.v4Of);
    expect(scene.read('orders.v4.ndjson')).toBe(line(1, v2 ?? 0, v3 ?? 0) + line(4, v5 ?? 0, v6 ?? 0));
    const undo = /^To undo it: svc-migrate (.*)$/m.exec(done.stdout)?.[1]?.split(' ') ?? [];
    expect(undo).toEqual(['apply', 'undo', runOf(done), 'orders.ndjson']);
    expect(await scene.run(undo)).toMatchObject({ code: 0 });
  });
});

describe('apply find', () => {
  it('proposes columns and paths with their evidence, and leaves small numbers alone', async () => {
    const scene = makeScene();
    const file = scene.path('shop.db');
    createOrders(file, [5, 17, 99, 140, 180], "invoice_id, quantity DEFAULT 3, note DEFAULT 'n'");
    query(file, 'CREATE TABLE docs(doc TEXT)');
    query(
      file,
      `INSERT INTO docs VALUES ('{"lines":[{"invoice_id":"7"},{"invoice_id":9}]}'), ('{"lines":[{"invoice_id":11}]}')`,
    );
    const scanned = await scene.run(['apply', 'find', 'shop.db', '--json', 'scan.json']);
    expect([scanned.code, scanned.stdout]).toEqual([
      0,
      expect.stringContaining('orders.invoice_id → accounting/invoices'),
    ]);
    const { apply } = JSON.parse(scene.read('scan.json'));
    expect(apply.targets).toEqual([
      {
        name: 'docs',
        kind: 'sqlite',
        file: 'shop.db',
        table: 'docs',
        ids: [{ column: 'doc', path: '$.lines[*].invoice_id', model: 'accounting/invoices' }],
      },
      { name: 'orders', kind: 'sqlite', file: 'shop.db', table: 'orders', ids: IDS },
    ]);
    const config = { ...JSON.parse(scene.read('svc-migrate.config.json')), apply };
    writeFileSync(scene.path('svc-migrate.config.json'), JSON.stringify(config));
    expect(await scene.run(['apply', 'write', 'orders', '--in-place', '--yes'])).toMatchObject({ code: 0 });
    const after = await scene.run(['apply', 'find']);
    expect(after.stdout).toMatch(/rewritten orders\.invoice_id: by run/);
  });
});
