import { setImmediate } from 'node:timers/promises';
import { columnLabel, type IdColumn, newColumnOf, type SqliteTarget } from '../../config/apply-targets.js';
import { blocks, type ColumnWork, checkColumn, openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { type ColumnPlan, type Earlier, NO_EARLIER, type Note, type TargetPlan } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { addHeld } from '../tables/held.js';
import { type Judgement, judgeTable, type Rewritten } from '../tables/judge-table.js';
import {
  buildColumnPlan,
  buildTablePlan,
  countedNotes,
  isUnreadable,
  sameColumnNotes,
  watchFinals,
} from '../tables/table-plan.js';
import { rivalNotes, sharedNewColumnNotes, sharedTableNotes, writtenNotes } from '../tables/twice.js';
import {
  earlierNotes,
  findEarlier,
  isOpen,
  newColumnNotes,
  otherKeyNotes,
  pathNotes,
  rowKeyNotes,
} from '../tables/units.js';
import { buildCellJudge, type Cell, cellSql, judgeCell, rowScope, scopeSql } from './cells.js';
import { enteredRows, keySql, plain, readUnits, type Unit } from './ledger.js';
import type { SqliteFacts } from './sqlite-facts.js';
import { readHeld } from './sqlite-held.js';
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
  const units = readUnits(db, facts.table);
  const notes = [
    ...judgement.notes,
    ...sameColumnNotes(target),
    ...rivalNotes(target.name, facts.table, target.ids, rewritten),
    ...sharedNewColumnNotes(context.policy.mode, target.name, facts.table, target.ids, rewritten),
    ...sharedTableNotes(target.name, facts.table, judgement, rewritten),
    ...writtenNotes(context.policy.mode, target.ids, units),
    ...target.ids.flatMap((id) => [...checkColumn(context.remap, id), ...pathNotes(id)]),
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
export async function surveyTable(context: ApplyContext, db: UserDb, found: Found): Promise<TargetPlan> {
  const { target, facts, notes, earlier } = found;
  const place = `${target.file}, table ${facts.table}`;
  const base = { target, place, earlier, rowsPerSecond: ROWS_PER_SECOND };
  if (isUnreadable(notes)) return buildTablePlan({ ...base, rows: 0, columns: [], notes });
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
    if (isOpen(context, found, id)) await tallyColumn(context, db, found, work, rows);
    const plan = buildColumnPlan(work, context.policy.mode);
    columns.push(plan);
    counted.push(...countedNotes(context, facts, found.judgement.handling, work, plan));
  }
  return buildTablePlan({ ...base, rows, columns, notes: [...notes, ...counted] });
}

async function tallyColumn(
  context: ApplyContext,
  db: UserDb,
  { facts, judgement, units }: Found,
  work: ColumnWork,
  total: number,
): Promise<void> {
  const id = work.column;
  const isNew = context.policy.mode === 'new';
  const from = unenteredRows(facts, judgement.handling.key, isNew ? [] : units, id);
  const sql = `SELECT ${[cellSql(id, 't'), ...scopeSql(id, 't')].join(', ')} FROM ${from} ${andWhere(isNew ? [] : units, id)}`;
  const judge = buildCellJudge(work, context.policy.mode);
  let done = 0;
  for (const [cell = null, ...scope] of db.prepare<[], Cell[]>(sql).raw().iterate()) {
    judgeCell(judge, cell, typeof cell === 'string', rowScope(id, scope));
    done += 1;
    if (done % ROWS_PER_BREATH !== 0) continue;
    context.onProgress({ kind: 'step', name: `reading ${facts.table}`, done, total });
    await setImmediate();
    if (context.signal.aborted) throw interrupted();
  }
}
