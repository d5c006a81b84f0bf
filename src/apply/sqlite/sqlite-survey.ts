import { setImmediate } from 'node:timers/promises';
import { columnLabel, type IdColumn, newColumnOf, type SqliteTarget } from '../../config/apply-targets.js';
import { blocks, type ColumnWork, checkColumn, openColumn } from '../column-work.js';
import type { ApplyContext, SurveyOptions } from '../context.js';
import type { LeftCount } from '../left.js';
import { type ColumnPlan, type Earlier, NO_EARLIER, type Note, type TargetPlan } from '../plan.js';
import { RowNames } from '../row-names.js';
import { quoteName } from '../sql-names.js';
import { addHeld } from '../tables/held.js';
import { type Judgement, judgeTable, type Rewritten } from '../tables/judge-table.js';
import { type CellSource, keyOf, type OnLeft, tellRow, watchLeft } from '../tables/left-cells.js';
import { mergedNotes, partsOf } from '../tables/merged-column.js';
import { noRoomNote } from '../tables/parking.js';
import { columnOf } from '../tables/table-facts.js';
import {
  addLeft,
  buildColumnPlans,
  buildTablePlan,
  changedRows,
  countedNotes,
  isUnreadable,
  largestFinal,
  leftOfWork,
  sameColumnNotes,
  watchFinals,
} from '../tables/table-plan.js';
import { rivalNotes, sharedNewColumnNotes, sharedTableNotes, writtenNotes } from '../tables/twice.js';
import {
  earlierNotes,
  findEarlier,
  finishedPlaces,
  isOpen,
  newColumnNotes,
  otherKeyNotes,
  pathNotes,
  rowKeyNotes,
} from '../tables/units.js';
import { buildCellJudge, type Cell, exactSql, judgeCell, rowScopes, scopeSql } from './cells.js';
import { compareFilled } from './compare-filled.js';
import { enteredRows, keyMatch, keySql, ledgerNotes, plain, readUnits, type Unit } from './ledger.js';
import type { SqliteFacts } from './sqlite-facts.js';
import { readHeld } from './sqlite-held.js';
import { parkingTerm } from './sqlite-parking.js';
import { readOnlyNotes, trialNotes } from './sqlite-trial.js';
import { interrupted, type UserDb } from './user-db.js';

const ROWS_PER_SECOND = 150_000;
const ROWS_PER_BREATH = 50_000;

/** A table as it was found, and how it is to be handled. */
export interface Found {
  readonly target: SqliteTarget;
  readonly facts: SqliteFacts;
  readonly judgement: Judgement;
  /** Runs that touched it. */
  readonly units: readonly Unit[];
  readonly earlier: Earlier;
  readonly notes: readonly Note[];
}

/** Looks at a table without reading its rows. */
export function findTable(
  context: ApplyContext,
  db: UserDb,
  target: SqliteTarget,
  facts: SqliteFacts,
  rewritten: readonly Rewritten[],
): Found {
  const judgement = judgeTable(facts, target, context.policy, rewritten);
  const foreign = ledgerNotes(db);
  const units = foreign.length > 0 ? [] : readUnits(db, facts.table);
  const notes = [
    ...foreign,
    ...readOnlyNotes(target.file),
    ...judgement.notes,
    ...sameColumnNotes(target),
    ...rivalNotes(target.name, facts.table, target.ids, rewritten),
    ...sharedNewColumnNotes(context.policy.mode, target.name, facts.table, target.ids, rewritten),
    ...sharedTableNotes(target.name, facts.table, judgement, rewritten),
    ...writtenNotes(context.policy.mode, target.ids, units),
    ...target.ids.flatMap(mergedNotes),
    ...target.ids.flatMap(partsOf).flatMap((id) => [...checkColumn(context.remap, id), ...pathNotes(id)]),
    ...earlierNotes(context, target, units),
    ...rowKeyNotes(context, target, units),
    ...otherKeyNotes(judgement.handling.key, units),
    ...newColumnNotes(context, (name) => hasColumn(facts, name), target, units),
  ];
  const all = isUnreadable(notes) ? notes : [...notes, ...keyNotes(db, facts, judgement.handling.key)];
  const found = { target, facts, judgement, units, notes: all, earlier: NO_EARLIER };
  return { ...found, earlier: isUnreadable(notes) ? NO_EARLIER : earlierOf(context, db, found) };
}

/** SQLite does not tell column names apart by case. */
export function hasColumn(facts: Pick<SqliteFacts, 'columns'>, name: string): boolean {
  return facts.columns.some((column) => column.name.toLowerCase() === name.toLowerCase());
}

/** Keys of several columns are kept as JSON, which holds integers and texts exactly. */
function keyNotes(db: UserDb, { table }: SqliteFacts, key: readonly string[]): Note[] {
  if (key.length < 2) return [];
  const odd = key.map((column) => `typeof(${quoteName(column)}) NOT IN ('integer', 'text')`).join(' OR ');
  if (db.prepare(`SELECT 1 FROM ${quoteName(table)} WHERE ${odd} LIMIT 1`).get() === undefined) return [];
  return [blocks('key_type', `The key (${key.join(', ')}) holds other values than integers and texts.`)];
}

function earlierOf(context: ApplyContext, db: UserDb, found: Found): Earlier {
  const { earlier, covered } = findEarlier(context, found.target, found.units);
  if (context.policy.mode === 'new' && earlier.run !== null) {
    return {
      ...earlier,
      left: found.target.ids.reduce((sum, id) => sum + countUnfilled(db, found.facts, id), 0),
    };
  }
  if (found.judgement.handling.key.length === 0) return earlier;
  const { key } = found.judgement.handling;
  const since = covered.reduce((sum, id) => sum + countSince(db, found, id), 0);
  const held = covered.flatMap((id) => readHeld(db, found.units, key, id));
  return addHeld(earlier, since, held);
}

/** Cells with a value and without one in the new column. */
function countUnfilled(db: UserDb, facts: SqliteFacts, id: IdColumn): number {
  if (!hasColumn(facts, newColumnOf(id))) return 0;
  const sql = `SELECT count(*) FROM ${quoteName(facts.table)}
    WHERE ${quoteName(id.column)} IS NOT NULL AND ${quoteName(newColumnOf(id))} IS NULL`;
  return Number(db.prepare(sql).pluck().get());
}

/** Cells with a value and without an entry. */
function countSince(db: UserDb, { facts, judgement, units }: Found, id: IdColumn): number {
  const sql = `SELECT count(*) FROM ${unenteredRows(facts, judgement.handling.key, units, id)}
    ${andWhere(units, id)} AND t.${quoteName(id.column)} IS NOT NULL`;
  return Number(db.prepare(sql).pluck().get());
}

/** `FROM` of the rows of a column that no run has entered; continue it with `andWhere`. */
export function unenteredRows(
  facts: Pick<SqliteFacts, 'table'>,
  key: readonly string[],
  units: readonly Pick<Unit, 'unit' | 'labels'>[],
  id: IdColumn,
): string {
  const entered = enteredRows(units, columnLabel(id));
  const table = `${quoteName(facts.table)} AS t`;
  if (entered === null) return table;
  const rowKey = keySql(key, (column) => plain(`t.${quoteName(column)}`));
  return `${table} LEFT JOIN ${entered} AS e ON e.row_key = ${rowKey}`;
}

export function andWhere(units: readonly Unit[], id: IdColumn): string {
  return enteredRows(units, columnLabel(id)) === null ? 'WHERE TRUE' : 'WHERE e.row_key IS NULL';
}

/** The same table after something was done to it in this run. */
export function refresh(context: ApplyContext, db: UserDb, found: Found): Found {
  const units = readUnits(db, found.facts.table);
  const now = { ...found, units };
  return { ...now, earlier: earlierOf(context, db, now) };
}

/** Reads a table and says what apply would do to it. */
export async function surveyTable(
  context: ApplyContext,
  db: UserDb,
  found: Found,
  { onLeft }: SurveyOptions = {},
): Promise<TargetPlan> {
  const { target, facts, notes } = found;
  const place = `${target.file}, table ${facts.table}`;
  const base = { target, place, rowsPerSecond: ROWS_PER_SECOND };
  if (isUnreadable(notes)) {
    return buildTablePlan({ ...base, earlier: found.earlier, rows: 0, columns: [], notes });
  }
  const rows = Number(
    db
      .prepare(`SELECT count(*) FROM ${quoteName(facts.table)}`)
      .pluck()
      .get(),
  );
  const columns: ColumnPlan[] = [];
  const counted: Note[] = [];
  for (const id of target.ids) {
    const work = watchFinals(openColumn(context, id, context.policy), facts, context.policy.mode);
    const left: LeftCount[][] = [];
    for (const source of cellSources(context, found, id)) {
      const own = source.state === 'open' ? work : openColumn(context, id, source.policy);
      await tallyCells(context, db, found, { work: own, source, rows, onLeft });
      if (own !== work) addLeft(left, leftOfWork(own, source));
    }
    if (onLeft !== undefined && context.policy.mode === 'in_place') listChanged(db, found, id, onLeft);
    const plans = buildColumnPlans(work, context.policy.mode, left);
    columns.push(...plans);
    counted.push(
      ...plans.flatMap((plan) => countedNotes(context, facts, found.judgement.handling, work, plan)),
      ...writableNotes(context, db, found, work, plans),
    );
  }
  const earlier = compareEarlier(context, db, found, onLeft);
  return buildTablePlan({ ...base, earlier, rows, columns, notes: [...notes, ...counted] });
}

/** Ids that swap under a unique constraint need values that no row holds, and checks judge what rows hold. */
function writableNotes(
  context: ApplyContext,
  db: UserDb,
  { facts, judgement }: Found,
  work: ColumnWork,
  plans: readonly ColumnPlan[],
): Note[] {
  const name = work.column.column;
  const toPark = { rows: changedRows(plans), highest: largestFinal(work) };
  if (toPark.rows === 0n || context.policy.mode === 'new') return [];
  if (!judgement.handling.parked.includes(name)) return trialNotes(context, db, facts, work, null);
  const term = parkingTerm(db, facts.table, name, 0, toPark);
  if (term === null) return [noRoomNote(name, columnOf(facts, name)?.type ?? '')];
  return trialNotes(context, db, facts, work, term);
}

/** Reports every cell that a run wrote and that holds something else by now. */
function listChanged(db: UserDb, { target, judgement, units }: Found, id: IdColumn, onLeft: OnLeft): void {
  const { key } = judgement.handling;
  readHeld(db, units, key, id, (rowKey, value) => {
    const values: unknown = key.length > 1 ? JSON.parse(rowKey) : [rowKey];
    const row = { value, key: keyOf(key, Array.isArray(values) ? values : []) };
    tellRow(onLeft, target.name, id, { kind: 'changed_since', reason: 'changed', ...row });
  });
}

/**
 * What a plan looks at in one column: what is to be rewritten, or, of a column that runs went through, what they left
 * and what came since.
 */
function cellSources(context: ApplyContext, found: Found, id: IdColumn): CellSource[] {
  const { facts, judgement, units, earlier } = found;
  const { policy } = context;
  const value = `t.${quoteName(id.column)}`;
  if (policy.mode === 'new') {
    return [{ state: 'open', policy, from: `${quoteName(facts.table)} AS t`, value }];
  }
  if (earlier.state === 'unfinished') return [];
  const from = `${unenteredRows(facts, judgement.handling.key, units, id)} ${andWhere(units, id)}`;
  const state = isOpen(context, found, id) ? 'open' : 'unentered';
  const entered = finishedPlaces(units, judgement.handling.key, id).map(({ unit, col }): CellSource => {
    const match = keyMatch(unit.key, (name) => `t.${quoteName(name)}`, 'e.row_key');
    // Only JSON has several ids in a cell: some were rewritten, others kept.
    const hasRest = id.path === undefined ? 'AND e.new IS NULL' : '';
    return {
      state: 'entered',
      policy: { ...policy, ...unit.policy },
      from: `svc_migrate_entry AS e JOIN ${quoteName(unit.table)} AS t ON ${match}
        WHERE e.unit = ${unit.unit} AND e.col = ${col} AND e.id <= ${unit.done} AND ${value} IS e.new COLLATE BINARY ${hasRest}`,
      value: 'e.old',
    };
  });
  return [{ state, policy, from, value }, ...entered];
}

interface TallyWhat {
  readonly work: ColumnWork;
  readonly source: CellSource;
  readonly rows: number;
  readonly onLeft: OnLeft | undefined;
}

async function tallyCells(
  context: ApplyContext,
  db: UserDb,
  { target, facts, judgement }: Found,
  { work, source, rows, onLeft }: TallyWhat,
): Promise<void> {
  const id = work.column;
  const key = onLeft === undefined ? [] : rowKeyOf(facts, judgement.handling.key);
  const scopes = scopeSql(id, 't');
  const terms = [
    exactSql(id, source.value),
    ...scopes,
    ...key.map((name) => `CAST(t.${quoteName(name)} AS TEXT)`),
  ];
  let row: readonly Cell[] = [];
  const watched =
    onLeft === undefined
      ? work
      : watchLeft(work, source, target.name, onLeft, () => ({
          key: keyOf(key, row.slice(1 + scopes.length)),
        }));
  const judge = buildCellJudge(watched, context.policy.mode);
  let done = 0;
  const sql = `SELECT ${terms.join(', ')} FROM ${source.from}`;
  for (row of db.prepare<[], Cell[]>(sql).raw().iterate()) {
    const [cell = null, ...scope] = row;
    judgeCell(judge, cell, typeof cell === 'string', rowScopes(id, scope));
    done += 1;
    if (done % ROWS_PER_BREATH !== 0) continue;
    context.onProgress({ kind: 'step', name: `reading ${facts.table}`, done, total: rows });
    await setImmediate();
    if (context.signal.aborted) throw interrupted();
  }
}

/** How a row is named: by the key it is rewritten by, else by its first key or its rowid. */
function rowKeyOf({ keys, rowid }: SqliteFacts, key: readonly string[]): readonly string[] {
  return key.length > 0 ? key : (keys[0] ?? (rowid === null ? [] : [rowid]));
}

/** Compares the new columns that runs filled with what they were filled from. */
function compareEarlier(
  context: ApplyContext,
  db: UserDb,
  { target, facts, judgement, units, earlier }: Found,
  onLeft: OnLeft | undefined,
): Earlier {
  if (context.policy.mode !== 'new' || earlier.run === null) return earlier;
  const key = rowKeyOf(facts, judgement.handling.key);
  const changed = new RowNames();
  let left = 0;
  for (const id of target.ids) {
    const unit = units.findLast((one) => one.mode === 'new' && one.labels.includes(columnLabel(id)));
    if (unit === undefined || !hasColumn(facts, newColumnOf(id))) continue;
    const compared = compareFilled(context, db, unit, id, { key, onLeft });
    left += compared.unfilled.count;
    changed.merge(compared.foreign);
  }
  return { ...earlier, left, changedSince: changed.count, changedRows: changed.names };
}
