import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../src/apply/db/database.js';
import { openPostgres } from '../../src/apply/db/postgres.js';
import { checkTable, isRight, planTable } from '../../src/apply/plan-and-check.js';
import { dropEmptyStates } from '../../src/apply/state.js';
import { switchTable, undoTable } from '../../src/apply/switch-columns.js';
import { openTable } from '../../src/apply/tables.js';
import { addColumns, fillTable, loadTable } from '../../src/apply/write-columns.js';
import { campaignSize } from '../support/campaign.js';
import { CONNECTION, CYCLE, fakeRemap, id } from './support/scene.js';
import { startPgBouncer, testServer } from './support/servers.js';

const server = campaignSize({ small: null, full: testServer('PostgreSQL') });
let pooler: Awaited<ReturnType<typeof startPgBouncer>> = null;
const remap = fakeRemap(CYCLE);

beforeAll(async () => {
  pooler = server === null ? null : await startPgBouncer(server, 4);
}, 60_000);
afterAll(() => pooler?.stop());

async function use<T>(url: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = await openPostgres({ ...CONNECTION, url, name: 'DB', tls: 'verified', mode: 'write' });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

const target = { name: 'o', table: 'o', ids: [id()] };
const open = (db: Database) => openTable(db, target);

async function write(db: Database): Promise<void> {
  const loaded = await loadTable(await open(db), remap, () => {});
  await addColumns(await open(db));
  await fillTable(await open(db), remap, loaded);
}

/** What the sessions of an application see: 8 clients that share the sessions of the pool. */
async function readSessions(url: string): Promise<string[]> {
  const clients = Array.from({ length: 8 }, () => new pg.Client({ connectionString: url }));
  for (const client of clients) await client.connect();
  // Transactions that overlap use every session of the pool.
  const settings = await Promise.all(
    clients.map(async (client) => {
      const { rows } = await client.query(
        `select concat_ws('|', current_setting('search_path'), current_setting('statement_timeout'), current_setting('lock_timeout'),
          current_setting('timezone'), current_setting('row_security'), current_setting('bytea_output'),
          (select count(*) from o), (select count(*) from pg_locks where locktype = 'advisory')) as text, pg_sleep(0.05)`,
      );
      return String(rows[0].text);
    }),
  );
  for (const client of clients) await client.end();
  return [...new Set(settings)];
}

it('works through a pooler in transaction mode, and changes no session of it', async (context) => {
  if (server === null || pooler === null) return context.skip();
  const direct = await server.createDatabase();
  await server.run(
    direct,
    'create table o(id int primary key, item int); insert into o values (1, 20), (2, 30), (3, 40)',
  );
  const url = `postgres://postgres:x@127.0.0.1:${pooler.port}${new URL(direct).pathname}?pgbouncer=true`;
  const plain = url.replace(/\?.*/, '');
  const before = await readSessions(plain);
  expect(before).toHaveLength(1);
  await use(url, async (db) => planTable(await open(db), remap, () => {}));
  expect(await readSessions(plain)).toEqual(before);
  await use(url, write);
  expect(await readSessions(plain)).toEqual(before);
  await use(url, async (db) => switchTable(await open(db), false));
  expect((await server.run(direct, 'select item from o order by id')).flat()).toEqual(['30', '40', '20']);
  expect((await use(url, async (db) => checkTable(await open(db), remap))).every(isRight)).toBe(true);
  await use(url, async (db) => {
    await undoTable(await open(db));
    await dropEmptyStates(db);
  });
  expect(await server.run(direct, 'select * from o order by id')).toEqual([
    ['1', '20'],
    ['2', '30'],
    ['3', '40'],
  ]);
  expect(await readSessions(plain)).toEqual(before);
});

it('writes the table of the schema that the address names, and no other', async (context) => {
  if (server === null) return context.skip();
  const url = await server.createDatabase();
  const table = (schema: string) =>
    `create table ${schema}.o(id int primary key, item int); insert into ${schema}.o values (1, 20), (2, 30)`;
  await server.run(url, `create schema tenant; ${table('public')}; ${table('tenant')}`);
  await use(`${url}?schema=tenant&connection_limit=5`, async (db) => {
    await write(db);
    await switchTable(await open(db), false);
  });
  expect((await server.run(url, 'select item from tenant.o order by id')).flat()).toEqual(['30', '40']);
  expect(await server.run(url, 'select * from public.o order by id')).toEqual([
    ['1', '20'],
    ['2', '30'],
  ]);
});

it('says that the schema is missing, not the table', async (context) => {
  if (server === null) return context.skip();
  const url = await server.createDatabase();
  await expect(use(`${url}?schema=tenent`, open)).rejects.toMatchObject({
    code: 'config',
    message: expect.stringContaining('no schema "tenent"'),
  });
});

it('says what a database without an encoding is, where it cannot be read exactly', async (context) => {
  if (server === null) return context.skip();
  const url = await server.createDatabase('old', "encoding 'SQL_ASCII' template template0");
  await server.run(
    url,
    "create table o(id int primary key, item text); insert into o values (1, '20'), (2, convert_from('\\xe9', 'SQL_ASCII'))",
  );
  await use(url, async (db) => {
    await expect(open(db).then((table) => planTable(table, remap, () => {}))).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining('SQL_ASCII'),
    });
  });
});

it('moves ids between partitions, and keeps unique keys', async (context) => {
  if (server === null) return context.skip();
  const url = await server.createDatabase();
  await server.run(
    url,
    `create table o(id int, item int, unique (item)) partition by range (item);
     create table o1 partition of o for values from (-100) to (35); create table o2 partition of o for values from (35) to (100);
     insert into o values (1, 20), (2, 30), (3, 40), (4, 50)`,
  );
  await use(url, async (db) => {
    await write(db);
    await switchTable(await open(db), false);
  });
  expect((await server.run(url, 'select item from o order by id')).flat()).toEqual(['30', '40', '20', '51']);
  await use(url, async (db) => undoTable(await open(db)));
  expect((await server.run(url, 'select item from o order by id')).flat()).toEqual(['20', '30', '40', '50']);
});
