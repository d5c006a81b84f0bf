import { mkdtempSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { connectMysql, MYSQL_PRODUCT, type MysqlServer, readMysql, startMysql } from '../support/mysql.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';
import { IDS, MAPPED, makeScene, runOf, type Scene, upTo } from './scene.js';

/** Stands in the connection string; may stand nowhere else. */
const PASSWORD = 'canary-password';

type Rows = (string | null)[][];

/** What differs between the servers. */
interface TestServer {
  readonly product: string;
  readonly kind: 'postgres' | 'mysql';
  readonly createOrders: string;
  /** The table as a plan names it. */
  readonly table: string;
  readonly hasLedger: string;
  readonly hasNewColumn: string;
  /** A user `reader` who may only read. */
  readonly createReader: (database: string) => readonly string[];
  readonly owner: string;
  /** Connection strings that lead nowhere. */
  readonly broken: (url: string, folder: string) => readonly string[];
  readonly server: Pick<MysqlServer, 'createDatabase'> | null;
  readonly query: (url: string, statements: readonly string[]) => Promise<Rows>;
}

const POSTGRES: TestServer = {
  product: 'PostgreSQL',
  kind: 'postgres',
  createOrders: 'CREATE TABLE orders(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, invoice_id bigint)',
  table: 'table "public"."orders"',
  hasLedger: "SELECT count(*) FROM pg_namespace WHERE nspname = 'svc_migrate'",
  hasNewColumn: "SELECT count(*) FROM pg_attribute WHERE attname = 'invoice_id_v4'",
  createReader: () => ['CREATE ROLE reader LOGIN', 'GRANT SELECT ON orders TO reader'],
  owner: 'postgres',
  broken: (url, folder) => [
    `${url}?sslmode=verify-full&sslrootcert=${folder}/none`,
    url.replace('postgres://', 'mysql://'),
  ],
  server: await startPostgres(),
  query: async (url, statements) => {
    const client = await connect(url);
    try {
      let rows: Rows = [];
      for (const sql of statements) rows = await readAll(client, sql);
      return rows;
    } finally {
      await client.end();
    }
  },
};

const MYSQL: TestServer = {
  product: MYSQL_PRODUCT,
  kind: 'mysql',
  createOrders: 'CREATE TABLE orders(id int AUTO_INCREMENT PRIMARY KEY, invoice_id bigint)',
  table: 'table orders',
  hasLedger:
    "SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'svc%'",
  hasNewColumn:
    "SELECT count(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND COLUMN_NAME = 'invoice_id_v4'",
  createReader: (database) => [
    `CREATE USER 'reader'@'127.0.0.1' IDENTIFIED BY '${PASSWORD}'`,
    `GRANT SELECT ON ${database}.* TO 'reader'@'127.0.0.1'`,
  ],
  owner: 'admin',
  broken: (url, folder) => [
    `${url}?ssl-mode=VERIFY_IDENTITY&ssl-ca=${folder}/none`,
    `${url}?ssl-mode=VERIFY_IDENTITY`,
    url.replace('mysql://', 'postgres://'),
    url.replace(PASSWORD, `${PASSWORD}-wrong`),
    url.replace(/\/[^/]*$/, '/'),
  ],
  server: await startMysql(),
  query: async (url, statements) => {
    const client = await connectMysql(url);
    try {
      let rows: Rows = [];
      for (const sql of statements) rows = await readMysql(client, sql);
      return rows;
    } finally {
      await client.end();
    }
  },
};

const ORDERS = ['SELECT invoice_id FROM orders ORDER BY id'];

describe.each([POSTGRES, MYSQL])('apply on a table in $product', (place) => {
  const { server, kind } = place;
  const app = { name: 'orders', kind, urlEnv: 'APP_DB', table: 'orders', ids: IDS };
  let databases = 0;

  /** A database with a table of orders, and a scene that knows its address. Skips the test where there is no server. */
  async function open(
    skip: (note?: string) => void,
    sql: (database: string) => readonly string[] = () => [],
  ): Promise<Scene & { readonly url: string }> {
    if (server === null) {
      skip(`${place.product} is not installed`);
      throw new Error('not reached');
    }
    databases += 1;
    const database = `cli_${databases}`;
    const url = await server.createDatabase(database);
    const scene = makeScene([app], { APP_DB: url });
    const values = upTo(MAPPED).map((id) => `(${id})`);
    await execute(url, [
      place.createOrders,
      `INSERT INTO orders(invoice_id) VALUES ${values.join(', ')}`,
      ...sql(database),
    ]);
    return { ...scene, url };
  }

  const execute = async (url: string, statements: readonly string[]) =>
    (await place.query(url, statements)).map(([value = null]) => value);

  it('plans, carries out once, verifies and takes back', async ({ skip }) => {
    const scene = await open(skip);
    const before = await execute(scene.url, ORDERS);
    const planned = await scene.run(['apply', 'plan', '--in-place', '--save', 'plan.json']);
    expect([planned.code, planned.stdout]).toEqual([0, expect.stringContaining(place.table)]);
    expect(await execute(scene.url, [place.hasLedger])).toEqual(['0']);
    const done = await scene.run(['apply', 'write', '--yes', '--plan', 'plan.json']);
    const after = upTo(MAPPED).map((id) => String(scene.v4Of(id)));
    expect([done.code, await execute(scene.url, ORDERS)]).toEqual([0, after]);
    const again = await scene.run(['apply', 'write', '--yes', '--in-place']);
    expect([again.code, await execute(scene.url, ORDERS)]).toEqual([0, after]);
    expect(await scene.run(['apply', 'verify'])).toMatchObject({ code: 0 });
    expect(await scene.run(['apply', 'undo', runOf(done)])).toMatchObject({ code: 0 });
    expect(await execute(scene.url, ORDERS)).toEqual(before);
  });

  it('refuses a plan when the data changed since', async ({ skip }) => {
    const scene = await open(skip);
    expect(await scene.run(['apply', 'plan', '--save', 'plan.json'])).toMatchObject({ code: 0 });
    await execute(scene.url, ['UPDATE orders SET invoice_id = 2 WHERE id = 1']);
    expect(await scene.run(['apply', 'write', '--yes', '--plan', 'plan.json'])).toMatchObject({ code: 6 });
    expect(await execute(scene.url, [place.hasNewColumn])).toEqual(['0']);
  });

  it('looks and judges as a user who may only read, and says what writing needs', async ({ skip }) => {
    const scene = await open(skip, (database) => [
      ...place.createReader(database),
      'CREATE VIEW orders_view AS SELECT * FROM orders',
    ]);
    const env = { APP_DB: scene.url.replace(`//${place.owner}:`, '//reader:') };
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

  it('lists what it left by the key of its row, and again what came since', async ({ skip }) => {
    const scene = await open(skip, () => ['INSERT INTO orders(invoice_id) VALUES (185)']);
    const left = ['--in-place', '--missing', 'keep', '--unmapped', 'left.ndjson'];
    expect(await scene.run(['apply', 'write', '--yes', ...left])).toMatchObject({ code: 0 });
    const listed = scene.read('left.ndjson').trim().split('\n');
    expect(listed.map((line) => JSON.parse(line))).toMatchObject([
      { column: 'invoice_id', kind: 'kept', value: '185', key: { id: '181' } },
    ]);
    await execute(scene.url, ['INSERT INTO orders(invoice_id) VALUES (7)']);
    expect(await scene.run(['apply', 'write', '--yes', ...left])).toMatchObject({ code: 1 });
    expect(scene.read('left.ndjson')).toContain('came_since');
    expect(await scene.run(['apply', 'write', '--yes', '--again', ...left])).toMatchObject({ code: 0 });
    expect((await execute(scene.url, ORDERS)).slice(-2)).toEqual(['185', String(scene.v4Of(7))]);
  });

  it('proposes the column that holds ids', async ({ skip }) => {
    const scene = await open(skip);
    const scanned = await scene.run(['apply', 'find', 'APP_DB', '--json', '-']);
    expect(scanned).toMatchObject({ code: 0 });
    expect(JSON.parse(scanned.stdout)).toMatchObject({
      apply: { targets: [{ kind, urlEnv: 'APP_DB', table: 'orders', ids: IDS }] },
    });
  });

  it('never says the password, whatever goes wrong', async ({ skip }) => {
    const scene = await open(skip);
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
