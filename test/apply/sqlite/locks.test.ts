import { describe, expect, it, onTestFinished } from 'vitest';
import type { ApplyContext } from '../../../src/apply/context.js';
import type { Db } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeCase, rowsOf } from '../support/cases.js';
import { only } from '../support/databases.js';
import { openCases } from '../support/job.js';
import { IN_PLACE } from '../support/remap.js';

const cases = [makeCase(1, 'unique'), makeCase(2, 'plain')];

describe.each(only('sqlite'))('$product', (engine) => {
  /** Another connection takes the database at the given step, from 0, and keeps it while so many waits pass. */
  async function applyBeside(name: string, atStep: number, waits: number) {
    let other: Db | null = null;
    let step = 0;
    const take = () => {
      if (step === atStep) other?.exec('BEGIN IMMEDIATE');
      step += 1;
    };
    let nowMs = 0;
    let waited = 0;
    const more = {
      sleep: async (ms: number) => {
        nowMs += ms;
        waited += 1;
        if (waited === waits) other?.exec('COMMIT');
      },
      now: () => nowMs,
      onProgress: take,
    };
    const job = await openCases(engine, name, cases, IN_PLACE, { batchRows: 10, lockTimeoutMs: 400, more });
    const held = new Sqlite(job.database.url);
    other = held;
    onTestFinished(() => void held.close());
    const plans = await job.plan();
    take();
    const write = () => job.store.write(plans, { run: 'run', planSha256: 'p', isExact: true });
    return { ...job, other: held, write };
  }
  const after = (one: (typeof cases)[number]) => rowsOf(one, true);

  it.each([
    ['before anything is written', 0],
    ['between two batches', 3],
  ])('waits while another program holds the database %s', async (_, step) => {
    const { expectRows, write } = await applyBeside(`waits-${step}`, step, 2);
    expect((await write()).map((one) => one.skippedCount)).toEqual([0, 0]);
    await expectRows(after);
  });

  it.each([
    ['before anything is written', 0],
    ['between two batches', 3],
  ])('gives up in the end where another program keeps it %s, and finishes later', async (_, step) => {
    const { database, before, expectRows, other, write } = await applyBeside(
      `gives-up-${step}`,
      step,
      Number.POSITIVE_INFINITY,
    );
    await expect(write()).rejects.toMatchObject({ code: 'locked' });
    if (step === 0) expect(await database.dump()).toBe(before);
    else expect(await database.dump()).not.toBe(before);
    other.exec('COMMIT');
    await write();
    await expectRows(after);
  });

  it('leaves a run to another process that begins to take it back between two batches', async () => {
    let other: Db | null = null;
    const onProgress: ApplyContext['onProgress'] = (event) => {
      if (event.kind === 'step' && event.name.startsWith('rewriting'))
        other?.exec("UPDATE svc_migrate_run SET state = 'undoing'");
    };
    const job = await openCases(engine, 'taken', [makeCase(2, 'plain')], IN_PLACE, {
      batchRows: 10,
      more: { onProgress },
    });
    other = new Sqlite(job.database.url);
    onTestFinished(() => void other?.close());
    await expect(job.write()).rejects.toMatchObject({ code: 'locked' });
    expect(await job.database.dump()).not.toBe(job.before);
    await job.store.undo('run-1');
    expect(await job.database.dump()).toBe(job.before);
  });

  it('writes nothing where another process records a run of the table in the last moment', async () => {
    let other: Db | null = null;
    const now = () => {
      other?.exec("UPDATE svc_migrate_run SET state = 'done'");
      return 0;
    };
    const job = await openCases(engine, 'at_once', [makeCase(2, 'plain')], IN_PLACE, { more: { now } });
    await job.write();
    await job.store.undo('run-1');
    const plans = await job.plan();
    other = new Sqlite(job.database.url);
    onTestFinished(() => void other?.close());
    const written = job.store.write(plans, { run: 'run-2', planSha256: 'p', isExact: false });
    await expect(written).rejects.toMatchObject({ code: 'locked' });
    expect(await job.database.dump()).toBe(job.before);
  });
});
