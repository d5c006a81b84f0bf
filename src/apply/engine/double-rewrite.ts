import { columnLabel, type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { blocks } from '../column-work.js';
import type { Mode, Note } from '../plan.js';
import type { EarlierRun } from './earlier-runs.js';
import { partsOf, pathsMeet } from './json-columns.js';
import type { Judgement, Rewritten } from './judge-table.js';

/**
 * What would rewrite an id a second time: V4 ids taken for V3 ids. Columns that a run rewrote or filled, under any
 * path that can lead to the same values.
 */
export function writtenNotes(mode: Mode, ids: readonly IdColumn[], units: readonly EarlierRun[]): Note[] {
  return ids.flatMap((id) => {
    const filler = units.find(
      (unit) => unit.mode === 'new' && unit.target.ids.some((own) => isSame(newColumnOf(own), id.column)),
    );
    if (filler !== undefined) {
      return [blocks('v4_column', `${id.column} was filled by run ${filler.run}: its ids are V4 ids.`)];
    }
    const writer = units.find(
      (unit) =>
        unit.mode === 'in_place' &&
        unit.target.ids.some((own) => meets(own, id) && !isContinued(mode, own, id)),
    );
    if (writer === undefined) return [];
    return [
      blocks(
        'rewritten',
        `${columnLabel(id)} was rewritten in place by run ${writer.run}: its ids are V4 ids.`,
      ),
    ];
  });
}

/** Targets of the same plan that would fill one new column, or a column of another that is filled. */
export function sharedNewColumnNotes(
  mode: Mode,
  name: string,
  table: string,
  ids: readonly IdColumn[],
  all: readonly Rewritten[],
): Note[] {
  if (mode !== 'new') return [];
  const names = ids.map((id) => newColumnOf(id).toLowerCase());
  const others = all.filter((one) => one.name !== name && one.table === table);
  const rivals = others.flatMap((one) => one.ids.map((id) => ({ id, where: `by target ${one.name} too` })));
  const own = ids
    .filter((_, at) => names.indexOf(names[at] ?? '') !== at)
    .map((id) => ({ id, where: 'twice' }));
  return [...own, ...rivals]
    .filter(({ id }) => names.includes(newColumnOf(id).toLowerCase()))
    .map(({ id, where }) =>
      blocks(
        'named_twice',
        `The new column ${newColumnOf(id)} is filled ${where}: give each its own "newColumn".`,
      ),
    );
}

/** The ledger knows these cells by the column's label: none is touched again. */
function isContinued(mode: Mode, own: IdColumn, id: IdColumn): boolean {
  return mode === 'in_place' && columnLabel(own) === columnLabel(id);
}

/** Why new columns cannot be recomputed: the V3 ids they were filled from are no longer there. */
export function lostSource(unit: EarlierRun, units: readonly EarlierRun[]): string | null {
  if (unit.mode !== 'new') return null;
  for (const { column } of unit.target.ids) {
    const writer = units.find(
      (one) => one.mode === 'in_place' && one.target.ids.some((own) => isSame(own.column, column)),
    );
    if (writer !== undefined) return `${column} was rewritten in place by run ${writer.run}`;
  }
  return null;
}

/** Targets of the same plan that would rewrite each other's ids. */
export function rivalNotes(
  name: string,
  table: string,
  ids: readonly IdColumn[],
  all: readonly Rewritten[],
): Note[] {
  return all
    .filter((other) => other.name !== name && other.table === table)
    .flatMap((other) =>
      ids
        .filter((id) => other.ids.some((own) => meets(own, id)))
        .map((id) =>
          blocks('named_twice', `${columnLabel(id)} is named by target ${other.name} too: name it once.`),
        ),
    );
}

/** What one transaction changes under constraints is worked out for one target per table. */
export function sharedTableNotes(
  name: string,
  table: string,
  { handling }: Judgement,
  all: readonly Rewritten[],
): Note[] {
  const other = all.find((one) => one.name !== name && one.table === table);
  if (other === undefined || !handling.isAtomic) return [];
  return [
    blocks('same_table', `Target ${other.name} is the same table: name all its columns in one target.`),
  ];
}

function meets(a: IdColumn, b: IdColumn): boolean {
  if (!isSame(a.column, b.column)) return false;
  return partsOf(a).some((one) => partsOf(b).some((other) => pathsMeet(one, other)));
}

/** SQLite does not tell names apart by case; where a database does, such twins are refused once too often. */
function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
