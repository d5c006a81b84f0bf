import { mkdtempSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { type Database, only } from '../support/databases.js';
import { IDS, MAPPED, makeScene, runOf, upTo } from './scene.js';

/** Stands in the connection string; may stand nowhere else. */
const PASSWORD = 'canary-password';

/** What differs between the servers. */
const WORDS = {
  postgres: {
    createOrders: 'CREATE TABLE orders(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, invoice_id bigint)',
    /** The table as a plan names it. */
    table: 'table "public"."orders"',
    hasLedger: "SELECT count(*) FROM pg_namespace WHERE nspname = 'svc_migrate'",
    hasNewColumn: "SELECT count(*) FROM pg_attribute WHERE attname = 'invoice_id_v4'",
    /** A user `reader` who may only read. */
    createReader: () => ['CREATE ROLE reader LOGIN', 'GRANT SELECT ON orders TO reader'],
    /** Connection strings that lead nowhere. */
    broken: (url: string, folder: string) => [
      `${url}?sslmode=verify-full&sslrootcert=${folder}/none`,
      url.replace('postgres://', 'mysql://'),
    ],
  },
  mysql: {
    createOrders: 'CREATE TABLE orders(id int AUTO_INCREMENT PRIMARY KEY, invoice_id bigint)',
    table: 'table orders',
    hasLedger:
      "SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'svc%'",
    hasNewColumn:
      "SELECT count(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND COLUMN_NAME = 'invoice_id_v4'",
    createReader: (database: string) => [
      `CREATE USER 'reader'@'127.0.0.1' IDENTIFIED BY '${PASSWORD}'`,
      `GRANT SELECT ON ${database}.* TO 'reader'@'127.0.0.1'`,
    ],
    broken: (url: string, folder: string) => [
      `${url}?ssl-mode=VERIFY_IDENTITY&ssl-ca=${folder}/none`,
      `${url}?ssl-mode=VERIFY_IDENTITY`,
      url.replace('mysql://', 'postgres://'),
      url.replace(PASSWORD, `${PASSWORD}-wrong`),
      url.replace(/\/[^/]*$/, '/'),
    ],
  },
};

const ORDERS = 'SELECT invoice_id FROM orders ORDER BY id';

describe.each(only('postgres', 'mysql'))('apply on a table in $product', (engine) => {
  const kind = engine.kind === 'mysql' ? 'mysql' : 'postgres';
  const place = WORDS[kind];
  const app = { name: 'orders', kind, urlEnv: 'APP_DB', table: 'orders', ids: IDS };
  let databases = 0;
  let database: Database | null = null;
  afterEach(() => database?.close());

  /** A database with a table of orders, and a scene that knows its address. `execute`: the values of the first column. */
  async function open(sql: (database: string) => readonly string[] = () => []) {
    databases += 1;
    const own = await engine.createDatabase(`cli_${databases}`);
    database = own;
    const values = upTo(MAPPED).map((id) => `(${id})`);
    const fill = `INSERT INTO orders(invoice_id) VALUES ${values.join(', ')}`;
    for (const statement of [place.createOrders, fill, ...sql(own.name)]) await own.query(statement);
    const execute = async (statement: string) => (await own.query(statement)).map(([value = null]) => value);
    return { ...makeScene([app], { APP_DB: own.url }), url: own.url, execute };
  }

  it('plans, carries out once, verifies and takes back', async () => {
    const scene = await open();
    const before = await scene.execute(ORDERS);
    const planned = await scene.run(['apply', 'plan', '--in-place', '--save', 'plan.json']);
    expect([planned.code, planned.stdout]).toEqual([0, expect.stringContaining(place.table)]);
    expect(await scene.execute(place.hasLedger)).toEqual(['0']);
    const done = await scene.run(['apply', 'write', '--yes', '--plan', 'plan.json']);
    const after = upTo(MAPPED).map((id) => String(scene.v4Of(id)));
    expect([done.code, await scene.execute(ORDERS)]).toEqual([0, after]);
    const again = await scene.run(['apply', 'write', '--yes', '--in-place']);
    expect([again.code, await scene.execute(ORDERS)]).toEqual([0, after]);
    expect(await scene.run(['apply', 'verify'])).toMatchObject({ code: 0 });
    expect(await scene.run(['apply', 'undo', runOf(done)])).toMatchObject({ code: 0 });
    expect(await scene.execute(ORDERS)).toEqual(before);
  });

  it('refuses a plan when the data changed since', async () => {
    const scene = await open();
    expect(await scene.run(['apply', 'plan', '--save', 'plan.json'])).toMatchObject({ code: 0 });
    await scene.execute('UPDATE orders SET invoice_id = 2 WHERE id = 1');
    expect(await scene.run(['apply', 'write', '--yes', '--plan', 'plan.json'])).toMatchObject({ code: 6 });
    expect(await scene.execute(place.hasNewColumn)).toEqual(['0']);
  });

  it('looks and judges as a user who may only read, and says what writing needs', async () => {
    const scene = await open((database) => [
      ...place.createReader(database),
      'CREATE VIEW orders_view AS SELECT * FROM orders',
    ]);
    const env = { APP_DB: scene.url.replace(`//${engine.owner}:`, '//reader:') };
    expect(await scene.run(['apply', 'check'], { env })).toMatchObject({ code: 0 });
    const planned = await scene.run(['apply', 'plan', '--in-place'], { env });
    expect([planned.code, planned.stdout]).toEqual([
      6,
      expect.stringContaining('may not update these columns'),
    ]);
    const view = ['APP_DB', '--table', 'orders_view', '--ids', 'invoice_id=accounting/invoices'];
    const viewed = await scene.run(['apply', 'plan', ...view]);
    expect([viewed.code, viewed.stdout]).toEqual([6, expect.stringContaining('is a view')]);
  });

  it('lists what it left by the key of its row, and again what came since', async () => {
    const scene = await open(() => ['INSERT INTO orders(invoice_id) VALUES (185)']);
    const left = ['--in-place', '--missing', 'keep', '--unmapped', 'left.ndjson'];
    expect(await scene.run(['apply', 'write', '--yes', ...left])).toMatchObject({ code: 0 });
    const listed = scene.read('left.ndjson').trim().split('\n');
    expect(listed.map((line) => JSON.parse(line))).toMatchObject([
      { column: 'invoice_id', kind: 'kept', value: '185', key: { id: '181' } },
    ]);
    await scene.execute('INSERT INTO orders(invoice_id) VALUES (7)');
    expect(await scene.run(['apply', 'write', '--yes', ...left])).toMatchObject({ code: 1 });
    expect(scene.read('left.ndjson')).toContain('came_since');
    expect(await scene.run(['apply', 'write', '--yes', '--again', ...left])).toMatchObject({ code: 0 });
    expect((await scene.execute(ORDERS)).slice(-2)).toEqual(['185', String(scene.v4Of(7))]);
  });

  it('proposes the column that holds ids', async () => {
    const scene = await open();
    const scanned = await scene.run(['apply', 'find', 'APP_DB', '--json', '-']);
    expect(scanned).toMatchObject({ code: 0 });
    expect(JSON.parse(scanned.stdout)).toMatchObject({
      apply: { targets: [{ kind, urlEnv: 'APP_DB', table: 'orders', ids: IDS }] },
    });
  });

  it('never says the password, whatever goes wrong', async () => {
    const scene = await open();
    const broken = mkdtempSync('/tmp/svc-nowhere-');
    const urls = [
      scene.url,
      scene.url.replace(/:\d+\//, ':1/'),
      ...place.broken(scene.url, broken),
      scene.url.replace('127.0.0.1', 'not a host'),
      `${scene.url}-none`,
    ];
    let said = '';
    for (const url of urls) {
      const ended = await scene.run(
        ['apply', 'plan', '--verbose', '--save', 'plan.json', '--json', 'out.json'],
        {
          env: { APP_DB: url },
        },
      );
      said += `${ended.stdout}${ended.stderr}`;
      if (url === scene.url) said += scene.read('plan.json') + scene.read('out.json');
      else expect([2, 6]).toContain(ended.code);
    }
    expect(said.length).toBeGreaterThan(1000);
    expect(said).not.toContain(PASSWORD);
  });
});
