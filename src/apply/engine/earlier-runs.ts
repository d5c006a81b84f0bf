import { columnLabel, type IdColumn, newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { parseJsonPath } from '../../json/json-path.js';
import { blocks } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { type Earlier, NO_EARLIER, type Note } from '../plan.js';

/** One table in one run, as both ledgers know it. */
export interface EarlierRun {
  readonly run: string;
  readonly target: TableTarget;
  /** Labels of the columns. */
  readonly labels: readonly string[];
  readonly key: readonly string[];
  readonly mode: 'new' | 'in_place';
  readonly remapSha256: string;
  readonly state: 'working' | 'done' | 'undoing' | 'undone';
  readonly last: number;
  readonly done: number;
  readonly changed: number;
}

/** An unfinished run goes first, and with the remap it began with. */
export function earlierNotes(
  context: ApplyContext,
  target: TableTarget,
  units: readonly EarlierRun[],
): Note[] {
  const open = units.find(({ state }) => state !== 'done');
  if (open === undefined) return [];
  const labels = target.ids.map(columnLabel);
  const isOurs =
    open.state === 'working' && open.mode === context.policy.mode && isSameList(open.labels, labels);
  if (!isOurs) {
    const what =
      open.state === 'undoing' ? 'is half taken back: finish with' : 'is unfinished: finish it, or';
    return [blocks('other_run', `Run ${open.run} ${what} \`svc-migrate undo ${open.run}\`.`)];
  }
  if (open.remapSha256 === context.facts.sha256) return [];
  const text = `Run ${open.run} began with another remap: finish it with that one, or \`svc-migrate undo ${open.run}\`.`;
  return [blocks('other_remap', text)];
}

/** Entries are found by the key they were made with. */
export function otherKeyNotes(key: readonly string[], units: readonly EarlierRun[]): Note[] {
  const other = units.find((unit) => unit.mode === 'in_place' && !isSameList(unit.key, key));
  if (other === undefined || key.length === 0) return [];
  return [
    blocks(
      'other_key',
      `Run ${other.run} told the rows apart by ${other.key.join(', ')}: name that as the key.`,
    ),
  ];
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, at) => one === b[at]);
}

/** New columns that are there already and not ours, or that a run filled and somebody dropped. */
export function newColumnNotes(
  { policy }: ApplyContext,
  hasColumn: (name: string) => boolean,
  target: TableTarget,
  units: readonly EarlierRun[],
): Note[] {
  if (policy.mode !== 'new') return [];
  const labels = target.ids.map(columnLabel);
  // What was filled from another column, or another path of it, is somebody else's.
  const fillers = new Map(
    units
      .filter(({ mode }) => mode === 'new')
      .flatMap((unit) =>
        unit.target.ids
          .filter((id) => labels.includes(columnLabel(id)))
          .map((id) => [newColumnOf(id), unit.run] as const),
      ),
  );
  const ours = [...fillers.keys()];
  const gone = ours.filter((name) => !hasColumn(name));
  if (gone.length > 0) return gone.map((name) => goneNote(name, fillers.get(name) ?? ''));
  const names = target.ids.map(newColumnOf);
  const filled = names.filter((name) => ours.includes(name));
  const fresh = names.filter((name) => !ours.includes(name));
  if (filled.length > 0 && fresh.length > 0) {
    const text = `${filled.join(', ')} of this target is there, ${fresh.join(', ')} is not: give new columns a target of their own, or take the run back first.`;
    return [blocks('other_run', text)];
  }
  return names
    .filter((name) => hasColumn(name) && !ours.includes(name))
    .map((name) =>
      blocks(
        'new_column_exists',
        `There is a column "${name}" already that svc-migrate did not fill from here.`,
      ),
    );
}

function goneNote(name: string, run: string): Note {
  const text = `The column ${name}, which run ${run} filled, is gone. Take the run back with \`svc-migrate undo ${run}\`, then apply again.`;
  return blocks('new_column_gone', text);
}

export function pathNotes({ path }: IdColumn): Note[] {
  if (path === undefined || parseJsonPath(path) !== null) return [];
  return [blocks('bad_path', `"${path}" is no JSON path: write it like "$.invoice.id" or "$.ids[*]".`)];
}

/** Whether a run has been through this column. */
function isCovered(units: readonly EarlierRun[], id: IdColumn): boolean {
  return units.some((unit) => unit.mode === 'in_place' && unit.labels.includes(columnLabel(id)));
}

/** Columns by which earlier runs find their rows must stay as they are. */
export function rowKeyNotes(
  { policy }: ApplyContext,
  target: TableTarget,
  units: readonly EarlierRun[],
): Note[] {
  if (policy.mode === 'new') return [];
  return target.ids.flatMap((id) => {
    const keyed = units.find((unit) => unit.mode === 'in_place' && isKeyOf(unit, id));
    if (keyed === undefined || isCovered(units, id)) return [];
    const text = `Run ${keyed.run} tells its rows apart by ${id.column}: take it back first, or leave ${id.column} as it is.`;
    return [blocks('other_run', text)];
  });
}

/** Whether a unit finds its rows by a column that it did not rewrite itself. */
function isKeyOf({ key, labels }: EarlierRun, { column, path }: IdColumn): boolean {
  return path === undefined && key.includes(column) && !labels.includes(column);
}

/**
 * Runs that find their rows by what this unit rewrote are taken back before it.
 *
 * @throws SvcError `bad_input`
 */
export function assertNoDependent(unit: EarlierRun, all: readonly EarlierRun[]): void {
  const isDependent = (other: EarlierRun) => unit.target.ids.some((id) => isKeyOf(other, id));
  const found = all.find((one) => one.run !== unit.run && one.mode === 'in_place' && isDependent(one));
  if (found === undefined) return;
  throw new SvcError('bad_input', `Run ${found.run} finds its rows by what run ${unit.run} rewrote.`, {
    hint: `Take run ${found.run} back first.`,
  });
}

/** Whether a column is to be looked up: what a run has been through is left alone without `again`. */
export function isOpen(
  { policy }: ApplyContext,
  { units, earlier }: { readonly units: readonly EarlierRun[]; readonly earlier: Earlier },
  id: IdColumn,
): boolean {
  if (policy.mode === 'new') return true;
  return earlier.state !== 'unfinished' && (policy.again || !isCovered(units, id));
}

/** Finished runs that rewrote a column in place, each with the column's place in it. */
export function finishedPlaces<U extends EarlierRun>(
  units: readonly U[],
  key: readonly string[],
  id: IdColumn,
): { readonly unit: U; readonly col: number }[] {
  const finished = units.filter(
    (unit) => unit.mode === 'in_place' && unit.state === 'done' && isSameList(unit.key, key),
  );
  return finished
    .map((unit) => ({ unit, col: unit.labels.indexOf(columnLabel(id)) }))
    .filter(({ col }) => col >= 0);
}

/** How far earlier runs came; the columns of which rows without an entry must be counted. */
export function findEarlier(
  context: ApplyContext,
  target: TableTarget,
  units: readonly EarlierRun[],
): { readonly earlier: Earlier; readonly covered: readonly IdColumn[] } {
  const labels = target.ids.map(columnLabel);
  const own = units.filter(
    (unit) => unit.mode === context.policy.mode && unit.labels.some((name) => labels.includes(name)),
  );
  const last = own.at(-1);
  if (last === undefined) return { earlier: NO_EARLIER, covered: [] };
  const done = own.reduce((sum, unit) => sum + unit.changed, 0);
  const base = { ...NO_EARLIER, run: last.run, done };
  if (context.policy.mode === 'new')
    return { earlier: { ...base, state: 'unfinished', left: 0 }, covered: [] };
  if (last.state !== 'done') {
    return { earlier: { ...base, state: 'unfinished', left: last.last - last.done }, covered: [] };
  }
  const covered = target.ids.filter((id) => isCovered(units, id));
  const state = covered.length === target.ids.length ? 'finished' : 'none';
  return { earlier: { ...base, state, left: 0 }, covered };
}
