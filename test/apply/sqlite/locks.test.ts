import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeCase, remapRowsOf, rowsOf } from '../support/cases.js';
import { only } from '../support/databases.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, IN_PLACE, openContext } from '../support/remap.js';

const cases = [makeCase(1, 'unique'), makeCase(2, 'plain')];
const remap = join(makeFolder(), 'remap.db');
createRemap(remap, cases.flatMap(remapRowsOf));

describe.each(only('sqlite'))('$product', (engine) => {
  /** Another connection takes the database at the given step, from 0, and keeps it while so many waits pass. */
  async function applyBeside(name: string, atStep: number, waits: number) {
    const database = await engine.createDatabase(name);
    await database.createCases(cases);
    const other = new Sqlite(database.url);
    let step = 0;
    const take = () => {
      if (step === atStep) other.exec('BEGIN IMMEDIATE');
      step += 1;
    };
    let nowMs = 0;
    let waited = 0;
    const context = {
      ...openContext(remap, IN_PLACE, { batchRows: 10, lockTimeoutMs: 400 }),
      sleep: async (ms: number) => {
        nowMs += ms;
        waited += 1;
        if (waited === waits) other.exec('COMMIT');
      },
      now: () => nowMs,
      onProgress: take,
    };
    const store = database.openStore(context, database.targetsOf(cases));
    const plans = await store.survey();
    take();
    const write = () => store.write(plans, { run: 'run', planSha256: 'p', isExact: true });
    return { database, other, write };
  }

  const expected = cases.map((one) =>
    rowsOf(one, true)
      .map((row) => JSON.stringify(row))
      .sort(),
  );

  it.each([
    ['before anything is written', 0],
    ['between two batches', 3],
  ])('waits while another program holds the database %s', async (_, step) => {
    const { database, other, write } = await applyBeside(`waits-${step}`, step, 2);
    expect((await write()).map((one) => one.skippedCount)).toEqual([0, 0]);
    expect(await database.readCases(cases)).toEqual(expected);
    other.close();
  });

  it.each([
    ['before anything is written', 0],
    ['between two batches', 3],
  ])('gives up in the end where another program keeps it %s, and finishes later', async (_, step) => {
    const { database, other, write } = await applyBeside(`gives-up-${step}`, step, Number.POSITIVE_INFINITY);
    const before = await database.dump();
    await expect(write()).rejects.toMatchObject({ code: 'locked' });
    if (step === 0) expect(await database.dump()).toBe(before);
    else expect(await database.dump()).not.toBe(before);
    other.exec('COMMIT');
    await write();
    expect(await database.readCases(cases)).toEqual(expected);
    other.close();
  });
});
