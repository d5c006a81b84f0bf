import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import { type Case, makeCase, remapRowsOf, rowsBeside, rowsOf, storePlatformIds } from './cases.js';
import { makeFolder } from './folder.js';
import { showRow } from './postgres-tables.js';
import { createRemap, IN_PLACE, NEW, openContext } from './remap.js';

/** A database with the tables of the cases. */
export interface OraclePlace {
  openStore(context: ApplyContext): DataStore;
  /** The rows of every case's table as `showRow` shows them, sorted. */
  read(): Promise<string[][]>;
  /** Every row, to the byte. */
  dump(): Promise<string>;
  close(): Promise<void>;
}

/** How many tables, and mappings in each. A table costs dozens of round trips. */
export interface OracleSize {
  readonly tables: number;
  readonly mappings: number;
}

/** Holds a database server to the oracle. `createPlace`: a new database of this name with the tables of the cases. */
export function itAgreesWithTheOracle(
  product: string,
  { tables, mappings }: OracleSize,
  createPlace: (name: string, cases: readonly Case[]) => Promise<OraclePlace>,
): void {
  const cases = Array.from({ length: tables }, (_, at) =>
    storePlatformIds(makeCase(at + 1, undefined, mappings), at + 1),
  );
  const remap = join(makeFolder(), 'remap.db');
  beforeAll(() => createRemap(remap, cases.flatMap(remapRowsOf)));
  const expected = (isMapped: boolean) => cases.map((one) => rowsOf(one, isMapped).map(showRow).sort());

  it(`agrees with the oracle on ${tables * mappings} mappings, is the same three times as once, and comes back exactly`, async () => {
    const place = await createPlace('oracle', cases);
    const before = await place.dump();
    const store = place.openStore(openContext(remap, IN_PLACE, { batchRows: 170 }));
    let rows = 0;
    for (const run of ['run-1', 'run-2', 'run-3']) {
      const plans = await store.survey();
      expect(plans.flatMap((plan) => plan.notes.filter((note) => note.level === 'blocks'))).toEqual([]);
      await store.write(plans, { run, planSha256: 'p', isExact: true });
      expect(await place.read()).toEqual(expected(true));
      rows += cases.reduce((sum, one) => sum + one.ids.length, 0);
    }
    const verified = await store.verify(null);
    expect(verified.reduce((sum, one) => sum + one.wrongCount + one.changedSinceCount, 0)).toBe(0);
    expect(verified.reduce((sum, one) => sum + one.checked, 0)).toBeGreaterThan(rows / 4);
    await store.undo('run-1');
    expect(await place.dump()).toBe(before);
    await store.close();
    await place.close();
    process.stderr.write(
      `${product} oracle: ${tables * mappings} mappings in ${tables} tables, ${rows / 3} rows, each applied three times and taken back\n`,
    );
  });

  it('fills new columns with what the oracle says, and drops them without a trace', async () => {
    const place = await createPlace('expand', cases);
    const store = place.openStore(openContext(remap, NEW, { batchRows: 170 }));
    for (const run of ['run-1', 'run-2']) {
      await store.write(await store.survey(), { run, planSha256: 'p', isExact: true });
      expect(await place.read()).toEqual(cases.map((one) => rowsBeside(one).map(showRow).sort()));
    }
    expect((await store.verify(null)).every((one) => one.wrongCount === 0)).toBe(true);
    await store.undo('run-1');
    expect(await place.read()).toEqual(expected(false));
    await store.close();
    await place.close();
  });
}
