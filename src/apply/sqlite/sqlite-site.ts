import type { SqliteTarget } from '../../config/apply-targets.js';
import type { ApplyContext, RunFacts, Site, SurveyOptions, Undone, Verified, Written } from '../context.js';
import { isFinished, surveyContext } from '../context.js';
import type { TargetPlan } from '../plan.js';
import type { Rewritten } from '../tables/judge-table.js';
import { mergePaths } from '../tables/merged-column.js';
import { readDoneUnits, readUnitsOfRun } from './ledger.js';
import { writeAtOnce } from './sqlite-atomic.js';
import { writeInBatches } from './sqlite-batches.js';
import { writeNewColumns } from './sqlite-expand.js';
import { readSqliteFacts } from './sqlite-facts.js';
import { readSqliteRuns } from './sqlite-runs.js';
import { type Found, findTable, refresh, surveyTable } from './sqlite-survey.js';
import { undoAtOnce, undoInBatches, undoNewColumns } from './sqlite-undo.js';
import { verifyUnit } from './sqlite-verify.js';
import { openUserDb, sqliteError, type UserDb } from './user-db.js';

/** The tables of one SQLite database. */
export function openSqliteSite(context: ApplyContext, file: string, given: readonly SqliteTarget[]): Site {
  const targets = given.map(mergePaths);
  const withDb = async <T>(isWriter: boolean, work: (db: UserDb) => Promise<T>): Promise<T> => {
    const db = openUserDb(file, isWriter);
    try {
      return await work(db);
    } catch (error) {
      throw sqliteError(error, file);
    } finally {
      db.close();
    }
  };
  return {
    runs: () => withDb(false, async (db) => readSqliteRuns(db, file)),
    survey: (options = {}) => withDb(false, (db) => surveyAll(context, db, targets, options)),
    write: (agreed, run) => withDb(true, (db) => writeAll(context, db, targets, agreed, run)),
    undo: (run) => withDb(true, (db) => undoAll(context, db, run)),
    verify: (run) => withDb(true, async (db) => verifyAll(context, db, targets, run)),
    close: async () => {},
  };
}

async function surveyAll(
  context: ApplyContext,
  db: UserDb,
  targets: readonly SqliteTarget[],
  options: SurveyOptions,
): Promise<readonly TargetPlan[]> {
  const plans: TargetPlan[] = [];
  const own = surveyContext(context, options);
  for (const found of findAll(own, db, targets)) plans.push(await surveyTable(own, db, found, options));
  return plans;
}

function findAll(context: ApplyContext, db: UserDb, targets: readonly SqliteTarget[]): Found[] {
  const tables = targets.map((target) => ({ target, facts: readSqliteFacts(db, target.table) }));
  const rewritten = tables.map(
    ({ target, facts }): Rewritten => ({
      name: target.name,
      table: facts.table,
      ids: target.ids,
      columns: target.ids.map((id) => id.column),
    }),
  );
  return tables.map(({ target, facts }) => findTable(context, db, target, facts, rewritten));
}

/** Tables that are tied to their keys or to each other go first, together; the others one by one, in batches. */
async function writeAll(
  context: ApplyContext,
  db: UserDb,
  targets: readonly SqliteTarget[],
  agreed: readonly TargetPlan[],
  run: RunFacts,
): Promise<readonly Written[]> {
  const written: Written[] = [];
  const tables: { found: Found; agreed: TargetPlan }[] = [];
  for (const found of findAll(context, db, targets)) {
    const plan = agreed.find(({ name }) => name === found.target.name);
    if (plan === undefined) continue;
    if (isFinished(found.earlier, context.policy.again)) written.push(alreadyDone(found));
    else tables.push({ found, agreed: plan });
  }
  const isTied = ({ found }: { found: Found }) => found.judgement.handling.isAtomic;
  const tied = context.policy.mode === 'in_place' ? tables.filter(isTied) : [];
  if (tied.length > 0) written.push(...(await writeAtOnce(context, db, tied, run)));
  for (const table of tables.filter((one) => !tied.includes(one))) {
    const write = context.policy.mode === 'new' ? writeNewColumns : writeInBatches;
    // An earlier target may be on the same table.
    written.push(await write(context, db, refresh(context, db, table.found), table.agreed, run));
  }
  return written;
}

function alreadyDone({ target, earlier }: Found): Written {
  const { run, done } = earlier;
  return {
    target: target.name,
    run: run ?? '',
    changed: done,
    skipped: [],
    skippedCount: 0,
    alreadyDone: true,
  };
}

async function undoAll(context: ApplyContext, db: UserDb, run: string): Promise<readonly Undone[]> {
  const units = readUnitsOfRun(db, run).filter(({ state }) => state !== 'undone');
  const tied = units.filter((unit) => unit.mode === 'in_place' && unit.isAtomic);
  const undone: Undone[] = [];
  for (const unit of units.filter((one) => !tied.includes(one)).reverse()) {
    undone.push(
      await (unit.mode === 'new' ? undoNewColumns(context, db, unit) : undoInBatches(context, db, unit)),
    );
  }
  if (tied.length > 0) undone.push(...(await undoAtOnce(context, db, tied)));
  return undone;
}

function verifyAll(
  context: ApplyContext,
  db: UserDb,
  targets: readonly SqliteTarget[],
  run: string | null,
): readonly Verified[] {
  const names = targets.map(({ name }) => name);
  return readDoneUnits(db)
    .filter((unit) => (run === null ? names.includes(unit.target.name) : unit.run === run))
    .map((unit) => verifyUnit(context, db, unit));
}
