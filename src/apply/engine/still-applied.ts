import { columnLabel, type IdColumn } from '../../config/apply-targets.js';
import { MAX_NAMED_ROWS } from '../context.js';
import type { Earlier } from '../plan.js';
import type { Engine } from './dialect.js';
import type { TableRun } from './ledger.js';
import { appliedCells, keyMatch } from './ledger-tables.js';
import { writtenColumn } from './platform-ids.js';

/** Called for each cell that no longer holds what a run wrote, with the key of its row. */
type OnChanged = (value: string, key: readonly (string | null)[]) => void;

/** How many cells of a column still hold what a run wrote. */
export interface StillApplied {
  /** Cells that hold what was written. */
  readonly applied: number;
  /** Cells with another value, and the first of their rows. */
  readonly changed: number;
  readonly named: readonly string[];
}

/**
 * Checks every row that runs rewrote in a column. Rows that were deleted or became NULL since are not counted; runs
 * that identify rows by another key are skipped.
 */
export async function readStillApplied(
  engine: Engine,
  runs: readonly TableRun[],
  key: readonly string[],
  id: IdColumn,
  onChanged: OnChanged | null = null,
): Promise<StillApplied[]> {
  const all: StillApplied[] = [];
  for (const [nth, run] of runs.entries()) {
    const col = run.labels.indexOf(columnLabel(id));
    if (run.mode !== 'in_place' || col < 0 || run.key.join() !== key.join()) continue;
    // Later runs may have changed the same cells: in JSON, each path may have a run of its own.
    const later = runs
      .slice(nth + 1)
      .filter(({ mode }) => mode === 'in_place')
      .flatMap(({ unit, target }) =>
        target.ids.flatMap((own, at) =>
          writtenColumn(own) === writtenColumn(id) ? [`(${unit}, ${at})`] : [],
        ),
      );
    all.push(await readColumn(engine, run, col, later, onChanged));
  }
  return all;
}

/** One column of a run. `later`: `(unit, col)` pairs of later runs, in SQL. */
async function readColumn(
  { session, dialect }: Engine,
  run: TableRun,
  col: number,
  later: readonly string[],
  onChanged: OnChanged | null,
): Promise<StillApplied> {
  const id = run.target.ids[col];
  const cell = `t.${dialect.quote(id === undefined ? '' : writtenColumn(id))}`;
  const wroteLater =
    later.length === 0
      ? 'FALSE'
      : `e.row_key IN (SELECT l.row_key FROM ${run.ledger.entry} AS l
          JOIN ${dialect.tableSql(run.table)} AS t ON ${keyMatch(dialect, run, 'l.row_key')}
          WHERE (l.unit, l.col) IN ${dialect.inPairs(later)} AND ${dialect.isSame(cell, 'l.new')})`;
  const from = `${appliedCells(dialect, run, col)} AND (${cell} IS NOT NULL OR e.new IS NULL)`;
  const isApplied = `(${dialect.isSame(cell, 'e.new')} OR ${wroteLater})`;
  const { rows: counts } = await session.query(
    `SELECT count(CASE WHEN ${isApplied} THEN 1 END), count(*) FROM ${from}`,
  );
  const [applied = 0, total = 0] = (counts[0] ?? []).map(Number);
  const changed = total - applied;
  if (changed === 0) return { applied, changed, named: [] };
  const parts = run.key.map((_, at) => dialect.asText(dialect.keyPart(run, 'e.row_key', at)));
  const terms = [dialect.keyName('e.row_key'), dialect.asText(cell), ...parts];
  const { rows } = await session.query(
    `SELECT ${terms.join(', ')} FROM ${from} AND NOT ${isApplied}
     ORDER BY e.id ${onChanged === null ? `LIMIT ${MAX_NAMED_ROWS}` : ''}`,
  );
  if (onChanged !== null) for (const [, value, ...values] of rows) onChanged(value ?? '', values);
  return { applied, changed, named: rows.slice(0, MAX_NAMED_ROWS).map(([name]) => `row ${name ?? ''}`) };
}

/** Counts cells as done only if they still hold what was written. */
export function addStillApplied(earlier: Earlier, since: number, all: readonly StillApplied[]): Earlier {
  if (all.length === 0) return { ...earlier, since };
  return {
    ...earlier,
    since,
    done: all.reduce((sum, { applied }) => sum + applied, 0),
    changedSince: all.reduce((sum, { changed }) => sum + changed, 0),
    changedRows: all.flatMap(({ named }) => named).slice(0, MAX_NAMED_ROWS),
  };
}
