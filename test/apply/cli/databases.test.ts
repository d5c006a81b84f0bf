import { mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { campaignCases } from '../../support/campaign.js';
import { ENGINES, only } from '../support/databases.js';
import { IDS, MAPPED, makeScene, openShop, runOf, type Scene, type Shop, upTo } from './scene.js';

const model = 'accounting/invoices';
/** Stands in the connection string; may stand nowhere else. */
const PASSWORD = 'canary-password';
/** A V3 id without a twin, and a number that is no id of the model. */
const [NO_TWIN, FOREIGN] = [181, 5000];
const NO_TWIN_REASON = 'unmatched/unexplained';
const TABLE = { sqlite: 'table orders', postgres: 'table "public"."orders"', mysql: 'table orders' };
const MODES = [
  { flags: '', column: 'invoice_id_v4' },
  { flags: ' --in-place', column: 'invoice_id' },
];

const textOf = (scene: Scene, ids: readonly (number | null)[]) =>
  ids.map((id) => (id === null ? null : String(scene.v4Of(id))));
const listed = (scene: Scene): unknown[] =>
  scene
    .read('left.ndjson')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

describe.each(ENGINES)('apply on a table in $product', (engine) => {
  it('carries out exactly the plan that was agreed to, once, and takes it back', async () => {
    const ids = [...upTo(MAPPED), null];
    const shop = await openShop(engine, ids);
    const before = await shop.orders();
    const planned = await shop.apply('plan --in-place --save plan.json');
    expect(planned.stdout).toContain(TABLE[engine.kind]);
    expect(await shop.database.ledger.tables()).toEqual([]);
    const done = await shop.apply('write --yes --plan plan.json');
    for (const words of [
      'write --yes --plan plan.json',
      'write --yes --in-place',
      'plan --in-place',
      'verify',
    ]) {
      expect(await shop.orders()).toEqual(textOf(shop, ids));
      await shop.apply(words);
    }
    const listed = await shop.json('runs');
    expect(listed).toMatchObject({ action: 'runs', runs: [{ run: runOf(done), state: 'done' }] });
    const unknown = await shop.apply('undo 20200101-000000-ffff', 2);
    expect(unknown.said).toContain(runOf(done));
    const undone = await shop.json(`undo ${runOf(done)}`);
    expect(undone).toMatchObject({ run: runOf(done), undone: [{ changedSince: [] }] });
    expect(await shop.orders()).toEqual(before);
  });

  it('refuses a plan when the data changed since', async () => {
    const shop = await openShop(engine);
    const before = await shop.database.dump();
    await shop.apply('plan --save plan.json');
    await shop.sql('UPDATE orders SET invoice_id = 4 WHERE id = 3');
    const refused = await shop.apply('write --yes --plan plan.json', 6);
    expect(refused.said).toContain('The data changed since the plan');
    await shop.sql('UPDATE orders SET invoice_id = 3 WHERE id = 3');
    expect(await shop.database.dump()).toBe(before);
  });

  it('fills a new column by default, and later what came since', async () => {
    const shop = await openShop(engine, [3, null, 1]);
    const before = await shop.database.dump();
    expect(await shop.json('plan')).toMatchObject({ action: 'plan', targets: [{ changes: 2 }] });
    const done = await shop.json('write orders --yes');
    expect(done).toMatchObject({ action: 'write', written: [{ changed: 2, alreadyDone: false }] });
    expect((await shop.apply('write --yes')).said).toContain('Nothing was left to do');
    await shop.sql('INSERT INTO orders(id, invoice_id) VALUES (4, 9)');
    expect((await shop.apply('plan')).said).toContain('1 cell with an id is empty in the new column');
    expect((await shop.apply('write --yes')).said).toMatch(/orders: 1 cell rewritten, run \S+ \(3 in all\)/);
    expect(await shop.sql('SELECT invoice_id_v4 FROM orders ORDER BY id')).toEqual(
      textOf(shop, [3, null, 1, 9]),
    );
    await shop.sql('DELETE FROM orders WHERE id = 4');
    await shop.apply('undo');
    expect(await shop.database.dump()).toBe(before);
  });

  it('lists what it left by the key of its row, and what came and changed since', async () => {
    const shop = await openShop(engine);
    const given = 'write --in-place --yes --unmapped left.ndjson';
    const run = runOf(await shop.apply(given));
    expect([(await shop.json(given)).left, listed(shop)]).toEqual([[], []]);
    await shop.sql('INSERT INTO orders(id, invoice_id) VALUES (4, 9)');
    await shop.sql('UPDATE orders SET invoice_id = 7777 WHERE id = 2');
    const since = [
      { kind: 'came_since', reason: 'mapped', cells: 1, isAccepted: false },
      { kind: 'changed_since', cells: 1, isAccepted: false },
    ];
    expect((await shop.json(given, 1)).left).toMatchObject(since);
    const rows = [
      { kind: 'came_since', value: '9', key: { id: '4' } },
      { kind: 'changed_since', value: '7777', key: { id: '2' } },
    ];
    expect(listed(shop)).toMatchObject(rows);
    const again = await shop.apply(given, 1);
    expect(again.said).toContain('1 cell not rewritten: added since the run');
    expect(again.said).toContain('--again');
    await shop.apply(`${given} --others keep`);
    expect((await shop.json('plan --in-place', 1)).left).toMatchObject(since);
    expect((await shop.apply('check', 1)).said).toContain('1 cell not rewritten: added since the run');
    // `--again` takes what came; what changed is never touched.
    expect((await shop.json(`${given} --again`, 1)).left).toMatchObject([
      { kind: 'changed_since', cells: 1 },
    ]);
    expect(await shop.orders()).toEqual(
      [1, 7777, 3, 9].map((id) => String(id === 7777 ? id : shop.v4Of(id))),
    );
    const undone = await shop.apply(`undo ${run}`, 1);
    expect([undone.said, await shop.orders()]).toEqual([
      expect.stringContaining('row 2'),
      ['1', '7777', '3', String(shop.v4Of(9))],
    ]);
  });
});

describe.each(campaignCases(ENGINES, 1))('what a run leaves in $product', (engine) => {
  it.each(MODES)(
    'is counted and listed by the policy that let it be ($column)',
    async ({ flags, column }) => {
      const shop = await openShop(engine, [1, 2, 3, NO_TWIN, NO_TWIN, FOREIGN, null]);
      const given = `write --yes${flags} --unmapped left.ndjson`;
      const refused = await shop.json(given, 1);
      expect(refused).toMatchObject({ written: [], blocks: [{ note: { code: 'missing' } }, {}] });
      expect([refused.left.length, listed(shop).length]).toEqual([2, 3]);
      const done = await shop.json(`${given} --missing keep --unknown keep`);
      const [kept, alone] = [
        { kind: 'kept', reason: NO_TWIN_REASON },
        { kind: 'left_alone', reason: 'unknown/not_in_remap' },
      ];
      expect(done.left).toMatchObject([
        { column: 'invoice_id', ...kept, cells: 2, isAccepted: true },
        { ...alone, cells: 1, isAccepted: true },
      ]);
      const again = await shop.apply(`${given} --missing keep --unknown keep`);
      expect(again.said).toContain(`2 cells kept without a V4 id: ${NO_TWIN_REASON}`);
      expect(listed(shop)).toEqual([
        expect.objectContaining({ target: 'orders', ...kept, value: String(NO_TWIN), key: { id: '4' } }),
        expect.objectContaining({ ...kept, key: { id: '5' } }),
        expect.objectContaining({ ...alone, value: String(FOREIGN), key: { id: '6' } }),
      ]);
      expect(statSync(shop.path('left.ndjson')).mode & 0o777).toBe(0o600);
      expect(await shop.sql(`SELECT count(*) FROM orders WHERE ${column} IS NOT NULL`)).toEqual([
        column === 'invoice_id' ? '6' : '3',
      ]);
      // The same command without the policy does not pass over what is left.
      await shop.apply(given, 1);
    },
  );

  it('counts emptied cells for as long as they are empty', async () => {
    const shop = await openShop(engine, [1, 2, 3, NO_TWIN]);
    for (const title of ['Done: run', 'Nothing was left to do.']) {
      const done = await shop.apply(
        'write --in-place --yes --missing null --unmapped left.ndjson --json out.json',
      );
      expect(done.said).toContain(title);
      const { left } = JSON.parse(shop.read('out.json'));
      expect(left).toMatchObject([{ kind: 'emptied', cells: 1, isAccepted: true }]);
      expect(listed(shop)).toMatchObject([{ kind: 'emptied', value: String(NO_TWIN), key: { id: '4' } }]);
    }
    expect(await shop.sql('SELECT count(*) FROM orders WHERE invoice_id IS NULL')).toEqual(['1']);
  });

  it('is listed by verify where others changed it, which exits with 1', async () => {
    for (const [flags, column] of MODES.map(({ flags, column }) => [flags, column] as const)) {
      const shop = await openShop(engine);
      await shop.apply(`write --yes${flags}`);
      expect(await shop.json('verify')).toMatchObject({ action: 'verify', verified: [{ checked: 3 }] });
      await shop.sql(`UPDATE orders SET ${column} = 7777 WHERE id = 2`);
      if (flags === '') await shop.sql(`UPDATE orders SET ${column} = NULL WHERE id = 3`);
      else await shop.sql('DELETE FROM orders WHERE id = 3');
      const { verified } = await shop.json('verify', 1);
      expect(verified).toMatchObject([
        flags === ''
          ? {
              wrong: ['invoice_id 2: invoice_id_v4 holds 7777'],
              changedSince: ['invoice_id 3: invoice_id_v4 is empty'],
            }
          : {
              checked: 3,
              wrongCount: 0,
              changedSinceCount: 2,
              changedSince: ['row 2: holds something other than what the run wrote', 'row 3 is gone'],
            },
      ]);
    }
  });

  it('is said where a V3 id changed beside its filled column, and where the column was dropped', async () => {
    const shop = await openShop(engine);
    const given = 'write --yes --unmapped left.ndjson';
    const run = runOf(await shop.apply(given));
    await shop.sql('UPDATE orders SET invoice_id = 8 WHERE id = 2');
    expect((await shop.json(given, 1)).left).toMatchObject([{ kind: 'changed_since', cells: 1 }]);
    expect(listed(shop)).toMatchObject([{ kind: 'changed_since', value: '8', key: { id: '2' } }]);
    await shop.sql('ALTER TABLE orders DROP COLUMN invoice_id_v4');
    for (const words of ['plan', 'write --yes'])
      expect((await shop.apply(words, 6)).said).toContain(
        `The column invoice_id_v4, which run ${run} filled, is gone.`,
      );
    const verified = await shop.apply('verify', 1);
    expect(verified.said).toContain('column invoice_id_v4 is gone');
    expect(verified.said).not.toContain('unfinished');
    for (const words of [`undo ${run}`, 'write --yes', 'verify']) await shop.apply(words);
  });

  it('is no list of a plan that fails, and none over the database', async () => {
    const shop = await openShop(engine);
    writeFileSync(shop.path('left.ndjson'), 'old');
    await shop.apply(
      `plan ${shop.target.replace('orders', 'none')} --unmapped left.ndjson --save none/plan.json`,
      6,
    );
    await shop.apply('plan --unmapped svc-migrate.db', 2);
  });
});

describe.each(campaignCases(ENGINES, 1))('a JSON column with several paths in $product', (engine) => {
  const BOTH = ['$.head.id', '$.lines[*].id'].map((path) => ({ column: 'doc', path, model }));
  const docOf = (head: number, lines: readonly number[]) =>
    JSON.stringify({ head: { id: head }, lines: lines.map((id) => ({ id })), note: 7 });
  /** Databases store JSON with spaces and an order of names of their own. */
  const docs = async (shop: Shop, column = 'doc') =>
    (await shop.sql(`SELECT ${column} FROM orders ORDER BY id`)).map((doc): unknown => JSON.parse(doc ?? ''));

  async function open(rows: readonly string[], ids: readonly object[] = BOTH): Promise<Shop> {
    const shop = await openShop(engine, [1, 2, 3], ids);
    await shop.sql(`ALTER TABLE orders ADD COLUMN doc ${engine.kind === 'sqlite' ? 'TEXT' : 'json'}`);
    for (const [at, doc] of rows.entries())
      await shop.sql(`UPDATE orders SET doc = '${doc}' WHERE id = ${at + 1}`);
    return shop;
  }

  it.each([
    { flags: '', column: 'doc_v4' },
    { flags: '--in-place', column: 'doc' },
  ])('is rewritten as a whole, once, and taken back ($column)', async ({ flags, column }) => {
    const rows = [[1, [2, 3]] as const, [2, []] as const, [3, [1]] as const];
    const shop = await open(rows.map(([head, lines]) => docOf(head, lines)));
    const [before, after] = [
      rows.map(([head, lines]): unknown => JSON.parse(docOf(head, lines))),
      rows.map(([head, lines]): unknown => JSON.parse(docOf(shop.v4Of(head), lines.map(shop.v4Of)))),
    ];
    const { targets } = await shop.json(`plan ${flags}`.trim());
    const newColumn = column === 'doc' ? null : 'doc_v4';
    expect(targets[0].columns).toMatchObject(
      BOTH.map(({ path }) => ({
        column: `doc ${path}`,
        model,
        newColumn,
        counts: [{ name: 'mapped', rows: 3 }],
      })),
    );
    expect(targets[0].definition.ids).toEqual(BOTH);
    for (const _ of ['first', 'again']) {
      await shop.apply(`write --yes ${flags}`.trim());
      expect(await docs(shop, column)).toEqual(after);
    }
    await shop.apply('verify');
    await shop.apply('undo');
    expect(await docs(shop)).toEqual(before);
  });

  it('counts and lists what is kept inside a rewritten cell', async () => {
    const shop = await open([docOf(1, [NO_TWIN, 2])]);
    for (const title of ['Done', 'Nothing was left to do']) {
      const done = await shop.apply('write --in-place --yes --missing keep --unmapped left.ndjson');
      expect(done.said).toContain(title);
      expect(done.said).toContain('orders, doc $.lines[*].id: 1 cell kept without a V4 id');
      const [column, reason] = ['doc $.lines[*].id', NO_TWIN_REASON];
      expect(listed(shop)).toEqual([
        { target: 'orders', column, kind: 'kept', reason, value: String(NO_TWIN), key: { id: '1' } },
      ]);
    }
  });

  it('is proposed as one target', async () => {
    const doc = (at: number) => JSON.stringify({ invoice_id: at, other: { invoice_id: at + 1 } });
    const shop = await open([doc(1), doc(2), doc(3)]);
    await shop.sql('ALTER TABLE orders RENAME COLUMN invoice_id TO plain');
    await shop.run(['apply', 'find', shop.place, '--table', 'orders', '--json', 'found.json']);
    const { targets } = JSON.parse(shop.read('found.json')).apply;
    expect(targets).toHaveLength(1);
    const paths = ['$.invoice_id', '$.other.invoice_id'];
    expect(targets[0].ids.map(({ path }: { path: string }) => path).sort()).toEqual(paths);
  });
});

describe.each(only('postgres', 'mysql'))('a server of $product', (engine) => {
  it('is looked at and judged as a user who may only read, who is told what writing needs', async () => {
    const shop = await openShop(engine);
    const { database } = shop;
    const reader =
      engine.kind === 'postgres'
        ? 'CREATE ROLE reader LOGIN; GRANT SELECT ON orders TO reader'
        : `CREATE USER 'reader'@'127.0.0.1' IDENTIFIED BY '${PASSWORD}'; GRANT SELECT ON ${database.name}.* TO 'reader'@'127.0.0.1'`;
    await database.run(`${reader}; CREATE VIEW orders_view AS SELECT * FROM orders`);
    const env = { SHOP_URL: database.url.replace(`//${engine.owner}:`, '//reader:') };
    await shop.apply('check', 0, { env });
    const planned = await shop.apply('plan --in-place', 6, { env });
    expect(planned.said).toContain('may not update these columns');
    const viewed = await shop.apply(`plan ${shop.target.replace('orders', 'orders_view')}`, 6);
    expect(viewed.said).toContain('is a view');
    await database.run(
      engine.kind === 'postgres'
        ? 'DROP OWNED BY reader; DROP ROLE reader'
        : "DROP USER 'reader'@'127.0.0.1'",
    );
  });

  it('never has its password said, whatever goes wrong', async () => {
    const shop = await openShop(engine);
    const { url } = shop.database;
    const broken = mkdtempSync('/tmp/svc-nowhere-');
    const urls =
      engine.kind === 'postgres'
        ? [`${url}?sslmode=verify-full&sslrootcert=${broken}/none`, url.replace('postgres://', 'mysql://')]
        : [
            `${url}?ssl-mode=VERIFY_IDENTITY&ssl-ca=${broken}/none`,
            `${url}?ssl-mode=VERIFY_IDENTITY`,
            url.replace('mysql://', 'postgres://'),
            url.replace(PASSWORD, `${PASSWORD}-wrong`),
            url.replace(/\/[^/]*$/, '/'),
          ];
    const nobody = url.replace(/:\d+\//, ':1/');
    let said = '';
    for (const SHOP_URL of [url, nobody, ...urls, url.replace('127.0.0.1', 'not a host'), `${url}-none`]) {
      const words = ['apply', 'plan', '--verbose', '--save', 'plan.json', '--json', 'out.json'];
      const ended = await shop.run(words, { env: { SHOP_URL } });
      said += `${ended.stdout}${ended.stderr}`;
      if (SHOP_URL === url) said += shop.read('plan.json') + shop.read('out.json');
      else expect([2, 6]).toContain(ended.code);
      // Named once.
      if (SHOP_URL === nobody)
        expect(ended.stderr).toMatch(/^.*could not be made \(127\.0\.0\.1:1\/shop\)\.\n/);
    }
    expect(said.length).toBeGreaterThan(1000);
    expect(said).not.toContain(PASSWORD);
  });
});

describe('apply on a SQLite table', () => {
  const [sqlite] = only('sqlite');

  it.runIf(sqlite)('stores platform_ids as the configuration says', async () => {
    if (sqlite === undefined) return;
    const shop = await openShop(sqlite, [3, NO_TWIN, 404, 1], [{ ...IDS[0], platformIdColumn: 'stable' }]);
    const before = await shop.database.dump();
    const keep = '--missing keep --unknown keep --in-place';
    expect((await shop.apply(`plan ${keep}`)).said).toContain('invoice_id → stable: platform_id');
    const done = await shop.spawn(`apply write ${keep} --yes`.split(' '), {});
    expect(await shop.sql('SELECT stable FROM orders ORDER BY id')).toEqual([
      'k3',
      `k${NO_TWIN}`,
      null,
      'k1',
    ]);
    // Options say where the table is; the ledger knows the rest.
    await shop.apply(`verify ${shop.place}`);
    await shop.apply(`undo ${runOf(done)} ${shop.place}`);
    expect(await shop.database.dump()).toEqual(before);
  });

  it.runIf(sqlite)('is gated on the ids that are really stored', async () => {
    if (sqlite === undefined) return;
    const shop = await openShop(sqlite, [1, 2, NO_TWIN, 1001, FOREIGN]);
    const failed = await shop.apply('check', 1);
    expect(failed.said).toContain('FAIL: Of 5 ids you store, 2 map; 3 do not');
    expect(await shop.json('check', 1)).toMatchObject({
      action: 'check',
      ids: { stored: 5, mapped: 2, missing: 1, unknown: 2 },
    });
    await shop.sql('DELETE FROM orders WHERE id > 2');
    await shop.apply('check');
    await shop.sql('DELETE FROM orders');
    await shop.apply('check', 1);
  });

  it.runIf(sqlite)('names an unfinished run in what verify finds', async () => {
    if (sqlite === undefined) return;
    const shop = await openShop(sqlite);
    await shop.apply('write --in-place --yes');
    await shop.database.ledger.editRuns({ state: "'working'" });
    expect(await shop.json('verify', 1)).toMatchObject({
      action: 'verify',
      unfinished: [{ state: 'working' }],
    });
  });

  it.runIf(sqlite)(
    'is not called free of ids while a run is unfinished, or where rows came since',
    async () => {
      if (sqlite === undefined) return;
      const shop = await openShop(sqlite);
      await shop.apply('write --in-place --yes');
      const done = 'There is no id left to map. By the ledger: 3 cells rewritten.';
      expect((await shop.apply('plan --in-place')).said).toContain(done);
      await shop.sql('INSERT INTO orders VALUES (4, 9)');
      const came = 'By the ledger: 3 cells rewritten, 1 cell left alone or added since.';
      expect((await shop.apply('check', 1)).said).toContain(`FAIL: ${came}`);
      await shop.database.ledger.editRuns({ state: "'working'", done: '1', changed: '1' });
      const open = 'By the ledger: 1 cell rewritten, 2 cells still to be rewritten.';
      for (const [words, code] of [
        ['plan --in-place', 0],
        ['check', 1],
      ] as const) {
        const { said } = await shop.apply(words, code);
        expect(said).toContain(open);
        expect(said).not.toContain('There is no id left');
      }
    },
  );
});

it('a plan ends with the command that carries it out', async () => {
  const scene = makeScene([{ name: 'orders', kind: 'csv', file: 'orders.csv', ids: IDS }]);
  writeFileSync(scene.path('orders.csv'), `invoice_id\n1\n${NO_TWIN}\n`);
  const options = '--missing keep --allow-incomplete';
  const planned = await scene.json(`plan ${options}`);
  expect(planned.next).toContain(options);
  const named = '--config svc-migrate.config.json';
  expect((await scene.json(`plan ${options} ${named}`)).next).toBe(`${planned.next} ${named}`);
  const done = await scene.json(`${planned.next.replace('svc-migrate apply ', '')} --yes`);
  expect(done).toMatchObject({ action: 'write', written: [{ changed: 2 }] });
});
