import { columnLabel, type IdColumn, type TableTarget } from '../../config/apply-targets.js';
import { checkColumn } from '../column-work.js';
import { MAX_NAMED_ROWS } from '../context.js';
import { type Earlier, NO_EARLIER, type Note } from '../plan.js';
import { addedColumnNotes } from './added-columns.js';
import { isUnreadable } from './column-plans.js';
import { CELL, compileRewrite, type RewrittenColumn, rowsNotEntered } from './compile.js';
import { type Engine, findColumn } from './dialect.js';
import { partsOf, rewrittenLabels, sourceColumns, writesPlatformId } from './id-columns.js';
import {
  earlierRunNotes,
  findEarlier,
  isAtomicTable,
  judgeTable,
  otherTargetNotes,
  rewrittenNotes,
  type TableIds,
} from './judge-table.js';
import { countCells, ledgerNotes, readRunsOfTable } from './ledger-runs.js';
import { type FoundTable, ledgerOf, type TableFacts, type TableRun } from './table-facts.js';

/** Reads what the catalog and the ledger say about tables. Of their rows it only counts those added since a finished run. */
export async function findTables(engine: Engine, targets: readonly TableTarget[]): Promise<FoundTable[]> {
  const tables = [];
  for (const target of targets) tables.push({ target, facts: await engine.dialect.readFacts(target) });
  const all = tables.map(({ target, facts }) => ({
    ...{ name: target.name, table: facts.table, ids: target.ids, foreignKeys: facts.foreignKeys },
    isAtomic: isAtomicTable(facts, target),
  }));
  const found: FoundTable[] = [];
  for (const { target, facts } of tables) found.push(await findTable(engine, target, facts, all));
  return found;
}

async function findTable(
  engine: Engine,
  target: TableTarget,
  facts: TableFacts,
  all: readonly TableIds[],
): Promise<FoundTable> {
  const { context, dialect } = engine;
  const judged = judgeTable(facts, target, context.policy, all);
  const { handling } = judged;
  const ledger = ledgerOf(engine, target);
  const foreign = await ledgerNotes(engine, ledger, facts.table);
  const runs = foreign.length > 0 ? [] : await readRunsOfTable(engine, ledger, facts.table);
  const notes = [
    ...foreign,
    ...judged.notes,
    ...targetNotes(engine, { target, facts, handling, runs }, all),
    ...(await addedColumnNotes(engine, { target, facts, runs })),
    ...(await dialect.obstacleNotes(target, facts, handling)),
  ];
  const found = {
    target,
    facts,
    handling,
    ledger,
    runs,
    earlier: NO_EARLIER,
    fullyRecorded: [],
    notes,
  };
  return isUnreadable(notes) ? found : { ...found, ...(await readEarlier(engine, found)) };
}

/** Notes that other targets and earlier runs put on a target. */
function targetNotes(
  engine: Engine,
  { target, facts, handling, runs }: Pick<FoundTable, 'target' | 'facts' | 'handling' | 'runs'>,
  all: readonly TableIds[],
): Note[] {
  const { context } = engine;
  const { mode } = context.policy;
  const { name, ids } = target;
  const { isAtomic, key } = handling;
  return [
    ...otherTargetNotes(mode, { name, table: facts.table, ids }, isAtomic, all),
    ...rewrittenNotes(mode, ids, runs),
    ...sourceColumns(ids)
      .flatMap(partsOf)
      .flatMap((id) => checkColumn(context, id)),
    ...earlierRunNotes(context, target, key, runs),
  ];
}

/** Reads the runs on a table again, after this run may have changed it. */
export async function refresh(engine: Engine, found: FoundTable): Promise<FoundTable> {
  const now = { ...found, runs: await readRunsOfTable(engine, found.ledger, found.facts.table) };
  return { ...now, ...(await readEarlier(engine, now)) };
}

async function readEarlier(
  engine: Engine,
  found: FoundTable,
): Promise<Pick<FoundTable, 'earlier' | 'fullyRecorded'>> {
  const { target, runs, handling } = found;
  const { session, dialect, context } = engine;
  const { earlier, covered, open } = findEarlier(context, target, runs);
  const { key } = handling;
  if (open !== undefined) {
    const left = await countCells(engine, open, `w.id > ${open.done}`);
    return { earlier: { ...earlier, left }, fullyRecorded: [] };
  }
  if (context.policy.mode === 'new' || key.length === 0) return { earlier, fullyRecorded: [] };
  let since = 0;
  const total = await session.one(`SELECT count(*) FROM ${dialect.tableSql(found.facts.table)}`);
  const fullyRecorded: IdColumn[] = [];
  const applied: StillApplied[] = [];
  for (const id of covered) {
    const own = await readStillApplied(engine, found, id);
    // Only ids count as rewritten.
    applied.push(...own.map((one) => (writesPlatformId(id) ? { ...one, applied: 0 } : one)));
    if (writesPlatformId(id)) continue;
    const [only, other] = own;
    // One run that lists every row leaves none to look for, which would take longer than this count.
    if (only !== undefined && other === undefined && only.applied + only.changed === Number(total)) {
      fullyRecorded.push(id);
      continue;
    }
    const cell = `t.${dialect.quote(id.column)}`;
    const { rows } = await session.query(
      `SELECT count(*), count(${cell}) FROM ${rowsToLookUp(engine, found, id).sql}`,
    );
    const [unrecorded = 0, filled = 0] = (rows[0] ?? []).map(Number);
    since += filled;
    if (unrecorded === 0) fullyRecorded.push(id);
  }
  return { earlier: addStillApplied(earlier, since, applied), fullyRecorded };
}

/** Called for each cell that no longer holds what a run wrote, with the key of its row. */
type OnChanged = (value: string, key: readonly (string | null)[]) => void;

/** How many cells of a column still hold what a run wrote. */
interface StillApplied {
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
  const { facts } = found;
  const lists = runsByKey(found).map((run) => ({ run, sql: compileRewrite(engine.dialect, run, { facts }) }));
  for (const [nth, { run, sql }] of lists.entries()) {
    const column = sql.columns.find((one) => columnLabel(one.id) === columnLabel(id));
    if (column === undefined) continue;
    // Later runs may have changed the same cells: in JSON, each path may have a run of its own.
    const later = lists.slice(nth + 1).map((one) => one.sql);
    all.push(await readColumn(engine, { table: run.table, sql, column, later }, onChanged));
  }
  return all;
}

/** In-place runs on a table that identify rows by the key of the plan, oldest first. */
export function runsByKey({ handling, runs }: Pick<FoundTable, 'handling' | 'runs'>): TableRun[] {
  return runs.filter(({ mode, key }) => mode === 'in_place' && key.join('\0') === handling.key.join('\0'));
}

type Compiled = ReturnType<typeof compileRewrite>;

interface ListedColumn {
  readonly table: string;
  readonly sql: Compiled;
  readonly column: RewrittenColumn;
  /** The lists of later runs. */
  readonly later: readonly Compiled[];
}

async function readColumn(
  { session, dialect }: Engine,
  { table: name, sql, column, later }: ListedColumn,
  onChanged: OnChanged | null,
): Promise<StillApplied> {
  const cell = `t.${dialect.quote(column.name)}`;
  const table = `${dialect.tableSql(name)} AS t`;
  const wroteLater = later.flatMap(({ columns, list, key, isRow, holds }) => {
    const own = columns.find(({ name }) => name === column.name);
    if (own === undefined) return [];
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
function addStillApplied(earlier: Earlier, since: number, all: readonly StillApplied[]): Earlier {
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
  found: Pick<FoundTable, 'target' | 'facts' | 'runs' | 'handling'>,
  id: IdColumn,
  at = 0,
): { readonly join: string; readonly where: string; readonly sql: string } {
  const { dialect } = engine;
  const { facts, handling } = found;
  const rows = rowsNotEntered(dialect, facts.table, handling.key, runsByKey(found), rewrittenLabels(id), {
    at,
    columns: found.target.ids.length,
  });
  if (!writesPlatformId(id) || findColumn(engine, facts, columnLabel(id)) === undefined) return rows;
  const isEmpty = ` AND t.${dialect.quote(columnLabel(id))} IS NULL`;
  return { join: rows.join, where: rows.where + isEmpty, sql: rows.sql + isEmpty };
}
