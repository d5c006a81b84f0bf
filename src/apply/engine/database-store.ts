import type { TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { DataStore, LedgerRun, RunFacts, RunVerification, UndoResult, WriteResult } from '../context.js';
import { buildScript } from '../emit/build-script.js';
import { isFinished, type TargetPlan } from '../plan.js';
import { sampleTables } from '../scan/sample-tables.js';
import type { TableWrite } from './column-plans.js';
import type { Engine } from './dialect.js';
import { findTables, refresh } from './found-table.js';
import { configuredColumns, normalizeColumns } from './id-columns.js';
import { countCells, dropUnusedTables, ensureLedger, ledgerNotes, readRuns } from './ledger-runs.js';
import { surveyTable } from './survey-table.js';
import { type FoundTable, type Ledger, ledgerOf, type TableRun } from './table-facts.js';
import { undoRuns } from './undo-rows.js';
import { verifyRun } from './verify-run.js';
import { writeTables } from './write-rows.js';

/** A database that is connected on first use. */
export interface DatabaseConnection {
  /** Runs `work` with the database; database errors are thrown as SvcError. */
  use<T>(access: 'read' | 'write', work: (engine: Engine) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Opens the tables of one database. */
export function openDatabaseStore(
  { use, close }: DatabaseConnection,
  given: readonly TableTarget[],
): DataStore {
  const targets = given.map(normalizeColumns);
  return {
    runs: () =>
      use('read', async (engine) => {
        const listed: LedgerRun[] = [];
        for (const run of await readAllRuns(engine, targets)) {
          const { mode, state, startedAt, planSha256 } = run;
          const isUnderWay = state === 'working' && mode === 'in_place';
          const count = () => countCells(engine, run, `w.id <= ${run.done}`);
          listed.push({
            run: run.run,
            target: run.target.name,
            definition: configuredColumns(run.target),
            place: `${await engine.session.place()}, table ${run.table}`,
            mode,
            state,
            changed: isUnderWay ? await engine.session.retry(count) : run.changed,
            startedAt,
            planSha256,
          });
        }
        return listed;
      }),
    survey: (options = {}) =>
      use('read', (engine) =>
        engine.session.transaction('read', async () => {
          const { context } = engine;
          const policy = options.isAfterRun ? { ...context.policy, again: false } : context.policy;
          const own = { ...engine, context: { ...context, policy } };
          const plans: TargetPlan[] = [];
          for (const found of await findTables(own, targets))
            plans.push(await surveyTable(own, found, options));
          return plans;
        }),
      ),
    sample: (table) =>
      use('read', (engine) => engine.session.transaction('read', () => sampleTables(engine, targets, table))),
    write: (agreed, run) => use('write', (engine) => writeAll(engine, targets, agreed, run)),
    emit: (agreed, run) =>
      use('read', (engine) =>
        engine.session.transaction('read', async () =>
          buildScript(engine, await findTables(engine, targets), agreed, run),
        ),
      ),
    undo: (name) => use('write', (engine) => undoAll(engine, targets, name)),
    verify: (name) => use('read', (engine) => verifyAll(engine, targets, name)),
    close,
  };
}

function ledgersOf(engine: Engine, targets: readonly TableTarget[]): Ledger[] {
  const all = targets.map((target) => ledgerOf(engine, target));
  return [...new Map(all.map((ledger) => [ledger.name, ledger])).values()];
}

async function readAllRuns(engine: Engine, targets: readonly TableTarget[]): Promise<TableRun[]> {
  const runs: TableRun[] = [];
  for (const ledger of ledgersOf(engine, targets)) {
    runs.push(...(await engine.session.retry(() => readRuns(engine, ledger))));
  }
  return runs;
}

/** @throws SvcError `bad_input` with the first of `ledgerNotes` */
async function assertOwnLedger(engine: Engine, ledger: Ledger, table: string): Promise<void> {
  const [note] = await ledgerNotes(engine, ledger, table);
  if (note !== undefined) throw new SvcError('bad_input', note.text);
}

/** First writes the tables whose ids are under constraints, in one transaction; then the others one by one, in batches. */
async function writeAll(
  engine: Engine,
  targets: readonly TableTarget[],
  agreed: readonly TargetPlan[],
  run: RunFacts,
): Promise<readonly WriteResult[]> {
  const { context, session } = engine;
  const { mode, again } = context.policy;
  const written: WriteResult[] = [];
  const tables: TableWrite[] = [];
  for (const ledger of ledgersOf(engine, targets)) {
    await ensureLedger(engine, ledger);
    await dropUnusedTables(engine, ledger);
  }
  for (const found of await session.retry(() => findTables(engine, targets))) {
    await session.retry(() => assertOwnLedger(engine, found.ledger, found.facts.table));
    const plan = agreed.find(({ name }) => name === found.target.name);
    if (plan === undefined) continue;
    if (isFinished(found.earlier, again)) written.push(alreadyDone(found));
    else tables.push({ found, plan, run });
  }
  const isAtOnce = ({ found: { handling, earlier } }: TableWrite) =>
    mode === 'in_place' && handling.isAtomic && earlier.state !== 'unfinished';
  written.push(...(await writeTables(engine, tables.filter(isAtOnce), true)));
  for (const table of tables.filter((one) => !isAtOnce(one))) {
    // An earlier target may have changed the same table.
    const found = await session.retry(() => refresh(engine, table.found));
    written.push(...(await writeTables(engine, [{ ...table, found }], false)));
  }
  return written;
}

function alreadyDone({ target, earlier: { run, done } }: FoundTable): WriteResult {
  return {
    target: target.name,
    run: run ?? '',
    changed: done,
    skipped: [],
    skippedCount: 0,
    alreadyDone: true,
  };
}

async function undoAll(engine: Engine, targets: readonly TableTarget[], run: string): Promise<UndoResult[]> {
  const { session } = engine;
  const undone: UndoResult[] = [];
  for (const ledger of ledgersOf(engine, targets)) {
    const all = await session.retry(() => readRuns(engine, ledger, 'run = $1', run));
    const runs = all.filter(({ state }) => state !== 'undone');
    if (all.length > runs.length) await dropUnusedTables(engine, ledger);
    for (const { table } of runs) await session.retry(() => assertOwnLedger(engine, ledger, table));
    undone.push(...(await undoRuns(engine, runs)));
  }
  return undone;
}

async function verifyAll(
  engine: Engine,
  targets: readonly TableTarget[],
  run: string | null,
): Promise<RunVerification[]> {
  const names = targets.map(({ name }) => name);
  const verified: RunVerification[] = [];
  for (const ledger of ledgersOf(engine, targets)) {
    for (const one of await engine.session.retry(() => readRuns(engine, ledger, 'state = $1', 'done'))) {
      const isAsked = run === null ? names.includes(one.target.name) : one.run === run;
      if (isAsked) verified.push(await verifyRun(engine, one));
    }
  }
  return verified;
}
