import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { type Case, makeCase, remapRowsOf, rowsBeside, rowsOf, storePlatformIds } from '../support/cases.js';
import { ENGINES, type Kind } from '../support/databases.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, IN_PLACE, NEW, openContext } from '../support/remap.js';

/** How many tables, mappings in each, and rows of a batch. A table of a server costs dozens of round trips. */
const SERVER = {
  tables: campaign({ small: 6, full: 24, soak: 60 }),
  mappings: campaign({ small: 8, full: 85, soak: 170 }),
  batchRows: 170,
};
const SIZES: Readonly<Record<Kind, typeof SERVER>> = {
  sqlite: { tables: campaign({ small: 20, full: 240, soak: 3000 }), mappings: 10, batchRows: 17 },
  postgres: SERVER,
  mysql: SERVER,
};
const TABLES_PER_DATABASE = 20;

const folder = makeFolder();

describe.each(ENGINES)('$product', (engine) => {
  const { tables, mappings, batchRows } = SIZES[engine.kind];
  const makeCases = (first: number, count: number) =>
    Array.from({ length: count }, (_, at) =>
      storePlatformIds(makeCase(first + at, undefined, mappings), first + at),
    );
  const sorted = (cases: readonly Case[], rows: typeof rowsBeside) =>
    cases.map((one) => rows(one).map(engine.showRow).sort());

  async function open(name: string, cases: readonly Case[], policy: typeof IN_PLACE) {
    const database = await engine.createDatabase(name);
    await database.createCases(cases);
    const remap = join(folder, `${engine.kind}-${name}.db`);
    createRemap(remap, cases.flatMap(remapRowsOf));
    const context = openContext(remap, policy, { batchRows });
    const store = database.openStore(context, database.targetsOf(cases));
    const write = async (run: string) => {
      const plans = await store.survey();
      expect(plans.flatMap(({ notes }) => notes.filter(({ level }) => level === 'blocks'))).toEqual([]);
      await store.write(plans, { run, planSha256: 'p', isExact: true });
    };
    const close = async () => {
      await store.close();
      await database.close();
      context.remap.close();
    };
    return { database, store, write, close, before: await database.dump() };
  }

  it(`agrees with the oracle on ${tables * mappings} mappings, is the same three times as once, and comes back exactly`, async () => {
    let rows = 0;
    for (let first = 1; first <= tables; first += TABLES_PER_DATABASE) {
      const cases = makeCases(first, Math.min(TABLES_PER_DATABASE, tables - first + 1));
      const { database, store, write, close, before } = await open(`oracle_${first}`, cases, IN_PLACE);
      for (const run of ['run-1', 'run-2', 'run-3']) {
        await write(run);
        expect(await database.readCases(cases)).toEqual(sorted(cases, (one) => rowsOf(one, true)));
      }
      const ids = cases.reduce((sum, one) => sum + one.ids.length, 0);
      const verified = await store.verify(null);
      expect(verified.reduce((sum, one) => sum + one.wrongCount + one.changedSinceCount, 0)).toBe(0);
      expect(verified.reduce((sum, one) => sum + one.checked, 0)).toBeGreaterThan((ids * 3) / 4);
      await store.undo('run-1');
      expect(await database.dump()).toBe(before);
      rows += ids;
      await close();
    }
    process.stderr.write(
      `${engine.product} oracle: ${tables * mappings} mappings in ${tables} tables, ${rows} rows, each applied three times and taken back\n`,
    );
  });

  it('fills new columns with what the oracle says, and drops them without a trace', async () => {
    const count = Math.min(tables, 90);
    const cases = makeCases(1, count).filter(({ ids }) => ids.length > 0);
    const { database, store, write, close, before } = await open('expand', cases, NEW);
    for (const run of ['run-1', 'run-2']) {
      await write(run);
      expect(await database.readCases(cases)).toEqual(sorted(cases, rowsBeside));
    }
    expect((await store.verify(null)).every(({ wrongCount }) => wrongCount === 0)).toBe(true);
    await store.undo('run-1');
    expect(await database.dump()).toBe(before);
    await close();
  });
});
