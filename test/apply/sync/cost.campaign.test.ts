import { join } from 'node:path';
import { expect, it } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, INVOICES, NEW, openContext, pairs } from '../support/remap.js';
import { type SyncPlace, sqlitePlace, startSyncServers } from '../support/sync-places.js';

const IDS = campaign({ small: 2000, full: 50_000, soak: 200_000 });
const STATEMENTS = campaign({ small: 100, full: 1000, soak: 5000 });
const ROUNDS = campaign({ small: 1, full: 3, soak: 5 });

const folder = makeFolder();
const remap = join(folder, 'remap.db');
createRemap(remap, pairs(Array.from({ length: IDS }, (_, at) => [at + 1, IDS - at] as const)));
const servers = await startSyncServers();

/** Microseconds of each statement, in transactions of 100. */
async function measure(place: SyncPlace, sqlOf: (n: number) => string): Promise<number> {
  const start = performance.now();
  for (let n = 0; n < STATEMENTS; n += 1) {
    if (n % 100 === 0) await place.sql('BEGIN');
    await place.sql(sqlOf(n));
    if (n % 100 === 99) await place.sql('COMMIT');
  }
  return ((performance.now() - start) * 1000) / STATEMENTS;
}

/** Kinds of statements on table `name`; rows of round `r` have keys of their own. */
const KINDS: Readonly<Record<string, (name: string, r: number) => (n: number) => string>> = {
  'insert, mapped': (name, r) => (n) =>
    `INSERT INTO ${name}(k, i, note) VALUES (${r * 1_000_000 + n}, ${1 + ((n * 7919) % IDS)}, 'x')`,
  'insert, not mapped': (name, r) => (n) =>
    `INSERT INTO ${name}(k, i, note) VALUES (${r * 1_000_000 + 500_000 + n}, ${IDS + 1 + n}, 'x')`,
  'update of the id': (name, r) => (n) =>
    `UPDATE ${name} SET i = ${1 + ((n * 31) % IDS)} WHERE k = ${r * 1_000_000 + n}`,
  'update of another column': (name, r) => (n) =>
    `UPDATE ${name} SET note = 'y${n}' WHERE k = ${r * 1_000_000 + n}`,
};

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

it.each([
  ['SQLite', async (name: string) => sqlitePlace(folder, name)] as const,
  ['PostgreSQL', servers.postgres] as const,
  ['MariaDB', servers.mysql] as const,
])(
  'says what triggers cost in %s',
  async (product, open) => {
    const place = await open?.('cost');
    if (place === undefined) return;
    for (const name of ['plain', 't'])
      await place.sql(`CREATE TABLE ${name}(k int PRIMARY KEY, i bigint, note varchar(20))`);
    await place.sql('ALTER TABLE plain ADD COLUMN i_v4 bigint');
    const context = openContext(remap, NEW);
    const store = place.open(context, [place.target({ ids: [{ column: 'i', model: INVOICES }] })]);
    const start = performance.now();
    await store.sync?.({ turn: 'on', run: { run: 'run-1', planSha256: '', isExact: false } });
    const loading = performance.now() - start;
    await store.close();
    context.remap.close();
    const lines = [`${product}: crosswalk of ${IDS} ids in ${Math.round(loading)} ms`];
    for (const [kind, statementOf] of Object.entries(KINDS)) {
      const times = { plain: [] as number[], t: [] as number[] };
      for (let round = 1; round <= ROUNDS; round += 1) {
        times.plain.push(await measure(place, statementOf('plain', round)));
        times.t.push(await measure(place, statementOf('t', round)));
      }
      const [without, with_] = [median(times.plain), median(times.t)];
      lines.push(
        `  ${kind}: ${without.toFixed(0)} → ${with_.toFixed(0)} µs, ${(with_ / without).toFixed(2)} times`,
      );
      // Far from what is measured, but it would show a trigger that reads the whole crosswalk. A small one shows nothing.
      expect(with_ / without).toBeLessThan(campaign({ small: Number.POSITIVE_INFINITY, full: 25 }));
    }
    process.stderr.write(`${lines.join('\n')}\n`);
    expect(
      await place.sql(
        `SELECT count(*) FROM t WHERE i <= ${IDS} AND (i_v4 IS NULL OR i + i_v4 <> ${IDS + 1})`,
      ),
    ).toEqual([['0']]);
    await place.close();
  },
  300_000,
);
