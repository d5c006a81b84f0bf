import { describe, expect, it } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { makeCase, rowsBeside, rowsOf, storePlatformIds } from '../support/cases.js';
import { ENGINES, type Kind } from '../support/databases.js';
import { type Job, openCases } from '../support/job.js';
import { IN_PLACE, NEW } from '../support/remap.js';

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

/** The first run changes as many cells as its plan says. */
async function writeFirst({ plan, write }: Job): Promise<void> {
  const planned = (await plan()).map(({ name, changes }) => [name, changes]);
  expect((await write()).map(({ target, changed }) => [target, changed]).sort()).toEqual(planned.sort());
}

describe.each(ENGINES)('$product', (engine) => {
  const { tables, mappings, batchRows } = SIZES[engine.kind];
  const makeCases = (first: number, count: number) =>
    Array.from({ length: count }, (_, at) =>
      storePlatformIds(makeCase(first + at, undefined, mappings), first + at),
    );

  it(`agrees with the oracle on ${tables * mappings} mappings, is the same three times as once, and comes back exactly`, async () => {
    let rows = 0;
    for (let first = 1; first <= tables; first += TABLES_PER_DATABASE) {
      const cases = makeCases(first, Math.min(TABLES_PER_DATABASE, tables - first + 1));
      const job = await openCases(engine, `oracle_${first}`, cases, IN_PLACE, { batchRows });
      for (const write of [() => writeFirst(job), () => job.write('run-2'), () => job.write('run-3')]) {
        await write();
        await job.expectRows((one) => rowsOf(one, true));
      }
      const ids = cases.reduce((sum, one) => sum + one.ids.length, 0);
      const verified = await job.store.verify(null);
      expect(verified.reduce((sum, one) => sum + one.wrongCount + one.changedSinceCount, 0)).toBe(0);
      expect(verified.reduce((sum, one) => sum + one.checked, 0)).toBeGreaterThan((ids * 3) / 4);
      await job.store.undo('run-1');
      expect(await job.database.dump()).toBe(job.before);
      rows += ids;
    }
    process.stderr.write(
      `${engine.product} oracle: ${tables * mappings} mappings in ${tables} tables, ${rows} rows, each applied three times and taken back\n`,
    );
  });

  it('fills new columns with what the oracle says, and drops them without a trace', async () => {
    const cases = makeCases(1, Math.min(tables, 90)).filter(({ ids }) => ids.length > 0);
    const job = await openCases(engine, 'expand', cases, NEW, { batchRows });
    for (const write of [() => writeFirst(job), () => job.write('run-2')]) {
      await write();
      await job.expectRows(rowsBeside);
    }
    expect((await job.store.verify(null)).every(({ wrongCount }) => wrongCount === 0)).toBe(true);
    await job.store.undo('run-1');
    expect(await job.database.dump()).toBe(job.before);
  });
});
