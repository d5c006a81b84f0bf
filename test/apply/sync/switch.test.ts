import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DataStore } from '../../../src/apply/context.js';
import { makeFolder } from '../support/folder.js';
import { connectMysql } from '../support/mysql.js';
import { createRemap, INVOICES, NEW, openContext, pairs } from '../support/remap.js';
import { type SyncPlace, sqlitePlace, startSyncServers } from '../support/sync-places.js';

const folder = makeFolder();
const [first, second] = ['first.db', 'second.db'].map((name) => join(folder, name));
createRemap(
  first ?? '',
  pairs([
    [5, 50],
    [6, 60],
    [7, 70],
  ]),
);
createRemap(
  second ?? '',
  pairs([
    [5, 50],
    [6, 61],
    [8, 80],
  ]),
);
const models = join(folder, 'models.db');
createRemap(models, [
  { v3: 5, v4: 50, region: 'eu', company: 10 },
  { v3: 5, v4: 500, region: 'eu', company: 10, model: 'crm/companies' },
]);
const servers = await startSyncServers();

const RUN = { run: 'run-1', planSha256: '', isExact: false };

const I = { column: 'i', model: INVOICES };
const J = { column: 'j', model: 'crm/companies' };

async function withStore<T>(
  place: SyncPlace,
  work: (store: DataStore) => Promise<T>,
  remap = first,
  targets: readonly object[] = [{ ids: [I] }],
): Promise<T> {
  const context = openContext(remap ?? '', NEW, { batchRows: 2 });
  const store = place.open(context, targets.map(place.target));
  try {
    return await work(store);
  } finally {
    await store.close();
    context.remap.close();
  }
}

const turn = async (place: SyncPlace, to: 'on' | 'off', remap = first, targets?: readonly object[]) =>
  (await withStore(place, async (store) => store.sync?.({ turn: to, run: RUN }), remap, targets))?.[0];

const PLACES: readonly (readonly [SyncPlace['kind'], ((name: string) => Promise<SyncPlace>) | null])[] = [
  ['sqlite', async (name) => sqlitePlace(folder, name)],
  ['postgres', servers.postgres],
  ['mysql', servers.mysql],
];
let databases = 0;

describe.each(PLACES)('--sync in %s', (kind, open) => {
  const itIn = (name: string, work: (place: SyncPlace) => Promise<void>) =>
    it.skipIf(open === null)(name, async () => {
      databases += 1;
      const place = await open?.(`switch_${databases}`);
      if (place === undefined) return;
      await place.sql('CREATE TABLE t(k int PRIMARY KEY, i bigint)');
      await work(place);
      await place.close();
    });
  const cells = (place: SyncPlace) => place.sql('SELECT k, i_v4 FROM t ORDER BY k');

  itIn('takes the rows of a new remap, and says how many differ', async (place) => {
    expect(await turn(place, 'on')).toMatchObject({
      wasOn: false,
      refreshed: { added: 3, changed: 0, removed: 0 },
    });
    const made = await place.objects();
    expect(await turn(place, 'on')).toMatchObject({
      wasOn: true,
      makes: [],
      refreshed: { added: 0, changed: 0, removed: 0 },
    });
    await place.sql('INSERT INTO t(k, i) VALUES (1, 6)');
    expect(await turn(place, 'on', second)).toMatchObject({
      refreshed: { added: 1, changed: 1, removed: 1 },
    });
    expect(await place.objects()).toEqual(made);
    await place.sql('INSERT INTO t(k, i) VALUES (2, 6), (3, 7), (4, 8), (5, 5)');
    expect(await cells(place)).toEqual([
      ['1', '60'],
      ['2', '61'],
      ['3', null],
      ['4', '80'],
      ['5', '50'],
    ]);
  });

  itIn('is removed completely, once and again', async (place) => {
    await turn(place, 'on');
    await place.sql('INSERT INTO t(k, i) VALUES (1, 5), (2, 99)');
    expect(await turn(place, 'off')).toMatchObject({
      wasOn: true,
      unmappedCount: 1,
      unmapped: [{ column: 'i', row: '2', value: '99', reason: 'unknown' }],
    });
    expect(await place.objects()).toEqual([]);
    expect(await turn(place, 'off')).toMatchObject({ wasOn: false, removes: [], unmappedCount: 0 });
    await place.sql('INSERT INTO t(k, i) VALUES (3, 5)');
    expect(await cells(place)).toEqual([
      ['1', '50'],
      ['2', null],
      ['3', null],
    ]);
  });

  itIn('is removed by the undo of its run', async (place) => {
    await turn(place, 'on');
    await place.sql('INSERT INTO t(k, i) VALUES (1, 5)');
    await withStore(place, (store) => store.undo('run-1'));
    expect(await place.objects()).toEqual([]);
    await place.sql('INSERT INTO t(k, i) VALUES (2, 6)');
    await place.sql('UPDATE t SET i = 7 WHERE k = 1');
    expect(await place.sql('SELECT * FROM t ORDER BY k')).toEqual([
      ['1', '7'],
      ['2', '6'],
    ]);
  });

  itIn('leaves the values alone that the application writes itself', async (place) => {
    await turn(place, 'on');
    await place.sql('INSERT INTO t(k, i, i_v4) VALUES (1, 5, 111), (2, NULL, 222), (3, 5, NULL)');
    await place.sql('UPDATE t SET i = 6, i_v4 = 333 WHERE k = 3');
    expect(await cells(place)).toEqual([
      ['1', '111'],
      ['2', '222'],
      ['3', '333'],
    ]);
    await place.sql('UPDATE t SET i = 7');
    expect((await cells(place)).map(([, v4]) => v4)).toEqual(['70', '70', '70']);
  });

  itIn('keeps ids of a column rewritten in place from being looked up again', async (place) => {
    await turn(place, 'on');
    const context = openContext(first ?? '', { ...NEW, mode: 'in_place' });
    const store = place.open(context, [place.target({ ids: [{ column: 'i', model: INVOICES }] })]);
    const codes = (await store.survey()).flatMap(({ notes }) => notes.map(({ code }) => code));
    expect(codes).toContain('synced');
    await store.close();
    context.remap.close();
  });

  itIn('looks each column up in its own model, however targets list them', async (place) => {
    await place.sql('CREATE TABLE u(k int PRIMARY KEY, i bigint, j bigint)');
    const targetsOf = (...ids: object[]) => [{ table: 'u', ids }];
    await turn(place, 'on', models, targetsOf(I, J));
    await turn(place, 'on', models, targetsOf(J, I));
    await place.sql('INSERT INTO u(k, i, j) VALUES (1, 5, 5)');
    await turn(place, 'on', models, targetsOf(J));
    await place.sql('INSERT INTO u(k, i, j) VALUES (2, 5, 5)');
    expect(await place.sql('SELECT i_v4, j_v4 FROM u')).toEqual([
      ['50', '500'],
      ['50', '500'],
    ]);
    await turn(place, 'off', models, targetsOf(J));
    expect(await place.objects()).toEqual([]);
  });

  itIn('refuses triggers that look ids up by other columns', async (place) => {
    const text = kind === 'mysql' ? 'varchar(20)' : 'text';
    await place.sql(`CREATE TABLE u(k int PRIMARY KEY, i bigint, r ${text}, c ${text})`);
    const targetsOf = (more: object) => [{ table: 'u', ids: [{ ...I, ...more }] }];
    await turn(place, 'on', models, targetsOf({ regionColumn: 'r' }));
    for (const more of [{}, { companyColumn: 'c' }, { regionColumn: 'r', companyColumn: 'c' }])
      await expect(turn(place, 'on', models, targetsOf(more))).rejects.toThrow('made for another target');
    await turn(place, 'off', models, targetsOf({}));
    await turn(place, 'on', models, targetsOf({ companyColumn: 'c' }));
    await place.sql("INSERT INTO u(k, i, r, c) VALUES (1, 5, NULL, '10')");
    expect(await place.sql('SELECT i_v4 FROM u')).toEqual([['50']]);
  });

  itIn('fills columns of several targets on one table', async (place) => {
    await place.sql('CREATE TABLE u(k int PRIMARY KEY, i bigint, j bigint)');
    const [one, other] = [
      { name: 'one', table: 'u', ids: [I] },
      { name: 'other', table: 'u', ids: [J] },
    ];
    await turn(place, 'on', models, [one, other]);
    expect(await turn(place, 'on', models, [one, other])).toMatchObject({ wasOn: true, makes: [] });
    await place.sql('INSERT INTO u(k, i, j) VALUES (1, 5, 5)');
    await turn(place, 'off', models, [one]);
    await place.sql('INSERT INTO u(k, i, j) VALUES (2, 5, 5)');
    expect(await place.sql('SELECT i_v4, j_v4 FROM u ORDER BY k')).toEqual([
      ['50', '500'],
      [null, '500'],
    ]);
    await withStore(place, (store) => store.undo('run-1'), models, [one, other]);
    expect(await place.objects()).toEqual([]);
    expect(await place.sql('SELECT * FROM u WHERE k = 1')).toEqual([['1', '5', '5']]);
  });

  itIn('is removed by undo when the table is gone', async (place) => {
    await turn(place, 'on');
    await place.sql('DROP TABLE t');
    await withStore(place, (store) => store.undo('run-1'));
    expect(await place.objects()).toEqual([]);
  });

  if (kind === 'sqlite') return;
  itIn('is removed by off when the new column is gone, with what was recorded', async (place) => {
    await turn(place, 'on');
    await place.sql('INSERT INTO t(k, i) VALUES (1, 99)');
    await place.sql('ALTER TABLE t DROP COLUMN i_v4 CASCADE');
    expect(await turn(place, 'off')).toMatchObject({ unmapped: [{ row: null, value: '99' }] });
    expect(await place.objects()).toEqual([]);
  });

  itIn('refuses to go on beside a trigger that may change the id later', async (place) => {
    if (kind === 'postgres') {
      await place.sql('CREATE TABLE u(k int, i bigint) PARTITION BY RANGE (k)');
      await place.sql('CREATE TABLE part PARTITION OF u DEFAULT');
      await place.sql(
        `CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.i := 6; RETURN NEW; END'`,
      );
    } else await place.sql('CREATE TABLE u(k int, i bigint)');
    const targets = [{ table: 'u', ids: [I] }];
    await turn(place, 'on', first, targets);
    await place.sql(
      kind === 'postgres'
        ? 'CREATE TRIGGER zzz BEFORE INSERT ON part FOR EACH ROW EXECUTE FUNCTION f()'
        : 'CREATE TRIGGER zzz BEFORE INSERT ON u FOR EACH ROW SET NEW.i = 6',
    );
    await expect(turn(place, 'on', first, targets)).rejects.toThrow('The trigger zzz fires after ours');
    await turn(place, 'off', first, targets);
    if (kind === 'postgres') return;
    await turn(place, 'on', first, targets);
    await place.sql('INSERT INTO u VALUES (1, 5, NULL)');
    expect(await place.sql('SELECT * FROM u')).toEqual([['1', '6', '60']]);
  });

  itIn('works for an application that may use its table only', async (place) => {
    await turn(place, 'on');
    const at = databases;
    if (kind === 'postgres') {
      await place.sql(`CREATE ROLE app_${at}`);
      await place.sql(`GRANT SELECT, INSERT, UPDATE ON t TO app_${at}`);
      await place.sql(`SET ROLE app_${at}`);
      await place.sql('INSERT INTO t(k, i) VALUES (1, 5), (2, 9)');
      await place.sql('RESET ROLE');
    } else {
      await place.sql(`CREATE USER app IDENTIFIED BY 'canary-password'`);
      await place.sql(`GRANT SELECT, INSERT, UPDATE ON t TO app`);
      const app = await connectMysql(place.url.replace('//admin:', '//app:'));
      await app.query('INSERT INTO t(k, i) VALUES (1, 5), (2, 9)');
      await app.end();
    }
    expect(await cells(place)).toEqual([
      ['1', '50'],
      ['2', null],
    ]);
    expect(await turn(place, 'off')).toMatchObject({ unmappedCount: 1 });
  });

  if (kind === 'mysql') return;
  itIn('never fails a statement of the application', async (place) => {
    await turn(place, 'on');
    await place.sql('DROP TABLE svc_migrate.sync_1_0_ids, svc_migrate.sync_1_0_unmapped');
    await place.sql('INSERT INTO t(k, i) VALUES (1, 5)');
    expect(await cells(place)).toEqual([['1', null]]);
    expect(await turn(place, 'off')).toMatchObject({ wasOn: true });
    expect(await place.objects()).toEqual([]);
  });
});
