import { existsSync } from 'node:fs';
import type { ApplyResult } from '../apply/actions.js';
import type { LedgerRun, UndoResult } from '../apply/context.js';
import { renderRuns, renderUndone } from '../apply/render.js';
import { closeStores, listRuns, type OpenStore, openStores } from '../apply/stores.js';
import { type ApplyTarget, isServer } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { type Db, openDatabase, openEmptyDatabase } from '../store/open.js';
import { shellLine } from '../text/escape.js';
import { suggest } from '../text/suggest.js';
import { wrapLines } from '../text/text-layout.js';
import { type ApplyJob, buildUndoContext } from './apply-work.js';
import type { WorkIo } from './command.js';
import { withLockOwner } from './database.js';
import { argumentsOfRun, placeArguments, type TargetSource } from './target-options.js';

/** Carries out `apply undo` and `apply runs`, in a worker thread. Neither needs a remap. */
export async function runUndoJob(
  { config, request }: Pick<ApplyJob, 'config' | 'request'>,
  io: WorkIo,
): Promise<ApplyResult> {
  const { action, targets, source, tuning } = request;
  const db = openRemap(config.database);
  const stores = await openStores(buildUndoContext({ db, tuning }, io), targets);
  try {
    const runs = (await listRuns(stores)).toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
    const formatUndo = (name: string) =>
      shellLine(['svc-migrate', 'apply', 'undo', name, ...placeArguments(source)]);
    const formatPlan = (run: LedgerRun | undefined) => formatApply({ source, config }, run);
    if (runs.length === 0) assertPlaces(targets);
    if (action === 'runs') return showRuns({ runs, formatPlan, formatUndo }, io);
    const run = request.run ?? onlyRun(runs);
    if (run === null) return nothingToUndo(formatPlan(undefined));
    return await undoRun({ stores, runs, run, formatPlan, formatUndo }, io);
  } finally {
    await closeStores(stores);
    db.close();
  }
}

/** @throws SvcError `bad_input` if a file does not exist: a wrong name would look like a file without runs */
function assertPlaces(targets: readonly ApplyTarget[]): void {
  const gone = targets.find((target) => !isServer(target) && !existsSync(target.file));
  if (gone === undefined || isServer(gone)) return;
  throw new SvcError('bad_input', `There is no file ${gone.file}.`, {
    hint: 'Name the file that a run read, or the database.',
  });
}

/**
 * The only run that can be undone; null if there is none.
 *
 * @throws SvcError `usage` if there are several
 */
function onlyRun(runs: readonly LedgerRun[]): string | null {
  const names = [...new Set(runs.filter(({ state }) => state !== 'undone').map(({ run }) => run))];
  const [only, ...others] = names;
  if (only === undefined || others.length === 0) return only ?? null;
  throw new SvcError('usage', `${names.length} runs can be undone: ${names.slice(-5).join(', ')}.`, {
    hint: 'Name one; `svc-migrate apply runs` says what each did.',
  });
}

function nothingToUndo(next: string): ApplyResult {
  const text = 'There is no run to undo.\n';
  return { exitCode: 0, text, json: { action: 'undo', run: '', undone: [] }, next, plan: null };
}

function openRemap(file: string): Db {
  const db = existsSync(file) ? withLockOwner(file, () => openDatabase(file, 'read')) : openEmptyDatabase();
  // Everything is read from one remap, also if another is built meanwhile.
  db.exec('BEGIN');
  return db;
}

interface RunsInput {
  readonly runs: readonly LedgerRun[];
  readonly formatPlan: (run: LedgerRun | undefined) => string;
  readonly formatUndo: (run: string) => string;
}

/** The command that plans again what a run did before it was undone. */
function formatApply(
  { source, config }: { readonly source: TargetSource; readonly config: Config },
  run: LedgerRun | undefined,
): string {
  const named = run === undefined ? null : argumentsOfRun(source, run.definition, config);
  if (run !== undefined && named !== null) {
    const mode = run.mode === 'in_place' ? ['--in-place'] : [];
    return shellLine(['svc-migrate', 'apply', 'plan', ...named, ...mode]);
  }
  return source.kind === 'given'
    ? shellLine(['svc-migrate', 'apply', 'find', ...placeArguments(source, false)])
    : 'svc-migrate apply plan';
}

function showRuns({ runs, formatPlan, formatUndo }: RunsInput, io: WorkIo): ApplyResult {
  const last = runs.findLast(({ state }) => state !== 'undone');
  return {
    exitCode: 0,
    text: runs.length === 0 ? 'The ledgers of these targets hold no runs.\n' : renderRuns(runs, io.width),
    json: { action: 'runs', runs: runs.map(({ definition: _, ...run }) => run) },
    next: last === undefined ? formatPlan(runs.at(-1)) : formatUndo(last.run),
    plan: null,
  };
}

interface UndoInput extends RunsInput {
  readonly stores: readonly OpenStore[];
  readonly run: string;
}

/** Until a run is undone in full, its values cannot be told from V4 ids: nothing else may be planned on its columns. */
const WAY_OUT =
  'Plans take these places for V4 ids until the run is undone in full: note what they hold, set them to what the run wrote (in tables: the column new of the ledger), and undo again. Then write back what you noted.';

async function undoRun(
  { stores, runs, run, formatPlan, formatUndo }: UndoInput,
  io: WorkIo,
): Promise<ApplyResult> {
  const own = runs.filter((one) => one.run === run);
  if (own.length === 0) throw unknownRun(run, runs);
  const again = formatPlan(own[0]);
  if (own.every(({ state }) => state === 'undone')) {
    const text = `Run ${run} was already undone: there is nothing to do.\n`;
    return { exitCode: 0, text, json: { action: 'undo', run, undone: [] }, next: again, plan: null };
  }
  const undone = await undoStores(stores, run);
  const left = undone.reduce((sum, one) => sum + one.changedSinceCount, 0);
  const title =
    left === 0 ? `Run ${run} is undone.` : `Run ${run} is undone, except where values changed since.`;
  return {
    exitCode: left === 0 ? 0 : 1,
    text: `${title}\n${renderUndone(undone, io.width)}${left === 0 ? '' : wrapLines([WAY_OUT], io.width)}`,
    json: { action: 'undo', run, undone },
    next: left === 0 ? again : formatUndo(run),
    plan: null,
  };
}

async function undoStores(stores: readonly OpenStore[], run: string): Promise<UndoResult[]> {
  const undone: UndoResult[] = [];
  for (const store of stores) {
    try {
      undone.push(...(await store.undo(run)));
    } catch (error) {
      if (
        !(error instanceof SvcError) ||
        error.code === 'interrupted' ||
        !(await hasBegun(store, run, undone))
      )
        throw error;
      throw new SvcError('apply_stopped', `Run ${run} is only partly undone: ${error.message}`, {
        hint: `${error.hint ?? 'Correct what stopped it.'} Then run the same command again.`,
        facts: error.facts,
        cause: error,
      });
    }
  }
  return undone;
}

/** Whether this undo has changed anything. An unreadable ledger counts as changed. */
async function hasBegun(store: OpenStore, run: string, undone: readonly UndoResult[]): Promise<boolean> {
  if (undone.some(({ restored }) => restored > 0)) return true;
  try {
    return (await store.runs()).some((one) => one.run === run && one.state === 'undoing');
  } catch {
    return true;
  }
}

function unknownRun(run: string, runs: readonly LedgerRun[]): SvcError {
  const names = [...new Set(runs.filter(({ state }) => state !== 'undone').map((one) => one.run))];
  const near = suggest(run, names);
  const known = names.length === 0 ? 'There is no run to undo.' : `Known: ${names.slice(-5).join(', ')}.`;
  return new SvcError('usage', `No ledger of these targets holds a run "${run}".`, {
    hint: near === null ? known : `Did you mean "${near}"?`,
  });
}
