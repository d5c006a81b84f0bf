import { columnLabel, type IdColumn } from '../../config/apply-targets.js';
import { MAX_NAMED_ROWS } from '../context.js';
import type { Earlier } from '../plan.js';
import {
  CELL,
  compileRewrite,
  enteredKeys,
  type Rewrite,
  type RewrittenColumn,
  rewriteOf,
  rowsNotEntered,
} from './compile.js';
import { type Engine, findColumn } from './dialect.js';
import { rewrittenLabels, writesPlatformId } from './id-columns.js';
import type { FoundTable } from './table-facts.js';

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
  found: Pick<FoundTable, 'facts' | 'runs' | 'handling'>,
  id: IdColumn,
  onChanged: OnChanged | null = null,
): Promise<StillApplied[]> {
  const all: StillApplied[] = [];
  const runs = runsByKey(engine, found);
  for (const [nth, [plan, labels]] of runs.entries()) {
    const column = plan.columns.find(({ at }) => labels[at] === columnLabel(id));
    if (column === undefined) continue;
    // Later runs may have changed the same cells: in JSON, each path may have a run of its own.
    const later = runs.slice(nth + 1).map(([one]) => one);
    all.push(await readColumn(engine, plan, column, later, onChanged));
  }
  return all;
}

/** In-place runs on a table that identify rows by the key of the plan, oldest first, with their labels. */
function runsByKey(
  { dialect }: Pick<Engine, 'dialect'>,
  { facts, handling, runs }: Pick<FoundTable, 'facts' | 'handling' | 'runs'>,
): (readonly [plan: Rewrite, labels: readonly string[]])[] {
  return runs
    .filter(({ mode, key }) => mode === 'in_place' && key.join('\0') === handling.key.join('\0'))
    .map((run) => [rewriteOf(dialect, facts, run), run.labels]);
}

async function readColumn(
  { session, dialect }: Engine,
  plan: Rewrite,
  column: RewrittenColumn,
  later: readonly Rewrite[],
  onChanged: OnChanged | null,
): Promise<StillApplied> {
  const sql = compileRewrite(dialect, plan);
  const cell = `t.${dialect.quote(column.name)}`;
  const table = `${dialect.tableSql(plan.table)} AS t`;
  const wroteLater = later.flatMap((other) => {
    const own = other.columns.find(({ name }) => name === column.name);
    if (own === undefined) return [];
    const { list, key, isRow, holds } = compileRewrite(dialect, other);
    const keys = `SELECT ${key.join(', ')} FROM ${list} AS w JOIN ${table} ON ${isRow} WHERE w.r${own.at} = ${CELL.ours} AND ${holds(own, 'n')}`;
    return [`(${sql.key.join(', ')}) IN (${keys})`];
  });
  const isListed = `w.r${column.at} = ${CELL.ours}`;
  const from = `${sql.list} AS w JOIN ${table} ON ${sql.isRow}
    WHERE ${isListed} AND (${cell} IS NOT NULL OR w.n${column.at} IS NULL)`;
  const isApplied = `(${[sql.holds(column, 'n'), ...wroteLater].join(' OR ')})`;
  const { rows: counts } = await session.query(
    `SELECT count(CASE WHEN ${isApplied} THEN 1 END), count(*) FROM ${from}`,
  );
  const [applied = 0, total = 0] = (counts[0] ?? []).map(Number);
  const changed = total - applied;
  if (changed === 0) return { applied, changed, named: [] };
  const terms = [sql.keyName, dialect.asText(cell), ...sql.key.map(dialect.asText)];
  const { rows } = await session.query(
    `SELECT ${terms.join(', ')} FROM ${from} AND NOT ${isApplied}
     ORDER BY w.id ${onChanged === null ? `LIMIT ${MAX_NAMED_ROWS}` : ''}`,
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

/** SQL for the rows of a column to look up: those without a ledger entry and, for a platform_id, without a value. */
export function rowsToLookUp(
  engine: Engine,
  found: Pick<FoundTable, 'facts' | 'runs' | 'handling'>,
  id: IdColumn,
  at = 0,
): { readonly join: string; readonly where: string; readonly sql: string } {
  const { dialect } = engine;
  const { facts, handling } = found;
  const entered = enteredKeys(dialect, runsByKey(engine, found), rewrittenLabels(id));
  const rows = rowsNotEntered(dialect, facts.table, handling.key, entered, at);
  if (!writesPlatformId(id) || findColumn(engine, facts, columnLabel(id)) === undefined) return rows;
  const isEmpty = ` AND t.${dialect.quote(columnLabel(id))} IS NULL`;
  return { join: rows.join, where: rows.where + isEmpty, sql: rows.sql + isEmpty };
}
