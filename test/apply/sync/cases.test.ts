import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DataStore } from '../../../src/apply/context.js';
import type { ApplyTarget } from '../../../src/config/apply-targets.js';
import { campaign, campaignCases } from '../../support/campaign.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, INVOICES, NEW, openContext, type RemapRow } from '../support/remap.js';
import { type SyncPlace, sqlitePlace, startSyncServers } from '../support/sync-places.js';

const folder = makeFolder();
const remap = join(folder, 'remap.db');
const OTHER = 'crm/companies';

/** Ids that mean one thing or another by region, company and model. */
const REMAP: readonly RemapRow[] = [
  { v3: 1, v4: 2, region: 'eu', company: 10, platformId: 'Ünïque 1' },
  { v3: 2, v4: 1, region: 'eu', company: 10 },
  { v3: 3, v4: 30, region: 'us', company: 10 },
  { v3: 4, v4: 40, region: 'eu', company: 20 },
  // One thing in each region, and in each company.
  { v3: 5, v4: 50, region: 'eu', company: 10 },
  { v3: 5, v4: 51, region: 'us', company: 20 },
  // The same in both.
  { v3: 6, v4: 60, region: 'eu', company: 10 },
  { v3: 6, v4: 60, region: 'us', company: 20 },
  { v3: 7, v4: null, region: 'eu', company: 10, platformId: '2023-01-01_2023-01-31' },
  { v3: 8, v4: 80, region: 'eu', company: 10, status: 'deleted', reason: 'deleted_in_v3' },
  { v3: 9, v4: 9_007_199_254_740_993n, region: 'eu', company: 10 },
  { v3: null, v4: 900, region: 'eu', company: 10 },
  { v3: 1, v4: 111, region: 'eu', company: 10, model: OTHER },
];
createRemap(remap, REMAP);

const servers = await startSyncServers();

const SCOPES: Readonly<Record<string, object>> = {
  'no scope': { model: INVOICES },
  'a platform_id': { model: INVOICES, platformIdColumn: 'p' },
  'a fixed region': { model: INVOICES, region: 'eu' },
  'a region column': { model: INVOICES, regionColumn: 'r' },
  'a company column': { model: INVOICES, companyColumn: 'c' },
  'both columns': { model: INVOICES, regionColumn: 'r', companyColumn: 'c' },
  'a model column': { modelColumn: 'm', models: { invoice: INVOICES, company: OTHER, note: null } },
};

const SCOPE_NAMES = Object.keys(SCOPES);

const VALUES = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '77', '900', null];
/** Texts that are no ids. */
const TEXTS = ['x', '', ' 1', '01', '1.0', '+1'];
const REGIONS = ['eu', 'us', null, 'nowhere'];
const COMPANIES = ['10', '20', null];
const MODELS = ['invoice', 'company', 'note', 'other', null];

const literal = (value: string | null) => (value === null ? 'NULL' : `'${value}'`);

/** An application that inserts, changes and removes rows. */
async function writeRows(place: SyncPlace, isText: boolean): Promise<void> {
  const values = isText ? [...VALUES, ...TEXTS] : VALUES;
  const at = <T>(list: readonly T[], n: number) => list[n % list.length];
  const statements: string[] = [];
  let k = 100;
  for (const [n, value] of values.entries()) {
    for (const [r, region] of REGIONS.entries()) {
      k += 1;
      const cells = [region, at(COMPANIES, n + r) ?? null, at(MODELS, n + r) ?? null].map(literal);
      statements.push(`INSERT INTO t(k, i, r, c, m) VALUES (${k}, ${literal(value)}, ${cells.join(', ')})`);
      // To another value, scope or model, to nothing and back, and without any change.
      const next = literal(at(values, n + r + 1) ?? null);
      const changes = [
        `i = ${next}`,
        "r = 'us'",
        "c = '20'",
        "m = 'company'",
        'i = NULL',
        "note = 'x'",
        'i = i',
      ];
      const change = at(changes, n * REGIONS.length + r) ?? '';
      if ((n + r) % 2 === 0) statements.push(`UPDATE t SET ${change} WHERE k = ${k}`);
      if ((n + r) % 7 === 0) statements.push(`UPDATE t SET i = ${literal(value)} WHERE k = ${k}`);
      if ((n + r) % 11 === 5) statements.push(`DELETE FROM t WHERE k = ${k}`);
    }
  }
  statements.push("UPDATE t SET c = '10', r = 'eu' WHERE k BETWEEN 110 AND 118");
  statements.push("UPDATE t SET i = '2' WHERE k BETWEEN 105 AND 112");
  await place.sql(statements.join(';'));
}

const COLUMNS = 'k int PRIMARY KEY';

async function createTable(place: SyncPlace, name: string, type: string): Promise<void> {
  const text = place.kind === 'mysql' ? 'varchar(20)' : 'text';
  await place.sql(
    `CREATE TABLE ${name}(${COLUMNS}, i ${type}, r ${text}, c ${text}, m ${text}, note ${text})`,
  );
}

const readSql = (table: string, ids: object) =>
  `SELECT k, i, i_v4${'platformIdColumn' in ids ? ', p' : ''} FROM ${table} ORDER BY k`;

const policy = { ...NEW, missing: 'keep', unknown: 'keep', others: 'keep' } as const;
const RUN = { planSha256: 'p', isExact: false };

async function withStore<T>(
  place: SyncPlace,
  targets: readonly ApplyTarget[],
  work: (store: DataStore) => Promise<T>,
): Promise<T> {
  const context = openContext(remap, policy, { batchRows: 7 });
  const store = place.open(context, targets);
  try {
    return await work(store);
  } finally {
    await store.close();
    context.remap.close();
  }
}

async function apply(store: DataStore, run: string): Promise<void> {
  const plans = await store.survey();
  expect(plans.flatMap(({ notes }) => notes).filter(({ level }) => level === 'blocks')).toEqual([]);
  await store.write(plans, { run, ...RUN });
}

/** What `apply` writes into the new column of a table with the same rows. */
async function expectedOf(place: SyncPlace, ids: object, type: string): Promise<(string | null)[][]> {
  await createTable(place, 'u', type);
  await place.sql('INSERT INTO u(k, i, r, c, m) SELECT k, i, r, c, m FROM t');
  await withStore(
    place,
    [place.target({ name: 'oracle', table: 'u', ids: [{ column: 'i', ...ids }] })],
    (store) => apply(store, 'oracle'),
  );
  return place.sql(readSql('u', ids));
}

function itFollowsApply(kind: string, openPlace: ((name: string) => Promise<SyncPlace>) | null): void {
  let databases = 0;
  const all = ['first', 'later'].flatMap((order) =>
    Object.entries(SCOPES).flatMap(([scope, ids]) =>
      [0, 1, 2, 3].map((type) => ({ order, scope, ids, type })),
    ),
  );
  // Whether sync comes first or later is told apart with each scope and with each type, but not with each pair of them.
  const half = all.filter(
    ({ order, scope, type }) => (order === 'first') === ((SCOPE_NAMES.indexOf(scope) + type) % 2 === 0),
  );
  const cases = campaign({ small: campaignCases(half, 5), full: half, soak: all });
  describe.skipIf(openPlace === null)(kind, () => {
    it.each(cases)(
      'gives what apply gives: $scope, type $type, sync $order',
      async ({ order, ids, type: at }) => {
        databases += 1;
        const place = await openPlace?.(`sync_${databases}`);
        const type = place?.types[at];
        if (place === undefined || type === undefined) return;
        await createTable(place, 't', type);
        await place.sql(
          "INSERT INTO t(k, i, r, c, m) VALUES (1, '1', 'eu', '10', 'invoice'), (2, '7', 'eu', '10', 'invoice')",
        );
        const run = { run: 'run-1', ...RUN };
        const target = place.target({ ids: [{ column: 'i', ...ids }] });
        const recorded = await withStore(place, [target], async (store) => {
          if (order === 'later') await apply(store, 'run-1');
          const [on] = (await store.sync?.({ turn: 'on', run })) ?? [];
          expect(on?.notes.filter(({ level }) => level === 'blocks')).toEqual([]);
          await writeRows(place, !/int|numeric/i.test(type));
          await apply(store, 'run-2');
          const [off] = (await store.sync?.({ turn: 'off', run })) ?? [];
          return off?.unmapped ?? [];
        });
        const expected = await expectedOf(place, ids, type);
        expect(await place.sql(readSql('t', ids))).toEqual(expected);
        expect(await place.objects()).toEqual([]);
        // Whatever has no V4 id is listed, if it was written while the triggers were there; nothing else is.
        const isForeign = new Set(
          'modelColumn' in ids ? (await place.sql("SELECT k FROM t WHERE m = 'note'")).map(([k]) => k) : [],
        );
        const open = expected.filter(
          ([k, i, v4]) =>
            Number(k) > 100 && (i ?? '').trim() !== '' && v4 === null && !isForeign.has(k ?? ''),
        );
        expect(recorded.map(({ row, value }) => `${row} ${value}`).sort()).toEqual(
          open.map(([k, i]) => `${k} ${i?.trimEnd()}`).sort(),
        );
        await withStore(place, [target], (store) => store.undo('run-1'));
        await place.close();
      },
    );
  });
}

itFollowsApply('SQLite', async (name) => sqlitePlace(folder, name));
itFollowsApply('PostgreSQL', servers.postgres);
itFollowsApply('MariaDB', servers.mysql);
