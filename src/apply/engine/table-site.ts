import type { TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import {
  type DataStore,
  isFinished,
  type LedgerRun,
  type RunFacts,
  type SurveyOptions,
  surveyContext,
  type Undone,
  type Verified,
  type Written,
} from '../context.js';
import type { TargetPlan } from '../plan.js';
import type { Engine, Ledger } from './dialect.js';
import { type FoundTable, findTables, refresh } from './found-table.js';
import { mergePaths } from './json-columns.js';
import { readDoneRuns, readRuns, readTablesOfRun, type TableRun } from './ledger.js';
import { surveyTable } from './survey.js';
import { undoAtOnce, undoInBatches, undoNewColumns } from './undo.js';
import { verifyRun } from './verify.js';
import { type AgreedTable, writeAtOnce } from './write-at-once.js';
import { writeInBatches } from './write-batches.js';
import { writeNewColumns } from './write-new-columns.js';

/** A database that is connected to when it is needed. */
export interface Connection {
  /** Runs `work` with the database; its errors come out as SvcError. */
  use<T>(access: 'read' | 'write', work: (engine: Engine) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The tables of one database. */
export function openTableStore(connection: Connection, given: readonly TableTarget[]): DataStore {
  const targets = given.map(mergePaths);
  const { use, close } = connection;
  return {
    runs: () => use('read', (engine) => readAllRuns(engine, targets)),
    survey: (options = {}) =>
      use('read', (engine) => engine.session.transaction('read', () => surveyAll(engine, targets, options))),
    write: (agreed, run) => use('write', (engine) => writeAll(engine, targets, agreed, run)),
    undo: (run) => use('write', (engine) => undoAll(engine, targets, run)),
    verify: (run) => use('read', (engine) => verifyAll(engine, targets, run)),
    close,
  };
}

async function surveyAll(
  engine: Engine,
  targets: readonly TableTarget[],
  options: SurveyOptions,
): Promise<TargetPlan[]> {
  const own = { ...engine, context: surveyContext(engine.context, options) };
  const plans: TargetPlan[] = [];
  for (const found of await findTables(own, targets)) plans.push(await surveyTable(own, found, options));
  return plans;
}

/** Tables that are tied to their keys or to each other go first, together; the others one by one, in batches. */
async function writeAll(
  engine: Engine,
  targets: readonly TableTarget[],
  agreed: readonly TargetPlan[],
  run: RunFacts,
): Promise<readonly Written[]> {
  const { context, session, dialect } = engine;
  const { mode, again } = context.policy;
  const written: Written[] = [];
  const tables: AgreedTable[] = [];
  for (const ledger of ledgersOf(engine, targets)) await dialect.ensureLedger(ledger);
  for (const found of await session.retry(() => findTables(engine, targets))) {
    await session.retry(() => assertOwnLedger(engine, found.ledger, found.facts.table));
    const plan = agreed.find(({ name }) => name === found.target.name);
    if (plan === undefined) continue;
    if (isFinished(found.earlier, again)) written.push(alreadyDone(found));
    else tables.push({ found, agreed: plan });
  }
  const isTied = ({ found }: AgreedTable) => mode === 'in_place' && found.judgement.handling.isAtomic;
  written.push(...(await writeAtOnce(engine, tables.filter(isTied), run)));
  const write = mode === 'new' ? writeNewColumns : writeInBatches;
  for (const table of tables.filter((one) => !isTied(one))) {
    // An earlier target may be on the same table.
    const found = await session.retry(() => refresh(engine, table.found));
    written.push(await write(engine, found, table.agreed, run));
  }
  return written;
}

function alreadyDone({ target, earlier }: FoundTable): Written {
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

function ledgersOf({ dialect }: Engine, targets: readonly TableTarget[]): Ledger[] {
  const ledgers = targets.map((target) => dialect.ledgerOf(target));
  return ledgers.filter(({ name }, at) => ledgers.findIndex((one) => one.name === name) === at);
}

/** @throws SvcError `bad_input` as the dialect's `ledgerNotes` says */
async function assertOwnLedger({ dialect }: Engine, ledger: Ledger, table: string): Promise<void> {
  const [note] = await dialect.ledgerNotes(ledger, table);
  if (note !== undefined) throw new SvcError('bad_input', note.text);
}

async function readAllRuns(engine: Engine, targets: readonly TableTarget[]): Promise<LedgerRun[]> {
  const runs: LedgerRun[] = [];
  for (const ledger of ledgersOf(engine, targets)) {
    for (const run of await engine.session.retry(() => readRuns(engine, ledger)))
      runs.push(describeRun(engine, run));
  }
  return runs;
}

function describeRun({ dialect }: Engine, run: TableRun): LedgerRun {
  const { mode, state } = run;
  return {
    run: run.run,
    target: run.target.name,
    place: dialect.placeOfRun(run.table),
    mode,
    state,
    changed: state === 'working' && mode === 'in_place' ? run.done - run.first : run.changed,
    startedAt: run.startedAt,
    planSha256: run.planSha256,
  };
}

async function undoAll(
  engine: Engine,
  targets: readonly TableTarget[],
  run: string,
): Promise<readonly Undone[]> {
  const undone: Undone[] = [];
  for (const ledger of ledgersOf(engine, targets)) undone.push(...(await undoIn(engine, ledger, run)));
  return undone;
}

async function undoIn(engine: Engine, ledger: Ledger, run: string): Promise<readonly Undone[]> {
  const { session } = engine;
  const all = await session.retry(() => readTablesOfRun(engine, ledger, run));
  const runs = all.filter(({ state }) => state !== 'undone');
  for (const { table } of runs) await session.retry(() => assertOwnLedger(engine, ledger, table));
  const tied = runs.filter((one) => one.mode === 'in_place' && one.isAtomic);
  const undone: Undone[] = [];
  for (const one of runs.filter((other) => !tied.includes(other)).reverse()) {
    undone.push(await (one.mode === 'new' ? undoNewColumns(engine, one) : undoInBatches(engine, one)));
  }
  return [...undone, ...(await undoAtOnce(engine, tied))];
}

async function verifyAll(
  engine: Engine,
  targets: readonly TableTarget[],
  run: string | null,
): Promise<readonly Verified[]> {
  const names = targets.map(({ name }) => name);
  const verified: Verified[] = [];
  for (const ledger of ledgersOf(engine, targets)) {
    for (const one of await engine.session.retry(() => readDoneRuns(engine, ledger))) {
      const isAsked = run === null ? names.includes(one.target.name) : one.run === run;
      if (isAsked) verified.push(await verifyRun(engine, one));
    }
  }
  return verified;
}
