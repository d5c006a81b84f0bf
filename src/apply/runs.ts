import { existsSync } from 'node:fs';
import { type ApplyTarget, isServer, isTextFile } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import { countOf } from '../text/numbers.js';
import { suggest } from '../text/suggest.js';
import { wrapLines } from '../text/text-layout.js';
import type { ApplyResult, ApplyTask } from './actions.js';
import type { LedgerRun, RunVerification, UndoResult } from './context.js';
import { renderRuns, renderUndone, renderVerified } from './render.js';
import { listRuns, type OpenStore } from './stores.js';

/** What the commands on runs need besides. */
export interface RunsTask extends ApplyTask {
  /** Formats the command that plans again what a run did before it was undone; without a run, one that looks for ids. */
  readonly formatPlan: (run: LedgerRun | undefined) => string;
}

/**
 * Recomputes finished runs from ledger and remap. Exit code 0: everything is correct; 1: something is wrong, another
 * program changed rows since, a run is unfinished, or there is nothing to verify. `run`: the one to verify; null: all.
 * `isPlace`: the stores are places that options name.
 */
export async function verifyRuns(
  { context, stores, width, formatCommand, formatPlan }: RunsTask,
  run: string | null,
  isPlace: boolean,
): Promise<ApplyResult> {
  const all = await listRuns(stores);
  const runs = run === null ? all : all.filter((one) => one.run === run);
  if (run !== null && runs.length === 0)
    throw new SvcError('usage', `No ledger of these targets holds a run "${run}".`, {
      hint: '`svc-migrate apply runs` lists them.',
    });
  // A place that options name has no targets of its own, but those of its runs.
  const names = run === null && !isPlace ? [null] : new Set(runs.map((one) => one.run));
  const verified = [];
  for (const store of stores) for (const name of names) verified.push(...(await store.verify(name)));
  const unfinished = runs.filter(({ state }) => state === 'working' || state === 'undoing');
  const isKept =
    context.policy.others === 'keep' || verified.every(({ changedSinceCount }) => changedSinceCount === 0);
  const isRight =
    verified.some(({ notChecked }) => notChecked === null) &&
    verified.every(({ wrongCount }) => wrongCount === 0) &&
    unfinished.length === 0;
  const isGood = isRight && isKept;
  const since = verified.find(({ changedSinceCount }) => changedSinceCount > 0);
  const lines = unfinished.map(({ run, target }) => `${target}: run ${run} is unfinished.`);
  const none = verified.length === 0 && unfinished.length === 0 ? ['No finished run was found.'] : [];
  const countChanged = ({ target, run, changedSinceCount }: RunVerification): string => {
    const own = runs.find((one) => one.run === run && one.target === target);
    return countOf(changedSinceCount, own !== undefined && isTextFile(own.definition) ? 'file' : 'cell');
  };
  // The gravest first.
  const problems = [
    ...verified.flatMap(({ target, wrongCount }) =>
      wrongCount === 0 ? [] : [`${target}: ${countOf(wrongCount, 'cell')} WRONG.`],
    ),
    ...lines,
    ...none,
    ...verified.flatMap((one) =>
      one.changedSinceCount === 0 ? [] : [`${one.target}: ${countChanged(one)} changed by others since.`],
    ),
    'No run could be checked.',
  ];
  const isOlder = verified.some(({ byLedgerAlone }) => byLedgerAlone);
  const isOpen = isOlder || verified.some(({ cameSince }) => cameSince > 0);
  const advice = isOlder
    ? 'The remap is another one since: the next write says whether it gives other ids.'
    : isOpen
      ? 'The next write fills what came since.'
      : 'Your programs can read the V4 ids now; apply check lists the ids that have none.';
  const end = isGood ? [`PASS: ${advice}`] : ['FAIL', `Biggest blocker: ${problems[0]}`];
  return {
    exitCode: isGood ? 0 : 1,
    text: `${renderVerified(verified, width, countChanged)}${wrapLines([...lines, ...end], width)}`,
    json: { action: 'verify', verified, unfinished: unfinished.map(({ definition: _, ...run }) => run) },
    next: isGood
      ? isOpen
        ? formatCommand('write')
        : 'svc-migrate help cutover'
      : isRight || none.length > 0
        ? formatPlan(runs.find(({ run }) => run === since?.run))
        : formatCommand('runs'),
  };
}

/** Lists the runs in the ledgers. */
export async function showRuns(task: RunsTask): Promise<ApplyResult> {
  const { width, formatCommand, formatPlan } = task;
  const runs = await readRuns(task);
  const last = runs.findLast(({ state }) => state !== 'undone');
  return {
    exitCode: 0,
    text: runs.length === 0 ? 'The ledgers of these targets hold no runs.\n' : renderRuns(runs, width),
    json: { action: 'runs', runs: runs.map(({ definition: _, ...run }) => run) },
    next:
      last === undefined
        ? formatPlan(runs.at(-1))
        : last.state === 'done'
          ? formatCommand('verify')
          : formatCommand('undo', {}, last.run),
  };
}

/** Until a run is undone in full, its values cannot be told from V4 ids: nothing else may be planned on its columns. */
const WAY_OUT =
  'Plans take these places for V4 ids until the run is undone in full: note what they hold, set them to what the run wrote (the column new of the ledger), empty them in a new column, or move a new file away, and undo again. Then write back what you noted.';

/**
 * Undoes a run; null: the only one. Exit code 1: rows that changed since were left as they are.
 *
 * @throws SvcError `usage` if there is no such run, or there are several, `apply_stopped`
 */
export async function undoRun(task: RunsTask, named: string | null): Promise<ApplyResult> {
  const { stores, width, formatCommand, formatPlan } = task;
  const runs = await readRuns(task);
  const run = named ?? onlyRun(runs);
  const own = runs.filter((one) => one.run === run);
  if (run !== null && own.length === 0) throw unknownRun(run, runs);
  const next = formatPlan(own[0]);
  if (run === null || own.every(({ state }) => state === 'undone')) {
    const what =
      run === null ? 'There is no run to undo.' : `Run ${run} was already undone: there is nothing to do.`;
    return {
      exitCode: 0,
      text: `${what}\n`,
      json: { action: 'undo', run: run ?? '', undone: [] },
      next,
    };
  }
  const undone = await undoStores(stores, run);
  const isLeft = undone.some(({ changedSinceCount }) => changedSinceCount > 0);
  const title = `Run ${run} is undone${isLeft ? ', except where values changed since' : ''}.`;
  return {
    exitCode: isLeft ? 1 : 0,
    text: `${title}\n${renderUndone(undone, width)}${isLeft ? wrapLines([WAY_OUT], width) : ''}`,
    json: { action: 'undo', run, undone },
    next: isLeft ? formatCommand('undo', {}, run) : next,
  };
}

/** The runs, the oldest first. */
async function readRuns({ stores, targets }: ApplyTask): Promise<LedgerRun[]> {
  const runs = (await listRuns(stores)).toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  if (runs.length === 0) assertPlaces(targets);
  return runs;
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
  const names = namesOf(runs);
  const [only, ...others] = names;
  if (only === undefined || others.length === 0) return only ?? null;
  throw new SvcError('usage', `${names.length} runs can be undone: ${names.slice(-5).join(', ')}.`, {
    hint: 'Name one; `svc-migrate apply runs` says what each did.',
  });
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

/** The runs that can be undone. */
function namesOf(runs: readonly LedgerRun[]): string[] {
  return [...new Set(runs.filter(({ state }) => state !== 'undone').map(({ run }) => run))];
}

function unknownRun(run: string, runs: readonly LedgerRun[]): SvcError {
  const names = namesOf(runs);
  const near = suggest(run, names);
  const known = names.length === 0 ? 'There is no run to undo.' : `Known: ${names.slice(-5).join(', ')}.`;
  return new SvcError('usage', `No ledger of these targets holds a run "${run}".`, {
    hint: near === null ? known : `Did you mean "${near}"?`,
  });
}
