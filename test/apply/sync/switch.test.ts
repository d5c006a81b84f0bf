import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { DataStore } from '../../../src/apply/context.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { connectMysql } from '../support/mysql.js';
import { createRemap, INVOICES, NEW, openContext, pairs } from '../support/remap.js';
import { type SyncPlace, sqlitePlace, startSyncServers } from '../support/sync-places.js';

const folder = makeFastFolder();
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
const servers = await startSyncServers();
afterAll(async () => {
  await servers.stop();
  rmSync(folder, { recursive: true, force: true });
});

const RUN = { run: 'run-1', planSha256: '', isExact: false };

async function withStore<T>(
  place: SyncPlace,
  work: (store: DataStore) => Promise<T>,
  remap = first,
): Promise<T> {
  const context = openContext(remap ?? '', NEW, { batchRows: 2 });
  const store = place.open(context, [place.target({ ids: [{ column: 'i', model: INVOICES }] })]);
  try {
    return await work(store);
  } finally {
    await store.close();
    context.remap.close();
  }
}

const turn = async (place: SyncPlace, to: 'on' | 'off', remap = first) =>
  (await withStore(place, async (store) => store.sync?.({ turn: to, run: RUN }), remap))?.[0];

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

  if (kind === 'sqlite') return;
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
