import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgresSite } from '../../../src/apply/postgres/pg-site.js';
import type { PostgresTarget } from '../../../src/config/apply-targets.js';
import {
  type Case,
  createSql,
  MAPS_PER_CASE,
  makeCase,
  remapRowsOf,
  rowsOf,
  targetOf,
} from '../support/cases.js';
import { makeFolder } from '../support/folder.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';
import { createRemap, IN_PLACE, NEW, openContext } from '../support/remap.js';

const TABLES = 60;

const cluster = await startPostgres();

describe.skipIf(cluster === null)('PostgreSQL', () => {
  const cases = Array.from({ length: TABLES }, (_, at) => makeCase(at + 1));
  const remap = join(makeFolder(), 'remap.db');
  let url = '';
  let client: pg.Client;

  beforeAll(async () => {
    createRemap(remap, cases.flatMap(remapRowsOf));
  });

  afterAll(async () => {
    await client.end();
    await cluster?.stop();
  });

  async function createTables(name: string): Promise<void> {
    url = (await cluster?.createDatabase(name)) ?? '';
    client = await connect(url);
    for (const one of cases) {
      await client.query(createSql(one, { json: one.name.endsWith('2') ? 'json' : 'jsonb' }));
      for (const row of rowsOf(one, false)) {
        const places = row.map((_, at) => `$${at + 1}`).join(', ');
        await client.query(`INSERT INTO ${one.name} VALUES (${places})`, [...row]);
      }
    }
  }

  const targets = (): PostgresTarget[] =>
    cases
      .map((one) => targetOf(one, { kind: 'postgres', urlEnv: 'TEST_PG' }))
      .filter((one): one is PostgresTarget => one.kind === 'postgres');

  const read = async (one: Case): Promise<string[]> =>
    (await readAll(client, `SELECT * FROM ${one.name}`)).map((row) => JSON.stringify(row.map(normal))).sort();
  const readTables = async () => {
    const tables: string[][] = [];
    for (const one of cases) tables.push(await read(one));
    return tables;
  };
  const expected = (one: Case, isMapped = true) =>
    rowsOf(one, isMapped)
      .map((row) => JSON.stringify(row.map(normal)))
      .sort();

  it(`agrees with the oracle on ${TABLES * MAPS_PER_CASE} mappings, is the same three times as once, and comes back exactly`, async () => {
    await createTables('oracle');
    const before = await readTables();
    const context = { ...openContext(remap, IN_PLACE, { batchRows: 17 }), env: { TEST_PG: url } };
    const site = openPostgresSite(context, targets());
    let rows = 0;
    for (const run of ['run-1', 'run-2', 'run-3']) {
      const plans = await site.survey();
      expect(plans.flatMap((plan) => plan.notes.filter((note) => note.level === 'blocks'))).toEqual([]);
      await site.write(plans, { run, planSha256: 'p', isExact: true });
      for (const one of cases) expect(await read(one)).toEqual(expected(one));
      rows += cases.reduce((sum, one) => sum + one.ids.length, 0);
    }
    const verified = await site.verify(null);
    expect(verified.reduce((sum, one) => sum + one.wrongCount + one.changedSinceCount, 0)).toBe(0);
    expect(verified.reduce((sum, one) => sum + one.checked, 0)).toBeGreaterThan(rows / 4);
    await site.undo('run-1');
    expect(await readTables()).toEqual(before);
    await site.close();
    await client.end();
    process.stderr.write(
      `PostgreSQL oracle: ${TABLES * MAPS_PER_CASE} mappings in ${TABLES} tables, ${rows / 3} rows, each applied three times and taken back\n`,
    );
  });

  it('fills new columns with what the oracle says, and drops them without a trace', async () => {
    await createTables('expand');
    const context = { ...openContext(remap, NEW, { batchRows: 17 }), env: { TEST_PG: url } };
    const site = openPostgresSite(context, targets());
    for (const run of ['run-1', 'run-2']) {
      await site.write(await site.survey(), { run, planSha256: 'p', isExact: true });
      for (const one of cases) {
        const from = rowsOf(one, false);
        const places = one.shape === 'pair' ? [1, 2] : [one.shape === 'own_key' ? 0 : 1];
        const rows = rowsOf(one, true).map((row, at) =>
          JSON.stringify([...(from[at] ?? []), ...places.map((place) => row[place] ?? null)].map(normal)),
        );
        expect(await read(one)).toEqual(rows.sort());
      }
    }
    expect((await site.verify(null)).every((one) => one.wrongCount === 0)).toBe(true);
    await site.undo('run-1');
    for (const one of cases) expect(await read(one)).toEqual(expected(one, false));
    await site.close();
  });
});

/** jsonb has a form of its own. */
function normal(cell: string | null): string | null {
  return cell?.startsWith('{') ? JSON.stringify(JSON.parse(cell), sortKeys) : cell;
}

function sortKeys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
