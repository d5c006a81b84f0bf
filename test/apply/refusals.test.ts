import { describe, expect, it } from 'vitest';
import { switchTargets, undoTargets, writeTargets } from '../../src/apply/run-apply.js';
import type { TableTarget } from '../../src/config/apply-targets.js';
import { SvcError } from '../../src/errors.js';
import { must } from '../../src/text/at.js';
import { campaignSize } from '../support/campaign.js';
import { CONNECTION, CYCLE, fakeRemap, id } from './support/scene.js';
import { serverShop, type TestServer, testServer } from './support/servers.js';

const remap = fakeRemap(CYCLE);

/** The commands as they judge what stands in the way. */
function commandsOf({ kind }: TestServer, url: string) {
  const target: TableTarget = { name: 'o', kind, urlEnv: 'SHOP', tls: 'verified', table: 'o', ids: [id()] };
  const context = {
    connection: { ...CONNECTION, lockTimeoutMs: 5000 },
    env: { SHOP: url },
    onProgress: () => {},
  };
  const selections = [{ kind: 'target', target }] as const;
  return {
    write: () => writeTargets([target], remap, { isPartial: false }, context),
    switch: () => switchTargets(selections, { isEmptying: false }, context),
    undo: () => undoTargets(selections, context),
  };
}

interface Case {
  readonly name: string;
  readonly sql: string;
  /** The command that is refused; null: all are carried out. */
  readonly refused: 'write' | 'switch' | null;
  /** What its error and hint say. */
  readonly says?: RegExp;
  /** A user without all rights. */
  readonly user?: string;
  /** Takes away what stands in the way; then the command works. */
  readonly repair?: string;
}

const ROWS = 'insert into o(id, item) values (1, 20), (2, 30), (3, 40)';
const PLAIN = `create table o(id int primary key, item int); ${ROWS}`;
const PARENTS = 'create table p(id int primary key); insert into p values (20), (30), (40)';
const wide = (count: number, type: string) =>
  Array.from({ length: count }, (_, at) => `c${at} ${type}`).join(', ');

const EVERYWHERE: readonly Case[] = [
  {
    name: 'a foreign key to a table without the V4 ids',
    sql: `create table p(id int primary key); insert into p values (20), (30), (40), (60); delete from p where id = 40;
      create table o(id int primary key, item int, foreign key (item) references p(id)); insert into o values (1, 20), (2, 30)`,
    refused: 'switch',
    says: /foreign key.*Drop the constraint/is,
    repair: 'insert into p values (40)',
  },
  {
    name: 'a foreign key that copies every change',
    sql: `create table o(id int primary key, item int unique); ${ROWS};
      create table child(id int primary key, item int, foreign key (item) references o(item) on update cascade); insert into child values (1, 20)`,
    refused: 'switch',
    says: /foreign key of .*child copies every change.*drop it/i,
  },
  {
    name: 'a foreign key to the same ids',
    sql: `${PARENTS}; create table o(id int primary key, item int, foreign key (item) references p(id)); ${ROWS}`,
    refused: null,
  },
  {
    name: 'a check of the ids',
    sql: `create table o(id int primary key, item int, constraint small check (item <= 40 and item <> 30)); insert into o values (1, 20)`,
    refused: 'switch',
    says: /small.*Drop the constraint/is,
  },
  { name: 'a view on the column', sql: `${PLAIN}; create view v as select item from o`, refused: null },
];

const POSTGRES: readonly Case[] = [
  {
    name: 'an event trigger that forbids changes of tables',
    sql: `${PLAIN}; create function no_ddl() returns event_trigger language plpgsql as $$ begin raise exception 'tables change by migrations only'; end $$;
      create event trigger no_ddl on ddl_command_start when tag in ('CREATE TABLE', 'ALTER TABLE') execute function no_ddl()`,
    refused: 'write',
    says: /tables change by migrations only.*remove the cause/is,
    repair: 'drop event trigger no_ddl',
  },
  {
    name: 'a collation that takes different texts for equal',
    sql: `create collation nd (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      create table o(id int primary key, item text collate nd); insert into o values (1, '20'), (2, '30')`,
    refused: null,
  },
  {
    name: 'a trigger that keeps the ids',
    sql: `${PLAIN}; create function keep() returns trigger language plpgsql as $$ begin new.item := old.item; return new; end $$;
      create trigger keep_ids before update on o for each row execute function keep()`,
    refused: 'switch',
    says: /trigger of public.o \(keep_ids\) keeps other ids.*Disable the trigger/is,
    repair: 'drop trigger keep_ids on o',
  },
  {
    name: 'a generated column',
    sql: `create table o(id int primary key, item int generated always as (id * 10) stored); insert into o(id) values (2)`,
    refused: 'write',
    says: /is generated.*Name another column/is,
  },
  {
    name: 'an identity that only the server sets',
    sql: `create table o(id int primary key, item int generated always as identity); insert into o(id) values (2)`,
    refused: 'write',
    says: /is generated.*Name another column/is,
  },
  {
    name: 'rights on a column only',
    sql: `${PLAIN}; grant select, update (item) on o to clerk; grant usage on schema public to clerk`,
    user: 'clerk',
    refused: 'write',
    says: /permission denied.*grant it the rights/is,
  },
  {
    name: 'a table of another owner',
    sql: `${PLAIN}; grant select, update on o to clerk; grant usage, create on schema public to clerk`,
    user: 'clerk',
    refused: 'write',
    says: /must be owner of table o.*grant it the rights/is,
  },
  {
    name: 'policies that hide rows',
    sql: `${PLAIN}; alter table o owner to clerk; grant usage, create on schema public to clerk;
      alter table o enable row level security; alter table o force row level security`,
    user: 'clerk',
    refused: 'write',
    says: /row-level security policy/,
  },
  {
    name: '1,599 columns, dropped ones included',
    sql: `create table o(id int primary key, item int, ${wide(1597, 'int')}); alter table o drop column c0, drop column c1, drop column c2; ${ROWS}`,
    refused: 'switch',
    says: /at most 1600 columns/,
  },
  {
    name: 'a partition of a table',
    sql: `create table whole(id int, item int) partition by range (id); create table o partition of whole for values from (0) to (9); ${ROWS}`,
    refused: 'write',
    says: /cannot add column to a partition/,
  },
  {
    name: 'a partitioned table without a partition for the new ids',
    sql: `create table o(id int, item int) partition by list (item); create table o1 partition of o for values in (20, 30, 40); create table o2 partition of o for values in (50);
      insert into o values (1, 50)`,
    refused: 'switch',
    says: /no partition of relation.*refuses the ids/is,
    repair: 'create table o3 partition of o for values in (51)',
  },
  {
    name: 'a view',
    sql: `create table t(id int, item int); create view o as select * from t`,
    refused: 'write',
    says: /not a table/,
  },
];

const MYSQL: readonly Case[] = [
  {
    name: 'a trigger that keeps the ids',
    sql: `${PLAIN}; create trigger keep_ids before update on o for each row set new.item = old.item`,
    refused: 'switch',
    says: /trigger of o \(keep_ids\) keeps other ids.*Disable the trigger/is,
    repair: 'drop trigger keep_ids',
  },
  {
    name: 'a trigger whose definer is gone',
    sql: `${PLAIN}; create definer = 'ghost'@'%' trigger tr before update on o for each row set new.id = new.id`,
    refused: 'write',
    says: /trigger belongs to a user that does not exist.*DEFINER/is,
    repair: 'drop trigger tr',
  },
  {
    name: 'a generated column',
    sql: `create table o(id int primary key, item int generated always as (id * 10) virtual); insert into o(id) values (2)`,
    refused: 'write',
    says: /is generated.*Name another column/is,
  },
  {
    name: 'rights on a column only',
    sql: `${PLAIN}; grant select, update (item) on o to 'clerk'@'127.0.0.1'`,
    user: 'clerk',
    refused: 'write',
    says: /denied.*grant it the rights/is,
  },
  {
    name: 'the most columns that a table has',
    sql: `create table o(id int primary key, item int, ${wide(1014, 'tinyint')}); insert into o(id, item) values (1, 20)`,
    refused: 'switch',
    says: /no room for another column|too many columns/i,
  },
  {
    name: 'full rows',
    sql: `create table o(id int primary key, item varchar(20), filler varchar(65490)) character set latin1; insert into o(id, item) values (1, '20')`,
    refused: 'write',
    says: /no room for another column/,
  },
  {
    name: 'a partitioned table without a partition for the new ids',
    sql: `create table o(id int, item int) partition by list (item) (partition a values in (20), partition b values in (50)); insert into o values (1, 50)`,
    refused: 'switch',
    says: /no partition.*remove the cause/is,
    repair: 'alter table o add partition (partition c values in (51))',
  },
  {
    name: 'a table without transactions',
    sql: `create table o(id int primary key, item int) engine = MyISAM; ${ROWS}`,
    refused: 'write',
    says: /no transactions: ALTER TABLE/,
  },
  {
    name: 'a view',
    sql: `create table t(id int, item int); create view o as select * from t`,
    refused: 'write',
    says: /is a view: name the table/,
  },
];

const PRODUCTS = [
  ['PostgreSQL', POSTGRES],
  ['MariaDB', MYSQL],
  ['MySQL', MYSQL],
] as const;

describe.each(PRODUCTS)('%s', (product, own) => {
  const server = campaignSize({ small: null, full: testServer(product) });

  it.skipIf(server?.kind !== 'postgres')('empties a column that a view uses, and says so', async () => {
    const found = must(server, 'server');
    const url = await found.createDatabase();
    const shop = serverShop(found, url);
    await shop.run(PLAIN);
    const run = commandsOf(found, url);
    await run.write();
    await shop.run('create view v as select * from o');
    const { undone } = await run.undo();
    expect(undone[0]?.emptied).toEqual([
      { column: 'item_v4', why: expect.stringMatching(/other objects depend on it/) },
    ]);
    expect((await shop.run('select item_v4 from v')).flat()).toEqual([null, null, null]);
  });

  it.skipIf(server === null).each([...EVERYWHERE, ...own])(
    '$name',
    async ({ sql, refused, says, user, repair }) => {
      const found = must(server, 'server');
      // Event triggers and rights outlive the tables of a database.
      const url = await found.createDatabase();
      await createClerk(found, url);
      const shop = serverShop(found, url);
      await shop.run(sql);
      const before = await shop.dump();
      const login = new URL(url);
      if (user !== undefined) login.username = user;
      const run = commandsOf(found, login.href);
      const values = () => shop.run('select id, item from o order by id');
      const cells = await values();
      if (refused !== 'write') await run.write();
      if (refused !== null) {
        const error: unknown = await run[refused]().catch((thrown: unknown) => thrown);
        if (!(error instanceof SvcError)) throw new Error(`not refused, but ${String(error)}`);
        expect(['bad_input', 'apply_stopped']).toContain(error.code);
        expect(`${error.message} ${error.hint ?? ''}`).toMatch(must(says, 'sentence'));
        expect(await values()).toEqual(cells);
        if (refused === 'write') await run.undo();
        if (refused === 'write') expect(await shop.dump()).toBe(before);
        if (repair === undefined) return;
        await shop.run(repair);
        if (refused === 'write') await run.write();
      }
      if (refused !== 'switch' || repair !== undefined) await run.switch();
      await run.undo();
      expect(await values()).toEqual(cells);
    },
  );
});

async function createClerk({ kind, run }: TestServer, url: string): Promise<void> {
  const sql =
    kind === 'postgres'
      ? 'do $$ begin create role clerk login; exception when duplicate_object then null; end $$'
      : "create user if not exists 'clerk'@'127.0.0.1' identified by 'canary-password'";
  await run(url, sql);
}
