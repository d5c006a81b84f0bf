import { mkdtempSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, connect, readAll, startPostgres } from '../support/postgres.js';
import { IDS, MAPPED, makeScene, runOf, type Scene, upTo } from './scene.js';

const APP = { name: 'orders', kind: 'postgres', urlEnv: 'APP_DB', table: 'orders', ids: IDS };
/** Stands in the connection string; may stand nowhere else. */
const PASSWORD = 'canary-password';

let cluster: Cluster | null;
let databases = 0;

beforeAll(async () => {
  cluster = await startPostgres();
});
afterAll(() => cluster?.stop());

/** A database with a table of orders, and a scene that knows its address. Skips the test where there is no server. */
async function open(
  skip: (note?: string) => void,
  sql: readonly string[] = [],
): Promise<Scene & { readonly url: string }> {
  if (cluster === null) {
    skip('PostgreSQL is not installed');
    throw new Error('not reached');
  }
  databases += 1;
  const url = await cluster.createDatabase(`cli_${databases}`);
  const scene = makeScene([APP], { APP_DB: url });
  const values = upTo(MAPPED).map((id) => `(${id})`);
  await execute(url, [
    'CREATE TABLE orders(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, invoice_id bigint)',
    `INSERT INTO orders(invoice_id) VALUES ${values.join(', ')}`,
    ...sql,
  ]);
  return { ...scene, url };
}

async function execute(url: string, statements: readonly string[]): Promise<(string | null)[]> {
  const client = await connect(url);
  try {
    let rows: (string | null)[][] = [];
    for (const sql of statements) rows = await readAll(client, sql);
    return rows.map(([value = null]) => value);
  } finally {
    await client.end();
  }
}

const ORDERS = ['SELECT invoice_id FROM orders ORDER BY id'];

describe('apply on a PostgreSQL table', () => {
  it('plans, carries out once, verifies and takes back', async ({ skip }) => {
    const scene = await open(skip);
    const before = await execute(scene.url, ORDERS);
    const planned = await scene.run(['apply', '--in-place', '--plan', 'plan.json']);
    expect([planned.code, planned.stdout]).toEqual([0, expect.stringContaining('table "public"."orders"')]);
    expect(
      await execute(scene.url, ["SELECT count(*) FROM pg_namespace WHERE nspname = 'svc_migrate'"]),
    ).toEqual(['0']);
    const done = await scene.run(['apply', '--yes', '--plan', 'plan.json']);
    const after = upTo(MAPPED).map((id) => String(scene.v4Of(id)));
    expect([done.code, await execute(scene.url, ORDERS)]).toEqual([0, after]);
    const again = await scene.run(['apply', '--yes', '--in-place']);
    expect([again.code, await execute(scene.url, ORDERS)]).toEqual([0, after]);
    expect(await scene.run(['apply', '--verify'])).toMatchObject({ code: 0 });
    expect(await scene.run(['undo', runOf(done)])).toMatchObject({ code: 0 });
    expect(await execute(scene.url, ORDERS)).toEqual(before);
  });

  it('refuses a plan when the data changed since', async ({ skip }) => {
    const scene = await open(skip);
    expect(await scene.run(['apply', '--plan', 'plan.json'])).toMatchObject({ code: 0 });
    await execute(scene.url, ['UPDATE orders SET invoice_id = 2 WHERE id = 1']);
    expect(await scene.run(['apply', '--yes', '--plan', 'plan.json'])).toMatchObject({ code: 6 });
    expect(
      await execute(scene.url, ["SELECT count(*) FROM pg_attribute WHERE attname = 'invoice_id_v4'"]),
    ).toEqual(['0']);
  });

  it('looks and judges as a user who may only read, and says what writing needs', async ({ skip }) => {
    const scene = await open(skip, [
      'CREATE ROLE reader LOGIN',
      'GRANT SELECT ON orders TO reader',
      'CREATE VIEW orders_view AS SELECT * FROM orders',
    ]);
    const env = { APP_DB: scene.url.replace('postgres:', 'postgres:').replace('//postgres:', '//reader:') };
    expect(await scene.run(['apply', '--check'], { env })).toMatchObject({ code: 0 });
    const planned = await scene.run(['apply', '--in-place'], { env });
    expect([planned.code, planned.stdout]).toEqual([
      6,
      expect.stringContaining('may not update these columns'),
    ]);
    const view = [
      '--postgres-env',
      'APP_DB',
      '--table',
      'orders_view',
      '--ids',
      'invoice_id=accounting/invoices',
    ];
    const viewed = await scene.run(['apply', ...view]);
    expect([viewed.code, viewed.stdout]).toEqual([6, expect.stringContaining('is a view')]);
  });

  it('proposes the column that holds ids', async ({ skip }) => {
    const scene = await open(skip);
    const scanned = await scene.run(['apply', '--scan', '--postgres-env', 'APP_DB', '--json', '-']);
    expect(scanned).toMatchObject({ code: 0 });
    expect(JSON.parse(scanned.stdout)).toMatchObject({
      apply: { targets: [{ kind: 'postgres', urlEnv: 'APP_DB', table: 'orders', ids: IDS }] },
    });
  });

  it('never says the password, whatever goes wrong', async ({ skip }) => {
    const scene = await open(skip);
    const broken = mkdtempSync('/tmp/svc-nowhere-');
    const urls = [
      scene.url,
      scene.url.replace(/:\d+\//, ':1/'),
      `${scene.url}?sslmode=verify-full&sslrootcert=${broken}/none`,
      scene.url.replace('postgres://', 'mysql://'),
      scene.url.replace('127.0.0.1', 'not a host'),
      `${scene.url}-none`,
    ];
    let said = '';
    for (const url of urls) {
      const ended = await scene.run(['apply', '--verbose', '--plan', 'plan.json', '--json', 'out.json'], {
        env: { APP_DB: url },
      });
      said += `${ended.stdout}${ended.stderr}`;
      if (url === scene.url) said += scene.read('plan.json') + scene.read('out.json');
      else expect([2, 6]).toContain(ended.code);
    }
    expect(said.length).toBeGreaterThan(1000);
    expect(said).not.toContain(PASSWORD);
  });
});
