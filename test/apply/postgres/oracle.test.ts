import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import { campaign } from '../../support/campaign.js';
import { makeCase, remapRowsOf, rowsBeside, rowsOf } from '../support/cases.js';
import { makeFolder } from '../support/folder.js';
import { connect, startPostgres } from '../support/postgres.js';
import { createTables, dumpRows, readTables, showRow, targetsOf } from '../support/postgres-tables.js';
import { createRemap, IN_PLACE, NEW, openContext } from '../support/remap.js';

const TABLES = campaign({ small: 8, full: 60 });
/** Each table costs dozens of round trips: many mappings in each. */
const MAPS = campaign({ small: 25, full: 170 });

const cluster = await startPostgres();

describe.skipIf(cluster === null)('PostgreSQL', () => {
  const cases = Array.from({ length: TABLES }, (_, at) => makeCase(at + 1, undefined, MAPS));
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

  async function createDatabase(name: string): Promise<void> {
    url = (await cluster?.createDatabase(name)) ?? '';
    client = await connect(url);
    await createTables(client, cases);
  }

  const expected = (isMapped: boolean) => cases.map((one) => rowsOf(one, isMapped).map(showRow).sort());

  it(`agrees with the oracle on ${TABLES * MAPS} mappings, is the same three times as once, and comes back exactly`, async () => {
    await createDatabase('oracle');
    const before = await dumpRows(client, cases);
    const context = { ...openContext(remap, IN_PLACE, { batchRows: 170 }), env: { TEST_PG: url } };
    const store = openPostgresStore(context, targetsOf(cases));
    let rows = 0;
    for (const run of ['run-1', 'run-2', 'run-3']) {
      const plans = await store.survey();
      expect(plans.flatMap((plan) => plan.notes.filter((note) => note.level === 'blocks'))).toEqual([]);
      await store.write(plans, { run, planSha256: 'p', isExact: true });
      expect(await readTables(client, cases)).toEqual(expected(true));
      rows += cases.reduce((sum, one) => sum + one.ids.length, 0);
    }
    const verified = await store.verify(null);
    expect(verified.reduce((sum, one) => sum + one.wrongCount + one.changedSinceCount, 0)).toBe(0);
    expect(verified.reduce((sum, one) => sum + one.checked, 0)).toBeGreaterThan(rows / 4);
    await store.undo('run-1');
    expect(await dumpRows(client, cases)).toBe(before);
    await store.close();
    await client.end();
    process.stderr.write(
      `PostgreSQL oracle: ${TABLES * MAPS} mappings in ${TABLES} tables, ${rows / 3} rows, each applied three times and taken back\n`,
    );
  });

  it('fills new columns with what the oracle says, and drops them without a trace', async () => {
    await createDatabase('expand');
    const context = { ...openContext(remap, NEW, { batchRows: 170 }), env: { TEST_PG: url } };
    const store = openPostgresStore(context, targetsOf(cases));
    for (const run of ['run-1', 'run-2']) {
      await store.write(await store.survey(), { run, planSha256: 'p', isExact: true });
      expect(await readTables(client, cases)).toEqual(
        cases.map((one) => rowsBeside(one).map(showRow).sort()),
      );
    }
    expect((await store.verify(null)).every((one) => one.wrongCount === 0)).toBe(true);
    await store.undo('run-1');
    expect(await readTables(client, cases)).toEqual(expected(false));
    await store.close();
  });
});
