import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import { campaign } from '../../support/campaign.js';
import {
  type Case,
  MAPS_PER_CASE,
  makeCase,
  remapRowsOf,
  rowsBeside,
  rowsOf,
  storePlatformIds,
} from '../support/cases.js';
import { createRemap, IN_PLACE, NEW, openContext } from '../support/remap.js';
import { createTables, dumpTables, readTables, targetsOf } from '../support/sqlite-tables.js';

const TABLES = campaign({ small: 20, full: 240, soak: 3000 });
const TABLES_PER_DATABASE = 20;

/** Memory where there is such a folder: what is proved here needs no disk. */
const ROOT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const expected = (one: Case) =>
  rowsOf(one, true)
    .map((row) => JSON.stringify(row))
    .sort();

it(`agrees with the oracle on ${TABLES * MAPS_PER_CASE} mappings, is the same three times as once, and comes back exactly`, async () => {
  let rows = 0;
  for (let first = 1; first <= TABLES; first += TABLES_PER_DATABASE) {
    const folder = mkdtempSync(join(ROOT, 'svc-oracle-'));
    try {
      const cases = Array.from({ length: TABLES_PER_DATABASE }, (_, at) =>
        storePlatformIds(makeCase(first + at), first + at),
      );
      const file = join(folder, 'user.db');
      const remap = join(folder, 'remap.db');
      createTables(file, cases);
      createRemap(remap, cases.flatMap(remapRowsOf));
      const before = dumpTables(file);
      const context = openContext(remap, IN_PLACE, { batchRows: 17 });
      const store = openSqliteStore(context, file, targetsOf(cases, file));
      for (const run of ['run-1', 'run-2', 'run-3']) {
        const plans = await store.survey();
        expect(plans.flatMap((plan) => plan.notes.filter((note) => note.level === 'blocks'))).toEqual([]);
        await store.write(plans, { run, planSha256: 'p', isExact: true });
        expect(readTables(file, cases)).toEqual(cases.map(expected));
      }
      const verified = await store.verify(null);
      expect(verified.reduce((sum, one) => sum + one.wrongCount + one.changedSinceCount, 0)).toBe(0);
      await store.undo('run-1');
      expect(dumpTables(file)).toBe(before);
      rows += cases.reduce((sum, one) => sum + one.ids.length, 0);
      context.remap.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  process.stderr.write(
    `SQLite oracle: ${TABLES * MAPS_PER_CASE} mappings in ${TABLES} tables, ${rows} rows, each applied three times and taken back\n`,
  );
});

it('fills new columns with what the oracle says, and drops them without a trace', async () => {
  const folder = mkdtempSync(join(ROOT, 'svc-oracle-'));
  try {
    const cases = Array.from({ length: 90 }, (_, at) => storePlatformIds(makeCase(at + 1), at)).filter(
      ({ ids }) => ids.length > 0,
    );
    const file = join(folder, 'user.db');
    const remap = join(folder, 'remap.db');
    createTables(file, cases);
    createRemap(remap, cases.flatMap(remapRowsOf));
    const before = dumpTables(file);
    const context = openContext(remap, NEW, { batchRows: 17 });
    const store = openSqliteStore(context, file, targetsOf(cases, file));
    for (const run of ['run-1', 'run-2']) {
      await store.write(await store.survey(), { run, planSha256: 'p', isExact: true });
      expect(readTables(file, cases)).toEqual(
        cases.map((one) =>
          rowsBeside(one)
            .map((row) => JSON.stringify(row))
            .sort(),
        ),
      );
    }
    await store.undo('run-1');
    expect(dumpTables(file)).toBe(before);
    context.remap.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
