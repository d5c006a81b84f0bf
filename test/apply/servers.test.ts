import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkTable, isRight } from '../../src/apply/check-columns.js';
import type { Database } from '../../src/apply/db/database.js';
import { openMysql } from '../../src/apply/db/mysql.js';
import { openPostgres } from '../../src/apply/db/postgres.js';
import { dropEmptyStates } from '../../src/apply/state.js';
import { switchTable } from '../../src/apply/switch-columns.js';
import { openTable, openWrittenTables } from '../../src/apply/tables.js';
import { undoTable } from '../../src/apply/undo-columns.js';
import { fillTable, loadTable } from '../../src/apply/write-columns.js';
import type { IdColumn } from '../../src/config/apply-targets.js';
import { CONNECTION, CYCLE, type FakeMap, fakeRemap, id } from './support/scene.js';
import { startMariadb, startMysql, startPostgres, type TestServer } from './support/servers.js';

function openServer(kind: TestServer['kind'], url: string): Promise<Database> {
  const options = {
    ...CONNECTION,
    url,
    name: 'DB',
    tls: 'verified',
    mode: 'write',
    lockTimeoutMs: 5000,
  } as const;
  return kind === 'postgres' ? openPostgres(options) : openMysql(options);
}

async function use<T>(kind: TestServer['kind'], url: string, work: (db: Database) => Promise<T>): Promise<T> {
  const db = await openServer(kind, url);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

interface Job {
  readonly url: string;
  write(given?: FakeMap): ReturnType<typeof fillTable>;
  check(): ReturnType<typeof checkTable>;
  switch(isEmptying?: boolean): ReturnType<typeof switchTable>;
  undo(): ReturnType<typeof undoTable>;
}

function job(
  { kind }: Pick<TestServer, 'kind'>,
  url: string,
  {
    table = 'o',
    ids = [id()],
    map = CYCLE,
  }: { table?: string; ids?: readonly IdColumn[]; map?: FakeMap } = {},
): Job {
  const onWritten = <T>(work: (table: Awaited<ReturnType<typeof openTable>>) => Promise<T[]>): Promise<T[]> =>
    use(kind, url, async (db) => {
      const results: T[] = [];
      for (const opened of await openWrittenTables(db, null)) results.push(...(await work(opened)));
      await dropEmptyStates(db);
      return results;
    });
  return {
    url,
    write: (given = map) =>
      use(kind, url, async (db) => {
        const opened = await openTable(db, { name: table, table, ids });
        const loaded = await loadTable(opened, fakeRemap(given), () => {});
        return fillTable(await openTable(db, { name: table, table, ids }), fakeRemap(given), loaded);
      }),
    check: () => onWritten((opened) => checkTable(opened, fakeRemap(map))),
    switch: (isEmptying = false) => onWritten((opened) => switchTable(opened, isEmptying)),
    undo: () => onWritten((opened) => undoTable(opened)),
  };
}

const ROWS =
  "insert into o values (1, 20, 'a'), (2, 30, 'b'), (3, 40, 'c'), (4, 50, 'd'), (5, null, 'e'), (6, 20, 'f')";
const TABLES: Readonly<Record<string, string>> = {
  integers: 'create table o(id bigint primary key, item int, name varchar(20))',
  'big integers with an index':
    'create table o(id bigint primary key, item bigint, name varchar(20)); create index i on o(item)',
  'short texts': 'create table o(id bigint primary key, item varchar(20), name varchar(20))',
  'long texts': 'create table o(id bigint primary key, item text, name varchar(20))',
  decimals: 'create table o(id bigint primary key, item decimal(12,0), name varchar(20))',
  'unique integers': 'create table o(id bigint primary key, item int, name varchar(20), unique (item, name))',
};

const SERVERS = [
  ['PostgreSQL', startPostgres],
  ['MariaDB', startMariadb],
  ['MySQL', startMysql],
] as const;

describe.each(SERVERS)('%s', (_, start) => {
  let server: TestServer | null = null;
  let count = 0;
  beforeAll(async () => {
    server = await start();
  }, 120_000);
  afterAll(() => server?.stop());

  /** A test on a new database; skipped where the server is missing. */
  function on(name: string, work: (server: TestServer, url: string) => Promise<void>): void {
    it(name, { timeout: 60_000 }, async (context) => {
      if (server === null) return context.skip();
      count += 1;
      await work(server, await server.createDatabase(`shop${count}`));
    });
  }

  for (const [name, sql] of Object.entries(TABLES)) {
    on(`writes, checks, switches and takes back ${name}`, async (db, url) => {
      await db.run(url, `${sql}; ${ROWS}`);
      const run = job(db, url);
      const before = await db.run(url, 'select * from o order by id');
      await run.write();
      expect((await db.run(url, 'select item_v4 from o order by id')).flat()).toEqual([
        '30',
        '40',
        '20',
        '51',
        null,
        '30',
      ]);
      expect((await run.check()).every(isRight)).toBe(true);
      await run.write();
      await run.switch();
      expect(await db.run(url, 'select item, item_v3 from o order by id')).toEqual([
        ['30', '20'],
        ['40', '30'],
        ['20', '40'],
        ['51', '50'],
        [null, null],
        ['30', '20'],
      ]);
      expect((await run.check()).every(isRight)).toBe(true);
      await run.undo();
      expect(await db.run(url, 'select * from o order by id')).toEqual(before);
      const tables = await use(db.kind, url, (opened) => opened.listTables());
      expect(tables.map((table) => table.name)).toEqual(['o']);
    });
  }

  on('empties cells without a V4 id, keeps rows that were changed since', async (db, url) => {
    await db.run(url, `${TABLES['integers']}; ${ROWS}, (7, 60, 'g')`);
    const run = job(db, url);
    await run.write();
    await expect(run.switch()).rejects.toMatchObject({ name: 'RefusedSwitch' });
    await run.switch(true);
    await db.run(url, 'update o set item = 999 where id = 2; insert into o(id, item) values (8, 40)');
    expect((await run.check())[0]).toMatchObject({ changedSinceCount: 1, cameSince: 1, wrongCount: 0 });
    expect((await run.undo())[0]).toMatchObject({ changedSinceCount: 2 });
    expect((await db.run(url, 'select item from o order by id')).flat()).toEqual([
      '20',
      '999',
      '40',
      '50',
      null,
      '20',
      '60',
      '40',
    ]);
  });

  on('takes hostile names and texts, model and region from other columns', async (db, url) => {
    const q = (name: string) =>
      db.kind === 'postgres' ? `"${name.replaceAll('"', '""')}"` : `\`${name.replaceAll('`', '``')}\``;
    const table = `o"'\`; drop --`;
    const column = `it"e'm\`%s \\`;
    await db.run(
      url,
      `create table ${q(table)}(id int primary key, ${q(column)} varchar(40), kind varchar(40), region varchar(9));
       insert into ${q(table)} values (1, '20', 'a', 'eu'), (2, '20', 'a ', 'eu'), (3, '20', 'A', 'eu'), (4, 'a''); drop', 'a', 'eu'), (5, '20', 'a', null), (6, '20 ', 'a', 'eu'), (7, '', 'a', 'eu')`,
    );
    const ids = [
      id({
        column,
        modelColumn: 'kind',
        models: { a: 't/a', 'a ': 't/b', A: 't/c' },
        regionColumn: 'region',
      }),
    ];
    const run = job(db, url, { table, ids, map: { 't/a eu 20': 1, 't/b eu 20': 2, 't/c eu 20': 3 } });
    await run.write();
    expect((await db.run(url, `select ${q(`${column}_v4`)} from ${q(table)} order by id`)).flat()).toEqual([
      '1',
      '2',
      '3',
      null,
      null,
      null,
      null,
    ]);
    expect((await run.check())[0]).toMatchObject({ wrongCount: 0, missing: 0 });
    await run.switch(true);
    expect((await run.undo())[0]).toMatchObject({ changedSinceCount: 0 });
  });

  on('edits ids in JSON by place', async (db, url) => {
    await db.run(
      url,
      `create table o(id int primary key, item json); insert into o values (1, '{"ids": [20, 30], "n": 1}'), (2, '{"ids": []}'), (3, null)`,
    );
    const run = job(db, url, { ids: [id({ path: '$.ids[*]' })] });
    await run.write();
    const cells = (await db.run(url, 'select item_v4 from o order by id')).flat();
    expect(cells.map((cell) => (cell === null ? null : JSON.parse(cell)))).toEqual([
      { ids: [30, 40], n: 1 },
      { ids: [] },
      null,
    ]);
    await run.switch();
    expect((await run.check()).every(isRight)).toBe(true);
    await run.undo();
  });

  on('switches NOT NULL columns; --empty is refused as a whole', async (db, url) => {
    await db.run(
      url,
      'create table o(id int primary key, item int not null); insert into o values (1, 20), (2, 60)',
    );
    const run = job(db, url);
    await run.write();
    await expect(run.switch(true)).rejects.toMatchObject({ code: 'bad_input' });
    expect((await db.run(url, 'select item from o order by id')).flat()).toEqual(['20', '60']);
    await db.run(url, 'delete from o where id = 2');
    await run.switch();
    await run.undo();
    expect(await db.run(url, 'select * from o')).toEqual([['1', '20']]);
  });

  on('leaves generated columns alone and refuses to write them', async (db, url) => {
    await db.run(
      url,
      'create table o(id int primary key, item int, twice int generated always as (item * 2) stored); insert into o(id, item) values (1, 20)',
    );
    await expect(job(db, url, { ids: [id({ column: 'twice' })] }).write()).rejects.toMatchObject({
      code: 'bad_input',
    });
    const run = job(db, url);
    await run.write();
    await run.switch();
    expect((await db.run(url, 'select twice from o')).flat()).toEqual(['60']);
    await run.undo();
    expect(await db.run(url, 'select * from o')).toEqual([['1', '20', '40']]);
  });

  on('tells a table from one whose name has its schema in it', async (db, url) => {
    if (db.kind !== 'postgres') return;
    await db.run(
      url,
      'create table o(id int primary key, item int); create table "public.o"(id int); insert into o values (1, 20)',
    );
    const run = job(db, url);
    await run.write();
    await run.switch();
    expect(await db.run(url, 'select item from o')).toEqual([['30']]);
    await run.undo();
    expect(await db.run(url, 'select * from o')).toEqual([['1', '20']]);
  });

  on('has one owner of a column when three first writers come at once', async (db, url) => {
    for (let round = 0; round < 4; round += 1) {
      await db.run(url, `drop table if exists o; ${TABLES['integers']}; ${ROWS}`);
      const run = job(db, url);
      const results = await Promise.allSettled([run.write(), run.write(), run.write()]);
      const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
      expect(failures.map((error) => error.code)).toEqual(failures.map(() => 'locked'));
      expect(failures.length).toBeLessThan(3);
      await run.write();
      expect((await run.check()).map(isRight)).toEqual([true]);
      await run.undo();
      expect((await use(db.kind, url, (opened) => opened.listTables())).map((table) => table.name)).toEqual([
        'o',
      ]);
    }
  });

  on('refuses parameters of the address that it does not honour', async (db, url) => {
    for (const more of [
      '?shema=tenant',
      '?connection_limit=0',
      '?sslmode=off&ssl-mode=off',
      '?replication=database',
      '?timezone=x',
    ]) {
      await expect(openServer(db.kind, url + more)).rejects.toMatchObject({ code: 'config', exitCode: 2 });
    }
    await (await openServer(db.kind, `${url}?connection_limit=5&pool_timeout=3`)).close();
  });

  on('says before it writes what MySQL would refuse', async (db, url) => {
    if (db.kind === 'postgres') return;
    const columns = Array.from({ length: 1015 }, (_, index) => `c${index} tinyint`).join(', ');
    await db.run(
      url,
      `create table o(id int primary key, item int, ${columns}); insert into o(id, item) values (1, 20)`,
    );
    const codes = () =>
      use(db.kind, url, async (opened) => (await opened.introspect('o'))?.obstacles.map(({ code }) => code));
    expect(await codes()).toEqual(['too_many_columns']);
    await db.run(
      url,
      'drop table o; create table o(id int primary key, item int); insert into o values (1, 20)',
    );
    await db.run(
      url,
      "create definer = 'ghost'@'%' trigger tr before update on o for each row set new.id = new.id",
    );
    expect(await codes()).toEqual(['lost_definer']);
    await db.run(
      url,
      'drop table o; create table o(id int primary key, item varchar(20), filler varchar(65490)) character set latin1; insert into o(id, item) values (1, 20)',
    );
    await expect(job(db, url).write()).rejects.toMatchObject({ code: 'bad_input' });
    await job(db, url).undo();
    expect(await db.run(url, 'select * from o')).toEqual([['1', '20', null]]);
  });
});
