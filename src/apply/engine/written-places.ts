import { columnLabel, type IdColumn } from '../../config/apply-targets.js';
import { NAMED_ROWS } from '../context.js';
import type { Earlier } from '../plan.js';
import type { EarlierRun } from './earlier-runs.js';

type Unit = EarlierRun & { readonly unit: number | string };

/** What the rows of a column hold of what its runs wrote. */
export interface StillApplied {
  /** Cells that hold what was written. */
  readonly applied: number;
  /** Cells with another value, and the first rows of them. */
  readonly changed: number;
  readonly named: readonly string[];
}

/** One column in one unit, with where later runs entered the same cells: with JSON, each path has a run of its own. */
export interface WrittenPlace<U extends Unit> {
  readonly unit: U;
  readonly col: number;
  /** `(unit, col)` pairs in SQL. */
  readonly later: readonly string[];
}

/** Where the ledger has a column; units that tell rows apart by another key are not to be found by this one. */
export function writtenPlaces<U extends Unit>(
  units: readonly U[],
  key: readonly string[],
  id: IdColumn,
): WrittenPlace<U>[] {
  return units.flatMap((unit, nth) => {
    const col = unit.labels.indexOf(columnLabel(id));
    if (unit.mode !== 'in_place' || col < 0 || unit.key.join() !== key.join()) return [];
    const later = units
      .slice(nth + 1)
      .flatMap((other) =>
        other.mode === 'in_place'
          ? other.target.ids.flatMap(({ column }, at) =>
              column === id.column ? [`(${other.unit}, ${at})`] : [],
            )
          : [],
      );
    return [{ unit, col, later }];
  });
}

/** Cells count as done only while they hold what was written. */
export function addStillApplied(earlier: Earlier, since: number, all: readonly StillApplied[]): Earlier {
  if (all.length === 0) return { ...earlier, since };
  const sum = (pick: (one: StillApplied) => number) => all.reduce((total, one) => total + pick(one), 0);
  return {
    ...earlier,
    since,
    done: sum(({ applied }) => applied),
    changedSince: sum(({ changed }) => changed),
    changedRows: all.flatMap(({ named }) => named).slice(0, NAMED_ROWS),
  };
}
