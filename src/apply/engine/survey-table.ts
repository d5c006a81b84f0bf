import { columnLabel, type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { type ColumnWork, openColumn } from '../column-work.js';
import { NamedRows, type SurveyOptions } from '../context.js';
import { IdSet } from '../ids/model-ids.js';
import { isMissing } from '../judge-plan.js';
import {
  blocks,
  type ColumnPlan,
  type Earlier,
  isFinished,
  type Mode,
  type Note,
  type Policy,
  type TargetPlan,
  type UnmappedCount,
} from '../plan.js';
import type { OnUnmapped } from '../unmapped.js';
import { collisionNotes, finalOf, type MetValues, openMetValues } from './collisions.js';
import {
  addUnmapped,
  buildColumnPlans,
  type CellSource,
  changedRows,
  countedNotes,
  isUnreadable,
  keyValues,
  openTableColumn,
  reportRow,
  watchUnmapped,
} from './column-plans.js';
import { CELL, compileRewrite } from './compile.js';
import { type Cells, type Engine, findColumn, type IdMap } from './dialect.js';
import { readStillApplied, rowsToLookUp, runsByKey } from './found-table.js';
import { configuredColumns, writesPlatformId } from './id-columns.js';
import { buildMap, keptMapTable } from './id-maps.js';
import { cellText, judgeCells } from './judge-cells.js';
import { needsLookUp } from './judge-table.js';
import { heldNote, noRoomNote, parkingTerm } from './move-rows.js';
import { columnOf, type ForeignKey, type FoundTable, type TableRun } from './table-facts.js';
import { isForeign, readOutdated } from './verify-run.js';

/** Reads a table and plans what apply would do to it. Call inside a read-only transaction. */
export async function surveyTable(
  engine: Engine,
  found: FoundTable,
  { onUnmapped }: SurveyOptions = {},
): Promise<TargetPlan> {
  const { session, dialect } = engine;
  const { policy } = engine.context;
  const { target, facts, notes, earlier } = found;
  const plan: TargetPlan = {
    name: target.name,
    kind: target.kind,
    place: `${await session.place()}, table ${facts.table}`,
    definition: configuredColumns(target),
    output: null,
    fingerprint: '',
    rows: 0,
    columns: [],
    earlier,
    notes,
    changes: 0,
  };
  if (isUnreadable(notes)) return plan;
  const rows = Number(await session.one(`SELECT count(*) FROM ${dialect.tableSql(facts.table)}`));
  const columns: (readonly ColumnPlan[])[] = [];
  const counted: Note[] = [];
  const changed = new NamedRows();
  let unfilled = 0;
  let cells = 0;
  for (const id of target.ids) {
    const column = await surveyColumn(engine, found, id, { rows, onUnmapped });
    columns.push(column.plans);
    counted.push(...column.notes);
    changed.merge(column.changed);
    unfilled += column.unfilled;
    cells += column.cells;
  }
  const isFilled = policy.mode === 'new' && earlier.run !== null;
  const compared = isFilled
    ? { ...earlier, left: unfilled, changedSince: changed.count, changedRows: changed.names }
    : earlier;
  return {
    ...plan,
    rows,
    columns: columns.flat(),
    earlier: compared,
    notes: [...notes, ...counted],
    changes: cellsLeft(cells, policy, compared),
  };
}

interface ColumnOptions {
  /** Rows of the table. */
  readonly rows: number;
  readonly onUnmapped: OnUnmapped | undefined;
}

interface SurveyedColumn {
  readonly plans: readonly ColumnPlan[];
  readonly notes: readonly Note[];
  /** Empty cells of a new column for which there is an id. */
  readonly unfilled: number;
  /** Cells that change, or that a new column takes. */
  readonly cells: number;
  /** Cells of a new column that hold something other than what the run wrote, or than what the remap gives now. */
  readonly changed: NamedRows;
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
  const run = findFiller(found, id, mode);
  const map = run === null ? null : findMap(engine, found, id, run);
  let unfilled = 0;
  let cells = 0;
  const values = openMetValues(found, id, mode);
  for (const source of cellSources(engine, found, id)) {
    const isNew = source.state === 'pending';
    const own = isNew ? work : openColumn(context, id, source.policy);
    const options = { work: own, source, rows, onUnmapped, map, values: isNew ? values : null };
    const tallied = await tallyCells(engine, found, options);
    unfilled += tallied.unfilled;
    if (isNew) cells += tallied.cells;
    else addUnmapped(left, own, source);
  }
  const changed =
    run === null || map === null
      ? new NamedRows()
      : await readForeign(engine, found, { map, run }, onUnmapped);
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
    ...(values === null ? [] : await collisionNotes(engine, found, id, values)),
    ...(await parkingNotes(engine, found, work, plans)),
    ...keptNotes(context.policy, run, plans),
  ];
  return { plans, notes, unfilled, cells, changed };
}

/** Blocks a policy by which the V3 ids that a run put into a new column would look changed since. */
function keptNotes({ missing }: Policy, run: TableRun | null, plans: readonly ColumnPlan[]): Note[] {
  if (run?.policy.missing !== 'keep-v3' || (missing !== 'keep' && missing !== 'null')) return [];
  return plans
    .filter(({ platformIdOf, counts }) => platformIdOf === undefined && counts.some(isMissing))
    .map(({ newColumn }) => {
      const text = `Run ${run.run} keeps V3 ids in ${newColumn}: use --missing keep-v3 again, or undo the run first.`;
      return blocks('other_run', text);
    });
}

/** A new column's map, and the run that filled it. */
interface Filled {
  readonly map: IdMap;
  readonly run: TableRun;
}

/** The run that fills the new column of an id column. Where ALTER TABLE commits, it may not have added the column yet. */
function findFiller({ runs }: FoundTable, id: IdColumn, mode: Mode): TableRun | null {
  if (mode !== 'new') return null;
  return runs.findLast((one) => one.mode === 'new' && one.labels.includes(columnLabel(id))) ?? null;
}

/** The map of a run for the new column of an id column, if the new column is there. */
function findMap(engine: Engine, { facts }: FoundTable, id: IdColumn, run: TableRun): IdMap | null {
  if (findColumn(engine, facts, newColumnOf(id)) === undefined) return null;
  const table = keptMapTable(run, run.labels.indexOf(columnLabel(id)));
  return buildMap(engine.dialect, facts, id, { table, isKept: true });
}

/** The cells of a new column that hold something other than what its run wrote, or than what the remap gives now. */
async function readForeign(
  engine: Engine,
  found: FoundTable,
  { map, run }: Filled,
  onUnmapped: OnUnmapped | undefined,
): Promise<NamedRows> {
  const { session, dialect } = engine;
  const key = onUnmapped === undefined ? [] : rowKeyOf(found);
  const name = newColumnOf(map.id);
  const terms = [name, map.id.column, ...key].map((column) => dialect.asText(`t.${dialect.quote(column)}`));
  const foreign = new NamedRows();
  const add = (
    holds: string | null,
    value: string | null,
    values: readonly (string | null)[],
    why = '',
  ): void => {
    foreign.add(`${name} ${String(holds)}${why}`);
    reportRow(onUnmapped, found.target.name, map.id, {
      kind: 'changed_since',
      reason: 'changed',
      value: value ?? '',
      key: keyValues(key, values),
    });
  };
  const from = `${dialect.tableSql(found.facts.table)} AS t WHERE ${isForeign(dialect, map)}`;
  for await (const rows of session.read(`SELECT ${terms.join(', ')} FROM ${from}`)) {
    for (const [holds = null, value = null, ...values] of rows.map((row) => row.map(cellText)))
      add(holds, value, values);
  }
  for await (const [value = null, holds = null, ...values] of readOutdated(engine, run, map, terms.slice(2)))
    add(holds, value, values, ': the remap gives another id');
  return foreign;
}

/** Notes on temporary values for ids that swap: too few are free, or a foreign key refuses them. */
async function parkingNotes(
  engine: Engine,
  found: FoundTable,
  work: ColumnWork,
  plans: readonly ColumnPlan[],
): Promise<Note[]> {
  const { facts, handling } = found;
  const needs = { own: 'w.o0', rows: changedRows(plans), highest: work.finals?.largest() ?? 0n };
  const column = columnOf(facts, work.column.column);
  if (needs.rows === 0n || column === undefined || engine.context.policy.mode === 'new') return [];
  if (writesPlatformId(work.column)) return [];
  if (!handling.parked.includes(column.name) || column.holds === 'other') return [];
  const key = await findHolding(engine, found, work.column);
  if (key !== undefined) return [heldNote(column, key)];
  return (await parkingTerm(engine, facts.table, column, needs)) === null ? [noRoomNote(column)] : [];
}

/** A foreign key that refuses temporary values: new ids of a column are present ids of others, and it looks at rows that change. */
async function findHolding(engine: Engine, found: FoundTable, id: IdColumn): Promise<ForeignKey | undefined> {
  const { context, dialect } = engine;
  const keys = found.handling.immediate.filter(({ columns }) => columns.includes(id.column));
  if (keys.length === 0) return undefined;
  const from = rowsToLookUp(engine, found, id).sql;
  const read = (where = '') =>
    judgeCells(engine, {
      work: openColumn(context, id, context.policy),
      mode: 'in_place',
      from: `${from}${where}`,
    });
  const fresh = new IdSet();
  for await (const cells of read()) for (const { result } of cells) if (result != null) fresh.add(result);
  let isSwap = false;
  for await (const cells of read())
    isSwap ||= cells.some(({ group, result }) => result !== undefined && fresh.has(String(group[0])));
  for (const key of isSwap ? keys : []) {
    const isSet = key.columns.map((name) => ` AND t.${dialect.quote(name)} IS NOT NULL`);
    let isFound = false;
    for await (const cells of read(isSet.join('')))
      isFound ||= cells.some(({ result }) => result !== undefined);
    if (isFound) return key;
  }
  return undefined;
}

/**
 * The cells of a column that a plan reads: those to rewrite or, if runs rewrote the column, those that they left without
 * a V4 id and those added since.
 */
function cellSources(engine: Engine, found: FoundTable, id: IdColumn): CellSource[] {
  const { context, dialect } = engine;
  const { facts, earlier } = found;
  const { policy } = context;
  const value = `t.${dialect.quote(id.column)}`;
  if (policy.mode === 'new') {
    return [{ state: 'pending', policy, from: `${dialect.tableSql(facts.table)} AS t`, value }];
  }
  if (earlier.state === 'unfinished') return [];
  const state = needsLookUp(context, found, id) ? 'pending' : 'not_in_ledger';
  if (writesPlatformId(id) && state !== 'pending') return [];
  const finished = runsByKey(found).filter((run) => run.state === 'done');
  const recorded = finished.flatMap((run): CellSource[] => {
    const { list, isRow, holds, columns } = compileRewrite(dialect, run, { facts });
    const column = columns.find((one) => columnLabel(one.id) === columnLabel(id));
    if (column === undefined) return [];
    const { at } = column;
    // Only a JSON cell can hold rewritten and kept ids at once.
    const hasRest = id.path === undefined ? `AND w.n${at} IS NULL` : '';
    return [
      {
        state: 'in_ledger',
        policy: { ...policy, ...run.policy },
        from: `${list} AS w JOIN ${dialect.tableSql(facts.table)} AS t ON ${isRow}
          WHERE w.r${at} = ${CELL.ours} AND ${holds(column, 'n')} ${hasRest}`,
        value: `w.o${at}`,
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
  /** The map of a new column that is there. */
  readonly map: IdMap | null;
  /** Where values are added; null: not needed. */
  readonly values: MetValues | null;
}

/** Counts the cells of a source: those that change, and those with an id that is not yet in the new column. */
async function tallyCells(
  engine: Engine,
  found: FoundTable,
  { work, source, rows, onUnmapped, map, values }: TallyOptions,
): Promise<Pick<SurveyedColumn, 'unfilled' | 'cells'>> {
  const { context, dialect } = engine;
  const key = onUnmapped === undefined ? [] : rowKeyOf(found);
  const cell = (name: string) => `t.${dialect.quote(name)}`;
  const isEmpty =
    map === null ? "'0'" : `CASE WHEN ${cell(newColumnOf(map.id))} IS NULL THEN '1' ELSE '0' END`;
  let row: Cells = [];
  // Rows that are listed with a value that does not map.
  const listed = new WeakSet<Cells>();
  const judged = judgeCells(engine, {
    work:
      onUnmapped === undefined
        ? work
        : watchUnmapped(work, source, found.target.name, onUnmapped, () => {
            listed.add(row);
            return { key: keyValues(key, row) };
          }),
    mode: context.policy.mode,
    from: source.from,
    value: source.value,
    extra: [...key.map((name) => dialect.asText(cell(name))), isEmpty],
    isGrouped: onUnmapped === undefined,
    onRow: (extra) => {
      row = extra;
    },
  });
  let done = 0;
  let unfilled = 0;
  let changing = 0;
  for await (const cells of judged) {
    done += cells.reduce((sum, one) => sum + one.rows, 0);
    context.onProgress({ kind: 'step', name: `reading ${found.facts.table}`, done, total: rows });
    if (values !== null) {
      for (const one of cells) {
        const value = finalOf(one, values);
        if (value !== null) values.add(value, one.result === undefined);
      }
    }
    for (const { group, result, rows, extra } of cells) {
      if (result === undefined || (result === null && context.policy.mode === 'new')) continue;
      changing += rows;
      if (extra.at(-1) !== '1') continue;
      unfilled += rows;
      if (listed.has(extra)) continue;
      reportRow(onUnmapped, found.target.name, work.column, {
        kind: 'came_since',
        reason: 'mapped',
        value: cellText(group[0]) ?? '',
        key: keyValues(key, extra),
      });
    }
  }
  return { unfilled, cells: changing };
}

/** Columns that name a row in lists: the key it is rewritten by, else its first key, else its physical position. */
function rowKeyOf({ facts, handling }: FoundTable): readonly string[] {
  const { key } = handling;
  return key.length > 0 ? key : (facts.keys[0] ?? facts.rowIds);
}

/** How many of the planned cells a run still has to write. */
function cellsLeft(cells: number, { mode, again }: Policy, earlier: Earlier): number {
  if (isFinished(earlier, again)) return 0;
  if (earlier.state === 'none' || (mode === 'in_place' && earlier.state === 'finished')) return cells;
  return mode === 'in_place' ? earlier.left : Math.min(cells, earlier.left);
}
