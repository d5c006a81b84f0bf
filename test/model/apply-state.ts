import type { EarlierRun } from '../../src/apply/engine/table-facts.js';
import type { SqliteTarget } from '../../src/config/apply-targets.js';
import type { SeenRun } from '../apply/support/ledger.js';

/** One cell of the table, with what only an observer of everything knows. */
export interface Cell {
  readonly value: number;
  /** What its owner, or another program, last put there. */
  readonly base: number;
  /** How often it was rewritten since, less how often that was taken back. */
  readonly mapped: number;
}

export interface Entry {
  readonly id: number;
  readonly key: number;
  readonly old: number;
  readonly new: number;
}

/** One run in the ledger. */
export interface ModelUnit {
  readonly run: string;
  readonly state: 'working' | 'done' | 'undoing' | 'undone';
  readonly done: number;
  readonly total: number;
  readonly changed: number;
  readonly skipped: number;
  readonly entries: readonly Entry[];
}

/** What is on disk: the table by its key, and the ledger. */
export interface Disk {
  readonly cells: ReadonlyMap<number, Cell>;
  readonly units: readonly ModelUnit[];
}

/** What another program does, in one transaction of its own. */
export type Foreign =
  | { readonly kind: 'set'; readonly key: number; readonly value: number }
  | { readonly kind: 'delete'; readonly key: number };

/** A small table with its remap. */
export interface World {
  readonly name: string;
  readonly remap: ReadonlyMap<number, number>;
  /** Ids of the rows 1, 2, … */
  readonly ids: readonly number[];
  readonly batchRows: number;
  readonly foreign: readonly Foreign[];
}

export function initialDisk({ ids }: World): Disk {
  return { cells: new Map(ids.map((id, at) => [at + 1, ownCell(id)])), units: [] };
}

function ownCell(value: number): Cell {
  return { value, base: value, mapped: 0 };
}

/** The table after another program's write. Writing what is there already changes nothing. */
export function applyForeign(disk: Disk, foreign: Foreign): Disk {
  const cells = new Map(disk.cells);
  if (foreign.kind === 'delete') cells.delete(foreign.key);
  else if (cells.get(foreign.key)?.value !== foreign.value) cells.set(foreign.key, ownCell(foreign.value));
  return { ...disk, cells: new Map([...cells].sort(([a], [b]) => a - b)) };
}

/** The disk with one unit replaced. */
export function withUnit(disk: Disk, unit: ModelUnit): Disk {
  return { ...disk, units: disk.units.map((one) => (one.run === unit.run ? unit : one)) };
}

/** As the product's own functions know a unit. */
export function factsOf(target: SqliteTarget, unit: ModelUnit): EarlierRun {
  const { run, state, changed } = unit;
  return {
    run,
    target,
    labels: target.ids.map(({ column }) => column),
    key: ['k'],
    mode: 'in_place',
    remapSha256: 'sha-of-remap',
    state,
    changed,
  };
}

/** Everything about a disk, for comparing and for telling states apart. */
export function keyOfDisk({ cells, units }: Disk): string {
  const rows = [...cells].map(([key, { value, base, mapped }]) => `${key}:${value}/${base}/${mapped}`);
  const runs = units.map(({ run, state, done, total, changed, skipped, entries }) => {
    const own = entries.map((one) => `${one.id}=${one.key}:${one.old}>${one.new}`).join(',');
    return `${run} ${state} ${done}/${total} c${changed} s${skipped} [${own}]`;
  });
  return `${rows.join(' ')} | ${runs.join('; ')}`;
}

/** What an outsider sees of it: the part that the real engine must agree with. */
export function showDisk({ cells, units }: Disk): string {
  const show = ({ key, old, new: now }: Entry): string => `${key}:${old}>${now}`;
  const runs = units.map(({ run, state, changed, skipped, entries, done }) => ({
    run,
    state,
    changed,
    skipped,
    applied: entries.filter(({ id }) => id <= done).map(show),
    pending: state === 'working' ? entries.filter(({ id }) => id > done).map(show) : [],
  }));
  return showSeen(
    [...cells].map(([key, { value }]) => [key, value]),
    runs,
  );
}

/** The rows of the table and what the ledger says of each run, as text. */
export function showSeen(
  rows: readonly (readonly [key: number, value: number])[],
  runs: readonly SeenRun[],
): string {
  const texts = runs.map(
    ({ run, state, changed, skipped, applied, pending }) =>
      `${run} ${state} c${changed} s${skipped} [${applied}] and [${pending}] to do`,
  );
  return `${rows.map((row) => row.join(':')).join(' ')} | ${texts.join('; ')}`;
}
