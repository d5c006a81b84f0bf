import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunFacts } from '../../../src/apply/context.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, INVOICES, NEW, openContext, pairs } from '../support/remap.js';
import { type SyncPlace, sqlitePlace, startSyncServers } from '../support/sync-places.js';

const folder = makeFolder();
const remap = join(folder, 'remap.db');
createRemap(
  remap,
  pairs([
    [5, 6],
    [6, 9_007_199_254_740_993n],
  ]),
);
const servers = await startSyncServers();

type Kind = SyncPlace['kind'];

interface Case {
  readonly name: string;
  readonly on?: readonly Kind[];
  /** Statements that make table `t`; by default it has the columns k, i and c. */
  readonly make?: (kind: Kind) => readonly string[];
  readonly isApplied?: boolean;
  /** Statements after `apply` filled the new column. */
  readonly after?: (kind: Kind) => readonly string[];
  readonly ids?: object;
  readonly target?: object;
  readonly finds: string;
}

const textOf = (kind: Kind) => (kind === 'mysql' ? 'varchar(40)' : 'text');
const PLAIN = (kind: Kind) => [`CREATE TABLE t(k int PRIMARY KEY, i bigint, c ${textOf(kind)})`];
const TEXT = (kind: Kind) => [`CREATE TABLE t(k int PRIMARY KEY, i ${textOf(kind)})`];
const SERVERS: readonly Kind[] = ['postgres', 'mysql'];

const CASES: readonly Case[] = [
  { name: 'a table that is not there', target: { table: 'gone' }, finds: 'unknown_table' },
  { name: 'ids in JSON', make: TEXT, ids: { path: '$.id' }, finds: 'sync_in_text' },
  { name: 'ids in text', make: TEXT, ids: { pattern: 'invoice:{id}' }, finds: 'sync_in_text' },
  {
    name: 'a view',
    make: (kind) => [...PLAIN(kind), 'CREATE VIEW v AS SELECT * FROM t'],
    target: { table: 'v' },
    finds: 'not_a_table',
  },
  {
    name: 'a generated company',
    make: (kind) => [
      `CREATE TABLE t(k int PRIMARY KEY, i bigint, c ${textOf(kind)} GENERATED ALWAYS AS ('1') ${kind === 'postgres' ? 'STORED' : 'VIRTUAL'})`,
    ],
    ids: { companyColumn: 'c' },
    finds: 'sync_generated',
  },
  {
    name: 'a column of that name that is not ours',
    make: (kind) => [...PLAIN(kind), 'ALTER TABLE t ADD COLUMN i_v4 bigint'],
    finds: 'new_column_exists',
  },
  {
    name: 'a unique new column',
    isApplied: true,
    after: () => ['CREATE UNIQUE INDEX i_once ON t(i_v4)'],
    finds: 'sync_constraint',
  },
  {
    name: 'a new column that is never null',
    on: SERVERS,
    isApplied: true,
    after: (kind) => [
      kind === 'mysql'
        ? 'ALTER TABLE t MODIFY i_v4 bigint NOT NULL'
        : 'ALTER TABLE t ALTER COLUMN i_v4 SET NOT NULL',
    ],
    finds: 'sync_not_null',
  },
  {
    name: 'a CHECK of the new column',
    on: SERVERS,
    isApplied: true,
    after: () => ['ALTER TABLE t ADD CONSTRAINT large CHECK (i_v4 > 1000 OR i_v4 IS NULL)'],
    finds: 'sync_check',
  },
  {
    name: 'V4 ids that do not fit',
    on: SERVERS,
    make: () => ['CREATE TABLE t(k int PRIMARY KEY, i int)'],
    finds: 'does_not_fit',
  },
  {
    name: 'a trigger of that name that is not ours',
    isApplied: true,
    after: (kind) =>
      kind === 'postgres'
        ? [
            `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
            'CREATE TRIGGER zz_svc_migrate_sync_1_0_before_insert BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()',
          ]
        : kind === 'mysql'
          ? ['CREATE TRIGGER svc_migrate_sync_1_0_before_insert BEFORE INSERT ON t FOR EACH ROW SET @x = 1']
          : ['CREATE TRIGGER svc_migrate_sync_1_0_insert AFTER INSERT ON t BEGIN SELECT 1; END'],
    finds: 'sync_foreign',
  },
  {
    name: 'a table of that name that is not ours',
    isApplied: true,
    after: (kind) => [
      `CREATE TABLE ${kind === 'postgres' ? 'svc_migrate.' : 'svc_migrate_'}sync_1_0_ids(mine int)`,
    ],
    finds: 'sync_foreign',
  },
  {
    name: 'a rule',
    on: ['postgres'],
    make: (kind) => [...PLAIN(kind), 'CREATE RULE r AS ON INSERT TO t DO ALSO NOTIFY x'],
    finds: 'rules',
  },
  {
    name: 'a trigger that fires after ours',
    on: ['postgres'],
    make: (kind) => [
      ...PLAIN(kind),
      `CREATE FUNCTION g() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.i := 5; RETURN NEW; END'`,
      'CREATE TRIGGER zzz BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION g()',
    ],
    finds: 'sync_order',
  },
  {
    name: 'ids that ON UPDATE changes',
    on: ['mysql'],
    make: () => [
      'CREATE TABLE p(id bigint PRIMARY KEY)',
      'CREATE TABLE t(k int PRIMARY KEY, i bigint, FOREIGN KEY (i) REFERENCES p(id) ON UPDATE CASCADE)',
    ],
    finds: 'sync_foreign_key',
  },
];

let databases = 0;

async function codesOf(place: SyncPlace, one: Case): Promise<string[]> {
  const context = openContext(remap, NEW);
  const target = place.target({ ids: [{ column: 'i', model: INVOICES, ...one.ids }], ...one.target });
  const store = place.open(context, [target]);
  try {
    if (one.isApplied === true)
      await store.write(await store.survey(), { run: 'run-1', planSha256: '', isExact: false });
    for (const sql of one.after?.(place.kind) ?? []) await place.sql(sql);
    const before = await place.objects();
    const run = { run: 'run-2', planSha256: '', isExact: false };
    const [plan] = (await store.sync?.({ turn: 'on', run: null })) ?? [];
    await expect(store.sync?.({ turn: 'on', run })).rejects.toMatchObject({ code: 'bad_input' });
    expect(await place.objects()).toEqual(before);
    return (plan?.notes ?? []).filter(({ level }) => level === 'blocks').map(({ code }) => code);
  } finally {
    await store.close();
    context.remap.close();
  }
}

const PLACES: readonly (readonly [Kind, ((name: string) => Promise<SyncPlace>) | null])[] = [
  ['sqlite', async (name) => sqlitePlace(folder, name)],
  ['postgres', servers.postgres],
  ['mysql', servers.mysql],
];

describe.each(PLACES)('--sync on in %s', (kind, open) => {
  it.skipIf(open === null).each(CASES.filter(({ on }) => on?.includes(kind) ?? true))(
    'refuses while planning: $name',
    async (one) => {
      databases += 1;
      const place = await open?.(`refused_${databases}`);
      if (place === undefined) return;
      for (const sql of (one.make ?? PLAIN)(kind)) await place.sql(sql);
      expect(await codesOf(place, one)).toContain(one.finds);
      await place.close();
    },
  );
});

it.skipIf(servers.mysql === null)('needs TRIGGER, and with a binary log SUPER, in MariaDB', async () => {
  const place = await servers.mysql?.('rights');
  if (place === undefined) return;
  await place.sql('CREATE TABLE t(k int PRIMARY KEY, i bigint)');
  const url = place.url.replace('//admin:', '//clerk:');
  await place.sql(`CREATE USER clerk@'127.0.0.1' IDENTIFIED BY 'canary-password'`);
  const all = 'SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, CREATE VIEW, CREATE TEMPORARY TABLES';
  await place.sql(`GRANT ${all} ON rights.* TO clerk@'127.0.0.1'`);
  const textsOf = async (run: RunFacts | null = null) => {
    const context = { ...openContext(remap, NEW), env: { TEST_URL: url } };
    const store = place.open(context, [place.target({ ids: [{ column: 'i', model: INVOICES }] })], url);
    try {
      const [plan] = (await store.sync?.({ turn: 'on', run })) ?? [];
      return (plan?.notes ?? []).map(({ text }) => text).join('\n');
    } finally {
      await store.close();
      context.remap.close();
    }
  };
  expect(await textsOf()).toMatch(/GRANT TRIGGER on the database/);
  await place.sql(`GRANT TRIGGER ON rights.* TO clerk@'127.0.0.1'`);
  expect(await textsOf()).toMatch(/^With its binary log.*SUPER/);
  await place.sql('SET GLOBAL log_bin_trust_function_creators = 1');
  expect(await textsOf({ run: 'run-1', planSha256: '', isExact: false })).toBe('');
  await place.sql('INSERT INTO t(k, i) VALUES (1, 5)');
  expect(await place.sql('SELECT i_v4 FROM t')).toEqual([['6']]);
  await place.sql('SET GLOBAL log_bin_trust_function_creators = 0');
  await place.close();
});
