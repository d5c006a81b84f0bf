import { columnLabel, type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { type ColumnWork, openColumn } from '../column-work.js';
import { NamedRows, type SurveyOptions } from '../context.js';
import { isMissing } from '../judge-plan.js';
import {
  type ColumnPlan,
  type Earlier,
  isFinished,
  type Note,
  type PlanCount,
  type Policy,
  type TargetPlan,
  type UnmappedCount,
} from '../plan.js';
import type { OnUnmapped } from '../unmapped.js';
import {
  addUnmapped,
  buildColumnPlans,
  buildTablePlan,
  type CellSource,
  changedRows,
  countedNotes,
  isUnreadable,
  keyValues,
  openTableColumn,
  reportRow,
  watchUnmapped,
} from './column-plans.js';
import { CELL, compileRewrite, rewriteOf } from './compile.js';
import type { Cells } from './dialect.js';
import { type Engine, findColumn } from './dialect.js';
import { finishedRunsOf, needsLookUp } from './earlier-runs.js';
import { readStillApplied, rowsToLookUp } from './found-table.js';
import { writesPlatformId } from './id-columns.js';
import { judgeCells } from './judge-cells.js';
import { noRoomNote, parkingTerm } from './move-rows.js';
import type { TableRun } from './table-facts.js';
import { columnOf, type FoundTable } from './table-facts.js';
import { compareFilled, type FilledColumns } from './verify-run.js';

/** Reads a table and plans what apply would do to it. Call inside a read-only transaction. */
export async function surveyTable(
  engine: Engine,
  found: FoundTable,
  { onUnmapped, isAfterRun = false }: SurveyOptions = {},
): Promise<TargetPlan> {
  const { session, dialect } = engine;
  const { target, facts, notes, earlier } = found;
  const place = `${await session.place()}, table ${facts.table}`;
  if (isUnreadable(notes)) {
    return buildTablePlan({ target, place, rows: 0, columns: [], earlier, notes, changes: 0 });
  }
  const rows = Number(await session.one(`SELECT count(*) FROM ${dialect.tableSql(facts.table)}`));
  const columns: (readonly ColumnPlan[])[] = [];
  const counted: Note[] = [];
  const filled = new Map<IdColumn, FilledColumns>();
  for (const id of target.ids) {
    const column = await surveyColumn(engine, found, id, { rows, onUnmapped });
    columns.push(column.plans);
    counted.push(...column.notes);
    if (column.filled !== null) filled.set(id, column.filled);
  }
  const compared = await compareEarlier(engine, found, filled, onUnmapped);
  return buildTablePlan({
    target,
    place,
    rows,
    columns: columns.flat(),
    earlier: compared,
    notes: [...notes, ...counted],
    changes: isAfterRun ? 0 : changesOf(engine.context.policy, { rows, columns, earlier: compared }),
  });
}

interface ColumnOptions {
  /** Rows of the table. */
  readonly rows: number;
  readonly onUnmapped: OnUnmapped | undefined;
}

interface SurveyedColumn {
  readonly plans: readonly ColumnPlan[];
  readonly notes: readonly Note[];
  /** The new column that a run filled, if it was compared on the way. */
  readonly filled: FilledColumns | null;
}

async function surveyColumn(
  engine: Engine,
  found: FoundTable,
  id: IdColumn,
  { rows, onUnmapped }: ColumnOptions,
): Promise<SurveyedColumn> {
  const { context } = engine;
  const { target, facts, handling } = found;
  const { mode } = context.policy;
  const isColumnThere = !writesPlatformId(id) || findColumn(engine, facts, columnLabel(id)) !== undefined;
  const work = openTableColumn(engine, id, facts);
  const left: UnmappedCount[][] = [];
  const filler = onUnmapped === undefined ? findFiller(engine, found, id) : undefined;
  const isReadOnce = filler !== undefined && hasSamePolicy(filler, context.policy);
  const filled = isReadOnce ? await compareFilled(engine, filler, id, { work }) : null;
  for (const source of isReadOnce ? [] : cellSources(engine, found, id)) {
    const isNew = source.state === 'pending';
    const own = isNew ? work : openColumn(context, id, source.policy);
    await tallyCells(engine, found, { work: own, source, rows, onUnmapped });
    if (!isNew) addUnmapped(left, own, source);
  }
  if (onUnmapped !== undefined && mode === 'in_place' && isColumnThere) {
    const { key } = handling;
    await readStillApplied(engine, found, id, (value, values) =>
      reportRow(onUnmapped, target.name, id, {
        kind: 'changed_since',
        reason: 'changed',
        value,
        key: keyValues(key, values),
      }),
    );
  }
  const plans = buildColumnPlans(work, mode, left);
  const notes = [
    ...plans.flatMap((plan) => countedNotes(context, facts, handling, work, plan)),
    ...(await parkingNotes(engine, found, work, plans)),
  ];
  return { plans, notes, filled };
}

/** The run that filled the new column of an id column, if the new column is there. */
function findFiller(engine: Engine, { facts, runs }: FoundTable, id: IdColumn): TableRun | undefined {
  if (engine.context.policy.mode !== 'new') return undefined;
  if (findColumn(engine, facts, newColumnOf(id)) === undefined) return undefined;
  return runs.findLast((one) => one.mode === 'new' && one.labels.includes(columnLabel(id)));
}

/** Whether a run decided on ids by the same policy, so that its cells need no look-up of their own. */
function hasSamePolicy(run: TableRun, { missing, mapDeleted }: Policy): boolean {
  return run.policy.missing === missing && run.policy.mapDeleted === mapDeleted;
}

/** Notes on too few free values for ids that swap. */
async function parkingNotes(
  engine: Engine,
  { facts, handling }: FoundTable,
  work: ColumnWork,
  plans: readonly ColumnPlan[],
): Promise<Note[]> {
  const needs = { rows: changedRows(plans), highest: work.finals?.largest() ?? 0n };
  const column = columnOf(facts, work.column.column);
  if (needs.rows === 0n || column === undefined || engine.context.policy.mode === 'new') return [];
  if (writesPlatformId(work.column)) return [];
  if (!handling.parked.includes(column.name) || column.holds === 'other') return [];
  const row = { number: 'w.id', own: 'w.o0' };
  return (await parkingTerm(engine, facts.table, column, row, needs)) === null ? [noRoomNote(column)] : [];
}

/**
 * The cells of a column that a plan reads: those to rewrite or, if runs rewrote the column, those that they left without
 * a V4 id and those added since.
 */
function cellSources(engine: Engine, found: FoundTable, id: IdColumn): CellSource[] {
  const { context, dialect } = engine;
  const { facts, handling, runs, earlier } = found;
  const { policy } = context;
  const value = `t.${dialect.quote(id.column)}`;
  if (policy.mode === 'new') {
    return [{ state: 'pending', policy, from: `${dialect.tableSql(facts.table)} AS t`, value }];
  }
  if (earlier.state === 'unfinished') return [];
  const state = needsLookUp(context, found, id) ? 'pending' : 'not_in_ledger';
  if (writesPlatformId(id) && state !== 'pending') return [];
  const recorded = finishedRunsOf(runs, handling.key, id).flatMap(({ run, col }): CellSource[] => {
    const plan = rewriteOf(dialect, facts, run);
    const column = plan.columns[col];
    if (column === undefined) return [];
    const { list, isRow, holds } = compileRewrite(dialect, plan);
    // Only a JSON cell can hold rewritten and kept ids at once.
    const hasRest = id.path === undefined ? `AND w.n${col} IS NULL` : '';
    return [
      {
        state: 'in_ledger',
        policy: { ...policy, ...run.policy },
        from: `${list} AS w JOIN ${dialect.tableSql(facts.table)} AS t ON ${isRow}
          WHERE w.r${col} = ${CELL.ours} AND ${holds(column, 'n')} ${hasRest}`,
        value: `w.o${col}`,
      },
    ];
  });
  const open: CellSource[] = found.fullyRecorded.includes(id)
    ? []
    : [{ state, policy, from: rowsToLookUp(engine, found, id).sql, value }];
  return writesPlatformId(id) ? open : [...open, ...recorded];
}

interface TallyOptions extends ColumnOptions {
  readonly work: ColumnWork;
  readonly source: CellSource;
}

/** Counts the cells of a source; row by row if they are to be listed. */
async function tallyCells(
  engine: Engine,
  found: FoundTable,
  { work, source, rows, onUnmapped }: TallyOptions,
): Promise<void> {
  const { context, dialect } = engine;
  const key = onUnmapped === undefined ? [] : rowKeyOf(found);
  let row: Cells = [];
  const judged = judgeCells(engine, {
    work:
      onUnmapped === undefined
        ? work
        : watchUnmapped(work, source, found.target.name, onUnmapped, () => ({ key: keyValues(key, row) })),
    mode: context.policy.mode,
    from: source.from,
    value: source.value,
    extra: key.map((name) => dialect.asText(`t.${dialect.quote(name)}`)),
    onRow: (extra) => {
      row = extra;
    },
  });
  let done = 0;
  for await (const cells of judged) {
    done += cells.reduce((sum, one) => sum + one.rows, 0);
    context.onProgress({ kind: 'step', name: `reading ${found.facts.table}`, done, total: rows });
  }
}

/** Columns that name a row in lists: the key it is rewritten by, else its first key, else its physical position. */
function rowKeyOf({ facts, handling }: FoundTable): readonly string[] {
  const { key } = handling;
  return key.length > 0 ? key : (facts.keys[0] ?? facts.rowIds);
}

/** Compares the new columns that runs filled with the columns they were filled from. */
async function compareEarlier(
  engine: Engine,
  found: FoundTable,
  filled: ReadonlyMap<IdColumn, FilledColumns>,
  onUnmapped: OnUnmapped | undefined,
): Promise<Earlier> {
  const { target, earlier } = found;
  if (engine.context.policy.mode !== 'new' || earlier.run === null) return earlier;
  const key = rowKeyOf(found);
  const changed = new NamedRows();
  let left = 0;
  for (const id of target.ids) {
    const run = findFiller(engine, found, id);
    if (run === undefined) continue;
    const compared = filled.get(id) ?? (await compareFilled(engine, run, id, { key, onUnmapped }));
    left += compared.unfilled.count;
    changed.merge(compared.foreign);
  }
  return { ...earlier, left, changedSince: changed.count, changedRows: changed.names };
}

/** What a plan found in a table. */
interface SurveyedTable {
  readonly rows: number;
  /** For each id column, the plans of its paths. */
  readonly columns: readonly (readonly ColumnPlan[])[];
  readonly earlier: Earlier;
}

/** The cells that carrying out the plan of a table changes. */
function changesOf(policy: Policy, { rows, columns, earlier }: SurveyedTable): number {
  const found = columns.reduce((sum, plans) => sum + Math.min(rows, countChanges(plans, policy)), 0);
  return cellsLeft(found, policy, earlier);
}

/** Ids of a column that change; several of them may be in one JSON cell. */
function countChanges(plans: readonly ColumnPlan[], { mode, missing }: Policy): number {
  const isChanged = (one: PlanCount) =>
    one.name === 'mapped' || (mode === 'in_place' && missing === 'null' && isMissing(one));
  const counts = plans.flatMap((plan) => plan.counts.filter(isChanged));
  return counts.reduce((sum, { rows }) => sum + rows, 0);
}

/** How many of the planned cells a run still has to write. */
function cellsLeft(cells: number, { mode, again }: Policy, earlier: Earlier): number {
  if (isFinished(earlier, again)) return 0;
  if (earlier.state === 'none' || (mode === 'in_place' && earlier.state === 'finished')) return cells;
  return mode === 'in_place' ? earlier.left : Math.min(cells, earlier.left);
}
