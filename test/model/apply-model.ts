import type { ApplyContext } from '../../src/apply/context.js';
import { findEarlier, needsLookUp, unfinishedNotes } from '../../src/apply/engine/judge-table.js';
import { isFinished } from '../../src/apply/plan.js';
import type { SqliteTarget } from '../../src/config/apply-targets.js';
import {
  applyForeign,
  type Disk,
  type Entry,
  type Foreign,
  factsOf,
  type ModelUnit,
  withUnit,
} from './apply-state.js';

/** A process that applies or takes back, how far it comes, and what another program does meanwhile. */
export interface Session {
  readonly command: 'apply' | 'again' | 'undo';
  /** The run: a new one's name, or the one to take back. */
  readonly run: string;
  /** It dies before this transaction, counted from 0; null: it lives. */
  readonly dieBefore: number | null;
  /** What another program does before a transaction. */
  readonly foreign: { readonly before: number; readonly write: Foreign } | null;
}

/** Mistakes that the model can be made with. */
export type Fault =
  /** A batch and the progress in the ledger are two transactions. */
  | 'progress_apart'
  /** A second run looks at rows that have an entry. */
  | 'ledger_ignored'
  /** Rows are changed whatever they hold by now. */
  | 'unguarded';

/** What the model is made of: the product's own decisions, and what maps to what. */
export interface Subject {
  readonly target: SqliteTarget;
  readonly contextOf: (again: boolean) => ApplyContext;
  /** The V4 id by the product's look-up; null: the value stays. */
  readonly twinOf: (value: number) => number | null;
  readonly batchRows: number;
  readonly fault: Fault | null;
}

/** A transaction: the disk after it, and the disk that the next one begins from. */
type Step = (disk: Disk) => Disk;

/** The disk before each transaction of a session, and after the last one. */
export interface Played {
  readonly trace: readonly Disk[];
  /** False where it died. */
  readonly isComplete: boolean;
}

export function playSession(subject: Subject, start: Disk, session: Session): Played {
  const process =
    session.command === 'undo' ? undoing(subject, start, session) : applying(subject, start, session);
  const trace: Disk[] = [];
  let disk = start;
  let next = process.next(disk);
  for (let at = 0; next.done !== true; at += 1) {
    if (session.foreign?.before === at) disk = applyForeign(disk, session.foreign.write);
    trace.push(disk);
    if (session.dieBefore === at) return { trace, isComplete: false };
    disk = next.value(disk);
    next = process.next(disk);
  }
  return { trace: [...trace, disk], isComplete: true };
}

/** The transactions of an apply. It decides by what it saw at its start, and by the ledger after each of them. */
function* applying(subject: Subject, start: Disk, { command, run }: Session): Generator<Step, void, Disk> {
  const context = subject.contextOf(command === 'again');
  const units = start.units.filter(({ state }) => state !== 'undone');
  const facts = units.map((unit) => factsOf(subject.target, unit));
  if (unfinishedNotes(context, subject.target, facts).length > 0) return;
  const { earlier } = findEarlier(context, subject.target, facts);
  const since = unentered(subject, start, units).length;
  const found = { ...earlier, since };
  if (isFinished(found, context.policy.again)) return;
  const open = units.find(({ state }) => state === 'working');
  const name = open?.run ?? run;
  let disk = start;
  if (open === undefined) {
    const [id] = subject.target.ids;
    const takes = id !== undefined && needsLookUp(context, { runs: facts, earlier: found }, id);
    disk = yield (now) => begin(subject, now, name, takes ? units : null);
  }
  for (;;) {
    const unit = unitOf(disk, name);
    if (unit.done >= unit.total) break;
    const batch = { from: unit.done, until: Math.min(unit.done + subject.batchRows, unit.total) };
    if (subject.fault === 'progress_apart') disk = yield (now) => changeRows(subject, now, name, batch);
    disk = yield (now) => {
      const after = subject.fault === 'progress_apart' ? now : changeRows(subject, now, name, batch);
      return withUnit(after, { ...unitOf(after, name), done: batch.until });
    };
  }
  yield (now) => finish(now, name);
}

function unitOf({ units }: Disk, run: string): ModelUnit {
  const found = units.find((unit) => unit.run === run);
  if (found === undefined) throw new Error(`no run ${run}`);
  return found;
}

/** Rows that no run has entered. */
function unentered({ fault }: Subject, { cells }: Disk, units: readonly ModelUnit[]): [number, number][] {
  const entered = new Set(units.flatMap(({ entries }) => entries.map(({ key }) => key)));
  return [...cells]
    .filter(([key]) => fault === 'ledger_ignored' || !entered.has(key))
    .map(([key, { value }]) => [key, value]);
}

/** Enters every change. `units`: the runs whose rows are left alone; null: nothing is taken. */
function begin(subject: Subject, disk: Disk, run: string, units: readonly ModelUnit[] | null): Disk {
  const entries: Entry[] = [];
  for (const [key, old] of units === null ? [] : unentered(subject, disk, units)) {
    const twin = subject.twinOf(old);
    if (twin !== null) entries.push({ id: entries.length + 1, key, old, new: twin });
  }
  const total = entries.length;
  const unit = { run, state: 'working', done: 0, total, changed: 0, skipped: 0, entries } as const;
  return { ...disk, units: [...disk.units, unit] };
}

/** Changes the rows of a batch that hold their old ids; entries of the others leave the ledger. */
function changeRows(
  { fault }: Subject,
  disk: Disk,
  run: string,
  { from, until }: { readonly from: number; readonly until: number },
): Disk {
  const cells = new Map(disk.cells);
  const unit = unitOf(disk, run);
  const kept = unit.entries.filter((entry) => {
    if (entry.id <= from || entry.id > until) return true;
    const cell = cells.get(entry.key);
    if (cell === undefined || (cell.value !== entry.old && fault !== 'unguarded')) return false;
    cells.set(entry.key, { ...cell, value: entry.new, mapped: cell.mapped + 1 });
    return true;
  });
  const skipped = unit.skipped + unit.entries.length - kept.length;
  return withUnit({ ...disk, cells }, { ...unit, entries: kept, skipped });
}

function finish(disk: Disk, run: string): Disk {
  const unit = unitOf(disk, run);
  return withUnit(disk, { ...unit, state: 'done', changed: unit.entries.length });
}

/** The transactions of an undo. */
function* undoing(subject: Subject, start: Disk, { run }: Session): Generator<Step, void, Disk> {
  const found = start.units.find((unit) => unit.run === run && unit.state !== 'undone');
  if (found === undefined) return;
  let disk = yield (now) => beginUndo(now, run);
  for (let { done } = unitOf(disk, run); done > 0; { done } = unitOf(disk, run)) {
    const batch = { from: Math.max(0, done - subject.batchRows), until: done };
    disk = yield (now) => restoreRows(now, run, batch);
  }
  yield (now) => finishUndo(now, run);
}

/** Entries that were not carried out leave the ledger. */
function beginUndo(disk: Disk, run: string): Disk {
  const unit = unitOf(disk, run);
  if (unit.state !== 'working') return withUnit(disk, { ...unit, state: 'undoing' });
  const entries = unit.entries.filter(({ id }) => id <= unit.done);
  return withUnit(disk, { ...unit, state: 'undoing', total: unit.done, entries });
}

/** Restores the rows of a batch, the last one first, that hold what the run wrote; their entries leave the ledger. */
function restoreRows(
  disk: Disk,
  run: string,
  { from, until }: { readonly from: number; readonly until: number },
): Disk {
  const cells = new Map(disk.cells);
  const unit = unitOf(disk, run);
  const entries = unit.entries.filter((entry) => {
    const cell = cells.get(entry.key);
    if (entry.id <= from || entry.id > until || cell?.value !== entry.new) return true;
    cells.set(entry.key, { ...cell, value: entry.old, mapped: cell.mapped - 1 });
    return false;
  });
  return withUnit({ ...disk, cells }, { ...unit, entries, done: from });
}

/** Entries of rows that are gone leave the ledger; others say what is left. */
function finishUndo(disk: Disk, run: string): Disk {
  const unit = unitOf(disk, run);
  const entries = unit.entries.filter(({ key }) => disk.cells.has(key));
  const isUndone = entries.length === 0;
  return withUnit(disk, {
    ...unit,
    entries,
    state: isUndone ? 'undone' : 'done',
    done: isUndone ? 0 : unit.total,
  });
}
