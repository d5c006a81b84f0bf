import { columnLabel, type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { type ColumnWork, openColumn } from '../column-work.js';
import type { SurveyOptions } from '../context.js';
import { NamedRows } from '../context.js';
import type { ColumnPlan, Earlier, Note, TargetPlan } from '../plan.js';
import type { UnmappedCount } from '../unmapped.js';
import {
  addUnmapped,
  buildColumnPlans,
  buildTablePlan,
  changedRows,
  countedNotes,
  isUnreadable,
  largestFinal,
  unmappedOfWork,
  watchFinals,
} from './column-plans.js';
import type { ColumnTrial, Engine } from './dialect.js';
import { finishedPlaces, isOpen } from './earlier-runs.js';
import { compareFilled } from './filled-columns.js';
import { type FoundTable, openRows } from './found-table.js';
import { enteredCells } from './ledger.js';
import { type CellSource, keyOf, type OnUnmapped, tellRow, watchUnmapped } from './left-cells.js';
import { noRoomNote } from './parking.js';
import type { Cells } from './session.js';
import { readStillApplied } from './still-applied.js';
import { columnOf, type TableFacts } from './table-facts.js';

/** Reads a table and says what apply would do to it. Call inside a read-only transaction. */
export async function surveyTable(
  engine: Engine,
  found: FoundTable,
  { onUnmapped }: SurveyOptions = {},
): Promise<TargetPlan> {
  const { session, dialect } = engine;
  const { target, facts, notes } = found;
  const place = `${await dialect.place()}, table ${facts.table}`;
  const base = { target, place, rowsPerSecond: dialect.rowsPerSecond };
  if (isUnreadable(notes)) {
    return buildTablePlan({ ...base, earlier: found.earlier, rows: 0, columns: [], notes });
  }
  const rows = Number(await session.one(`SELECT count(*) FROM ${dialect.tableSql(facts.table)}`));
  const columns: ColumnPlan[] = [];
  const counted: Note[] = [];
  for (const id of target.ids) {
    const column = await surveyColumn(engine, found, id, { rows, onUnmapped });
    columns.push(...column.plans);
    counted.push(...column.notes);
  }
  const earlier = await compareEarlier(engine, found, onUnmapped);
  return buildTablePlan({ ...base, earlier, rows, columns, notes: [...notes, ...counted] });
}

interface ColumnOptions {
  /** Of the table. */
  readonly rows: number;
  readonly onUnmapped: OnUnmapped | undefined;
}

async function surveyColumn(
  engine: Engine,
  found: FoundTable,
  id: IdColumn,
  { rows, onUnmapped }: ColumnOptions,
): Promise<{ readonly plans: readonly ColumnPlan[]; readonly notes: readonly Note[] }> {
  const { context, dialect } = engine;
  const { facts, judgement } = found;
  const { mode } = context.policy;
  const work = watchFinals(openColumn(context, id, context.policy), facts, mode);
  const trial = mode === 'new' ? null : await dialect.openTrial(facts, id);
  const left: UnmappedCount[][] = [];
  for (const source of cellSources(engine, found, id)) {
    const isNew = source.state === 'pending';
    const own = isNew ? work : openColumn(context, id, source.policy);
    await tallyCells(engine, found, { work: own, source, trial: isNew ? trial : null, rows, onUnmapped });
    if (!isNew) addUnmapped(left, unmappedOfWork(own, source));
  }
  if (onUnmapped !== undefined && mode === 'in_place') await listChanged(engine, found, id, onUnmapped);
  const plans = buildColumnPlans(work, mode, left);
  const notes = [
    ...plans.flatMap((plan) => countedNotes(context, facts, judgement.handling, work, plan)),
    ...(await writableNotes(engine, found, work, plans, trial)),
  ];
  return { plans, notes };
}

/** Ids that swap under a unique constraint need values that no row holds, and checks judge what rows hold. */
async function writableNotes(
  { context, dialect }: Engine,
  { facts, judgement }: FoundTable,
  work: ColumnWork,
  plans: readonly ColumnPlan[],
  trial: ColumnTrial | null,
): Promise<Note[]> {
  const toPark = { rows: changedRows(plans), highest: largestFinal(work) };
  const column = columnOf(facts, work.column.column);
  if (toPark.rows === 0n || column === undefined || context.policy.mode === 'new') return [];
  const isParked = judgement.handling.parked.includes(column.name) && column.holds !== 'other';
  const term = isParked ? await dialect.parkingTerm(facts.table, column, 0, toPark) : null;
  const refused = (await trial?.finish(term)) ?? [];
  return isParked && term === null ? [noRoomNote(column.name, column.type), ...refused] : refused;
}

/** Reports every cell that a run wrote and that holds something else by now. */
async function listChanged(
  engine: Engine,
  { target, judgement, units }: FoundTable,
  id: IdColumn,
  onUnmapped: OnUnmapped,
): Promise<void> {
  const { key } = judgement.handling;
  await readStillApplied(engine, units, key, id, (value, values) =>
    tellRow(onUnmapped, target.name, id, {
      kind: 'changed_since',
      reason: 'changed',
      value,
      key: keyOf(key, values),
    }),
  );
}

/**
 * What a plan looks at in one column: what is to be rewritten, or, of a column that runs went through, what they left
 * and what came since.
 */
function cellSources({ context, dialect }: Engine, found: FoundTable, id: IdColumn): CellSource[] {
  const { facts, judgement, units, earlier } = found;
  const { policy } = context;
  const value = `t.${dialect.quote(id.column)}`;
  if (policy.mode === 'new') {
    return [{ state: 'pending', policy, from: `${dialect.tableSql(facts.table)} AS t`, value }];
  }
  if (earlier.state === 'unfinished') return [];
  const state = isOpen(context, found, id) ? 'pending' : 'not_in_ledger';
  const entered = finishedPlaces(units, judgement.handling.key, id).map(({ unit, col }): CellSource => {
    // Only JSON has several ids in a cell: some were rewritten, others kept.
    const hasRest = id.path === undefined ? 'AND e.new IS NULL' : '';
    return {
      state: 'in_ledger',
      policy: { ...policy, ...unit.policy },
      from: `${enteredCells(dialect, unit, col)} AND ${dialect.isSame(value, 'e.new')} ${hasRest}`,
      value: 'e.old',
    };
  });
  return [{ state, policy, from: openRows(dialect, found, id), value }, ...entered];
}

interface TallyWhat extends ColumnOptions {
  readonly work: ColumnWork;
  readonly source: CellSource;
  readonly trial: ColumnTrial | null;
}

/** Counts the cells of a source; row by row where they are to be listed. */
async function tallyCells(
  { context, dialect }: Engine,
  { target, facts, judgement }: FoundTable,
  { work, source, trial, rows, onUnmapped }: TallyWhat,
): Promise<void> {
  const key = onUnmapped === undefined ? [] : rowKeyOf(dialect, facts, judgement.handling.key);
  let row: Cells = [];
  const watched =
    onUnmapped === undefined
      ? work
      : watchUnmapped(work, source, target.name, onUnmapped, () => ({ key: keyOf(key, row) }));
  const judged = dialect.judge({
    work: watched,
    mode: context.policy.mode,
    from: source.from,
    value: source.value,
    extra: key.map((name) => dialect.asText(`t.${dialect.quote(name)}`)),
    isGrouped: onUnmapped === undefined,
    onRow: (extra) => {
      row = extra;
    },
  });
  let done = 0;
  for await (const cells of judged) {
    await trial?.add(cells);
    done += cells.reduce((sum, one) => sum + one.rows, 0);
    context.onProgress({ kind: 'step', name: `reading ${facts.table}`, done, total: rows });
  }
}

/** How a row is named: by the key it is rewritten by, else by its first key or where it lies. */
function rowKeyOf(dialect: Engine['dialect'], facts: TableFacts, key: readonly string[]): readonly string[] {
  return key.length > 0 ? key : (facts.keys[0] ?? dialect.rowNames(facts));
}

/** Compares the new columns that runs filled with what they were filled from. */
async function compareEarlier(
  engine: Engine,
  { target, facts, judgement, units, earlier }: FoundTable,
  onUnmapped: OnUnmapped | undefined,
): Promise<Earlier> {
  const { context, dialect } = engine;
  if (context.policy.mode !== 'new' || earlier.run === null) return earlier;
  const key = rowKeyOf(dialect, facts, judgement.handling.key);
  const changed = new NamedRows();
  let left = 0;
  for (const id of target.ids) {
    const run = units.findLast((one) => one.mode === 'new' && one.labels.includes(columnLabel(id)));
    if (run === undefined || dialect.findColumn(facts, newColumnOf(id)) === undefined) continue;
    const compared = await compareFilled(engine, run, id, { key, onUnmapped });
    left += compared.unfilled.count;
    changed.merge(compared.foreign);
  }
  return { ...earlier, left, changedSince: changed.count, changedRows: changed.names };
}
