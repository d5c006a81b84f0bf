import { expect, onTestFinished } from 'vitest';
import type { ApplyContext, Tuning } from '../../../src/apply/context.js';
import type { Policy } from '../../../src/apply/plan.js';
import type { TableTarget } from '../../../src/config/apply-targets.js';
import { type Case, remapRowsOf, type rowsBeside } from './cases.js';
import { type Database, type Engine, fileOf } from './databases.js';
import { makeRemap, openContext } from './remap.js';

type Options = Partial<Tuning> & { readonly more?: Partial<ApplyContext> };

export type Job = ReturnType<typeof openJob>;

/** What applies to tables of a database, until the test is over. */
export function openJob(
  database: Database,
  remap: string,
  policy: Policy,
  targets: readonly TableTarget[],
  { more, ...tuning }: Options = {},
) {
  const context = { ...openContext(remap, policy, tuning), ...more };
  const store = database.openStore(context, targets);
  onTestFinished(async () => {
    await store.close();
    context.remap.close();
  });
  const plan = async () => {
    const plans = await store.survey();
    expect(plans.flatMap(({ notes }) => notes.filter(({ level }) => level === 'blocks'))).toEqual([]);
    return plans;
  };
  return {
    context,
    store,
    plan,
    write: async (run = 'run-1', isExact = true) =>
      store.write(await plan(), { run, planSha256: 'p', isExact }),
    /** The SQL for it, statement by statement and as files. */
    emit: async (run = 'run-1') => {
      const script = await store.emit?.(await plan(), { run, planSha256: 'p', isExact: true });
      if (script === undefined) throw new Error('no SQL');
      return { ...script, upFile: fileOf(script, script.up), downFile: fileOf(script, script.down) };
    },
    /** What a verification counts of each run: cells looked at, wrong ones, ones that changed since. */
    verdict: async () =>
      (await store.verify(null)).map((one) => [one.checked, one.wrongCount, one.changedSinceCount]),
  };
}

/** A database that is closed when the test is over. */
export async function newDatabase(engine: Engine, name: string): Promise<Database> {
  const database = await engine.createDatabase(name);
  onTestFinished(() => database.close());
  return database;
}

/** The tables of some cases in a new database, with what applies to them. `start`: SQL before they are made. */
export async function openCases(
  engine: Engine,
  name: string,
  cases: readonly Case[],
  policy: Policy,
  { start, ...options }: Options & { readonly start?: string } = {},
) {
  const database = await newDatabase(engine, name);
  if (start !== undefined) await database.query(start);
  await database.createCases(cases);
  const remap = makeRemap(cases.flatMap(remapRowsOf));
  return {
    ...openJob(database, remap, policy, database.targetsOf(cases), options),
    database,
    before: await database.dump(),
    expectRows: async (rows: typeof rowsBeside) =>
      expect(await database.readCases(cases)).toEqual(
        cases.map((one) => rows(one).map(engine.showRow).sort()),
      ),
  };
}
