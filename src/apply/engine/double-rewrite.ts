import { columnLabel, type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { blocks, type Mode, type Note } from '../plan.js';
import { partsOf, pathsOverlap } from './json-columns.js';
import type { TableIds } from './judge-table.js';
import type { EarlierRun } from './ledger.js';
import { addedColumns, sourceColumns, writesPlatformId } from './platform-ids.js';

/**
 * Blocks columns whose V4 ids would be taken for V3 ids and rewritten again: those that a run rewrote or filled, also
 * through another path to the same values.
 */
export function rewrittenNotes(mode: Mode, ids: readonly IdColumn[], runs: readonly EarlierRun[]): Note[] {
  return ids.flatMap((id) => {
    const filler = runs.find(
      (run) => run.mode === 'new' && run.target.ids.some((own) => isSameName(newColumnOf(own), id.column)),
    );
    if (filler !== undefined) {
      return [blocks('v4_column', `${id.column} was filled by run ${filler.run}: its ids are V4 ids.`)];
    }
    // The same column in place is fine: the ledger lists the cells already rewritten.
    const isListed = (run: EarlierRun, own: IdColumn) =>
      mode === 'in_place' &&
      (writesPlatformId(id) ? run.labels.includes(columnLabel(id)) : columnLabel(own) === columnLabel(id));
    const writer = runs.find(
      (run) =>
        run.mode === 'in_place' &&
        sourceColumns(run.target.ids).some((own) => canMeet(own, id) && !isListed(run, own)),
    );
    if (writer === undefined) return [];
    const text = `${writesPlatformId(id) ? id.column : columnLabel(id)} was rewritten in place by run ${writer.run}: its ids are V4 ids.`;
    return [blocks('rewritten', text)];
  });
}

/** Why new columns cannot be recomputed: the column they were filled from no longer holds V3 ids. Null if they can be. */
export function lostSource(run: EarlierRun, runs: readonly EarlierRun[]): string | null {
  if (run.mode !== 'new') return null;
  for (const { column } of run.target.ids) {
    const writer = runs.find(
      (one) => one.mode === 'in_place' && one.target.ids.some((own) => isSameName(own.column, column)),
    );
    if (writer !== undefined) return `${column} was rewritten in place by run ${writer.run}`;
  }
  return null;
}

/**
 * Blocks targets of one plan that rewrite the same ids, fill the same new column, or change one table in a single
 * transaction (`isAtomic`), which supports only one target per table.
 */
export function otherTargetNotes(
  mode: Mode,
  { name, table, ids }: TableIds,
  isAtomic: boolean,
  all: readonly TableIds[],
): Note[] {
  const others = all.filter((one) => one.name !== name && one.table === table);
  const rewritten = others.flatMap((other) =>
    sourceColumns(ids)
      .filter((id) => sourceColumns(other.ids).some((own) => canMeet(own, id)))
      .map((id) =>
        blocks('named_twice', `${columnLabel(id)} is named by target ${other.name} too: name it once.`),
      ),
  );
  const sameTable = others.slice(0, isAtomic ? 1 : 0).map((other) => {
    const text = `Target ${other.name} is the same table: name all its columns in one target.`;
    return blocks('same_table', text);
  });
  return [...rewritten, ...newColumnTwice(mode, ids, others), ...sameTable];
}

function newColumnTwice(mode: Mode, ids: readonly IdColumn[], others: readonly TableIds[]): Note[] {
  const added = addedColumns(mode, ids);
  const names = added.map((name) => name.toLowerCase());
  const own = added
    .filter((_, at) => names.indexOf(names[at] ?? '') !== at)
    .map((name) => ({ name, where: 'twice' }));
  const rivals = others.flatMap((one) =>
    addedColumns(mode, one.ids).map((name) => ({ name, where: `by target ${one.name} too` })),
  );
  return [...own, ...rivals]
    .filter(({ name }) => names.includes(name.toLowerCase()))
    .map(({ name, where }) => {
      const text = `The new column ${name} is filled ${where}: give each its own "newColumn" and "platformIdColumn".`;
      return blocks('named_twice', text);
    });
}

function canMeet(a: IdColumn, b: IdColumn): boolean {
  if (!isSameName(a.column, b.column)) return false;
  return partsOf(a).some((one) => partsOf(b).some((other) => pathsOverlap(one, other)));
}

/** Ignores case, as SQLite does; on case-sensitive databases this only blocks too much. */
function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
