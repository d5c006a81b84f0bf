import type { PostgresTarget } from '../../config/apply-targets.js';
import {
  type ApplyContext,
  isFinished,
  type LedgerRun,
  type RunFacts,
  type Site,
  type SurveyOptions,
  surveyContext,
  type Undone,
  type Verified,
  type Written,
} from '../context.js';
import type { TargetPlan } from '../plan.js';
import type { Rewritten } from '../tables/judge-table.js';
import { mergePaths } from '../tables/merged-column.js';
import { type Agreed, writeAtOnce } from './pg-atomic.js';
import { writeInBatches } from './pg-batches.js';
import { postgresError } from './pg-errors.js';
import { writeNewColumns } from './pg-expand.js';
import { readPgFacts } from './pg-facts.js';
import { ensureLedger, readDoneUnits, readUnitsOfRun } from './pg-ledger.js';
import { assertOwnLedger } from './pg-ledger-check.js';
import { readPgRuns } from './pg-runs.js';
import { BEGIN_READ_ONLY, PgSession } from './pg-session.js';
import { type Found, findTable, refresh, surveyTable } from './pg-survey.js';
import { undoAtOnce, undoInBatches, undoNewColumns } from './pg-undo.js';
import { verifyUnit } from './pg-verify.js';

/** The tables of one PostgreSQL database; all targets name the same connection string and ledger. */
export function openPostgresSite(context: ApplyContext, given: readonly PostgresTarget[]): Site {
  const targets = given.map(mergePaths);
  const [first] = targets;
  if (first === undefined) throw new Error('a site without targets');
  const session = new PgSession(context, first);
  const asOurs = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw postgresError(error);
    }
  };
  return {
    runs: () => asOurs(() => readAllRuns(session, targets)),
    survey: (options = {}) =>
      asOurs(() => session.transaction(BEGIN_READ_ONLY, () => surveyAll(context, session, targets, options))),
    write: (agreed, run) => asOurs(() => writeAll(context, session, targets, agreed, run)),
    undo: (run) =>
      asOurs(async () => {
        const undone: Undone[] = [];
        for (const schema of schemasOf(targets))
          undone.push(...(await undoAll(context, session, schema, run)));
        return undone;
      }),
    verify: (run) => asOurs(() => verifyAll(context, session, targets, run)),
    close: () => session.close(),
  };
}

async function surveyAll(
  context: ApplyContext,
  session: PgSession,
  targets: readonly PostgresTarget[],
  options: SurveyOptions,
): Promise<TargetPlan[]> {
  const plans: TargetPlan[] = [];
  const own = surveyContext(context, options);
  for (const found of await findAll(own, session, targets))
    plans.push(await surveyTable(own, session, found, options));
  return plans;
}

async function findAll(
  context: ApplyContext,
  session: PgSession,
  targets: readonly PostgresTarget[],
): Promise<Found[]> {
  const tables = [];
  for (const target of targets) tables.push({ target, facts: await readPgFacts(session, target) });
  const rewritten = tables.map(
    ({ target, facts }): Rewritten => ({
      name: target.name,
      table: facts.table,
      ids: target.ids,
      columns: target.ids.map((id) => id.column),
    }),
  );
  const found: Found[] = [];
  for (const { target, facts } of tables)
    found.push(await findTable(context, session, target, facts, rewritten));
  return found;
}

/** Tables that are tied to their keys or to each other go first, together; the others one by one, in batches. */
async function writeAll(
  context: ApplyContext,
  session: PgSession,
  targets: readonly PostgresTarget[],
  agreed: readonly TargetPlan[],
  run: RunFacts,
): Promise<readonly Written[]> {
  const written: Written[] = [];
  const tables: Agreed[] = [];
  for (const schema of schemasOf(targets)) await ensureLedger(session, schema);
  for (const found of await session.retry(() => findAll(context, session, targets))) {
    await session.retry(() => assertOwnLedger(session, found.target.ledgerSchema, found.facts.table));
    const plan = agreed.find(({ name }) => name === found.target.name);
    if (plan === undefined) continue;
    if (isFinished(found.earlier, context.policy.again)) written.push(alreadyDone(found));
    else tables.push({ found, agreed: plan });
  }
  const isTied = ({ found }: Agreed) => found.judgement.handling.isAtomic;
  const tied = context.policy.mode === 'in_place' ? tables.filter(isTied) : [];
  written.push(...(await writeAtOnce(context, session, tied, run)));
  for (const table of tables.filter((one) => !tied.includes(one))) {
    const write = context.policy.mode === 'new' ? writeNewColumns : writeInBatches;
    // An earlier target may be on the same table.
    const found = await session.retry(() => refresh(context, session, table.found));
    written.push(await write(context, session, found, table.agreed, run));
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

function schemasOf(targets: readonly PostgresTarget[]): Set<string> {
  return new Set(targets.map((target) => target.ledgerSchema));
}

async function readAllRuns(session: PgSession, targets: readonly PostgresTarget[]): Promise<LedgerRun[]> {
  const runs: LedgerRun[] = [];
  for (const schema of schemasOf(targets))
    runs.push(...(await session.retry(() => readPgRuns(session, schema))));
  return runs;
}

async function undoAll(
  context: ApplyContext,
  session: PgSession,
  schema: string,
  run: string,
): Promise<readonly Undone[]> {
  const all = await session.retry(() => readUnitsOfRun(session, schema, run));
  const units = all.filter(({ state }) => state !== 'undone');
  for (const { table } of units) await session.retry(() => assertOwnLedger(session, schema, table));
  const tied = units.filter((unit) => unit.mode === 'in_place' && unit.isAtomic);
  const undone: Undone[] = [];
  for (const unit of units.filter((one) => !tied.includes(one)).reverse()) {
    undone.push(
      await (unit.mode === 'new'
        ? undoNewColumns(context, session, unit)
        : undoInBatches(context, session, unit)),
    );
  }
  return [...undone, ...(await undoAtOnce(session, tied))];
}

async function verifyAll(
  context: ApplyContext,
  session: PgSession,
  targets: readonly PostgresTarget[],
  run: string | null,
): Promise<readonly Verified[]> {
  const names = targets.map(({ name }) => name);
  const verified: Verified[] = [];
  for (const schema of schemasOf(targets)) {
    for (const unit of await session.retry(() => readDoneUnits(session, schema))) {
      const isAsked = run === null ? names.includes(unit.target.name) : unit.run === run;
      if (isAsked) verified.push(await verifyUnit(context, session, unit));
    }
  }
  return verified;
}
