import { setImmediate } from 'node:timers/promises';
import { blocks, type ColumnWork, checkColumn, openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { type ColumnPlan, type Earlier, NO_EARLIER, type Note, type TargetPlan } from '../plan.js';
import { type Judgement, judgeTable, type Rewritten } from '../tables/judge-table.js';
import {
  buildColumnPlan,
  buildTablePlan,
  countedNotes,
  isUnreadable,
  sameColumnNotes,
  watchFinals,
} from '../tables/table-plan.js';
import { columnLabel, type IdColumn, newColumnOf, type SqliteTarget } from '../targets.js';
import { parseJsonPath } from '../text/json-path.js';
import { buildCellJudge, type Cell, cellSql, judgeCell, rowScope, scopeSql } from './cells.js';
import { enteredRows, keySql, readUnits, type Unit } from './ledger.js';
import { quoteName } from './names.js';
import type { SqliteFacts } from './sqlite-facts.js';
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
    ...target.ids.flatMap((id) => [...checkColumn(context.remap, id), ...pathNotes(id)]),
    ...earlierNotes(context, target, units),
    ...otherKeyNotes(judgement.handling.key, units),
    ...newColumnNotes(context, facts, target, units),
  ];
  const all = isUnreadable(notes) ? notes : [...notes, ...keyNotes(db, facts, judgement.handling.key)];
  return {
    target,
    facts,
    judgement,
    units,
    notes: all,
    earlier: earlierOf(context, db, target, facts, units),
  };
}

function pathNotes({ path }: IdColumn): Note[] {
  if (path === undefined || parseJsonPath(path) !== null) return [];
  return [blocks('bad_path', `"${path}" is no JSON path: write it like "$.invoice.id" or "$.ids[*]".`)];
}

/** Keys of several columns are kept as JSON, which holds integers and texts exactly. */
function keyNotes(db: UserDb, { table }: SqliteFacts, key: readonly string[]): Note[] {
  if (key.length < 2) return [];
  const odd = key.map((column) => `typeof(${quoteName(column)}) NOT IN ('integer', 'text')`).join(' OR ');
  if (db.prepare(`SELECT 1 FROM ${quoteName(table)} WHERE ${odd} LIMIT 1`).get() === undefined) return [];
  return [blocks('key_type', `The key (${key.join(', ')}) holds other values than integers and texts.`)];
}

/** An unfinished run goes first, and with the remap it began with. */
function earlierNotes(context: ApplyContext, target: SqliteTarget, units: readonly Unit[]): Note[] {
  const open = units.find(({ state }) => state !== 'done');
  if (open === undefined) return [];
  const isOurs =
    open.state === 'working' && open.mode === context.policy.mode && hasSameColumns(open, target);
  if (!isOurs) {
    const what =
      open.state === 'undoing' ? 'is half taken back: finish with' : 'is unfinished: finish it, or';
    return [blocks('other_run', `Run ${open.run} ${what} \`svc-migrate undo ${open.run}\`.`)];
  }
  if (open.remapSha256 === context.facts.sha256) return [];
  const text = `Run ${open.run} began with another remap: finish it with that one, or \`svc-migrate undo ${open.run}\`.`;
  return [blocks('other_remap', text)];
}

export function hasSameColumns(unit: Unit, target: SqliteTarget): boolean {
  return unit.labels.join('\0') === target.ids.map(columnLabel).join('\0');
}

function newColumnNotes(
  { policy }: ApplyContext,
  facts: SqliteFacts,
  target: SqliteTarget,
  units: readonly Unit[],
): Note[] {
  if (policy.mode !== 'new') return [];
  const ours = units
    .filter(({ mode }) => mode === 'new')
    .flatMap((unit) => unit.target.ids.map((id) => newColumnOf(id).toLowerCase()));
  return target.ids
    .map(newColumnOf)
    .filter((name) => facts.columns.some((column) => column.name.toLowerCase() === name.toLowerCase()))
    .filter((name) => !ours.includes(name.toLowerCase()))
    .map((name) =>
      blocks(
        'new_column_exists',
        `${facts.table} has a column "${name}" already that is not from svc-migrate.`,
      ),
    );
}

/** Entries are found by the key they were made with. */
function otherKeyNotes(key: readonly string[], units: readonly Unit[]): Note[] {
  const other = units.find((unit) => unit.mode === 'in_place' && unit.key.join('\0') !== key.join('\0'));
  if (other === undefined || key.length === 0) return [];
  const used = other.key.join(', ');
  return [blocks('other_key', `Run ${other.run} told the rows apart by ${used}: name that as the key.`)];
}

function earlierOf(
  context: ApplyContext,
  db: UserDb,
  target: SqliteTarget,
  facts: SqliteFacts,
  units: readonly Unit[],
): Earlier {
  const labels = target.ids.map(columnLabel);
  const own = units.filter(
    (unit) => unit.mode === context.policy.mode && unit.labels.some((name) => labels.includes(name)),
  );
  const last = own.at(-1);
  if (last === undefined) return NO_EARLIER;
  const done = own.reduce((sum, unit) => sum + unit.changed, 0);
  if (context.policy.mode === 'new') return { state: 'unfinished', run: last.run, done, left: 0, since: 0 };
  if (last.state !== 'done') {
    return { state: 'unfinished', run: last.run, done, left: last.last - last.done, since: 0 };
  }
  const covered = target.ids.filter((id) => isCovered(units, id));
  const since = covered.reduce((sum, id) => sum + countSince(db, facts, last, units, id), 0);
  const state = covered.length === target.ids.length ? 'finished' : 'none';
  return { state, run: last.run, done, left: 0, since };
}

/** Whether a run has been through this column. */
function isCovered(units: readonly Unit[], id: IdColumn): boolean {
  return units.some((unit) => unit.mode === 'in_place' && unit.labels.includes(columnLabel(id)));
}

/** Cells with a value and without an entry. */
function countSince(
  db: UserDb,
  facts: SqliteFacts,
  unit: Unit,
  units: readonly Unit[],
  id: IdColumn,
): number {
  const sql = `SELECT count(*) FROM ${unenteredRows(facts, unit.key, units, id)}
    ${andWhere(units, id)} AND t.${quoteName(id.column)} IS NOT NULL`;
  return Number(db.prepare(sql).pluck().get());
}

/** `FROM` of the rows of a column that no run has entered; continue it with `andWhere`. */
export function unenteredRows(
  facts: SqliteFacts,
  key: readonly string[],
  units: readonly Unit[],
  id: IdColumn,
): string {
  const entered = enteredRows(units, columnLabel(id));
  const table = `${quoteName(facts.table)} AS t`;
  if (entered === null) return table;
  const rowKey = keySql(key, (column) => `t.${quoteName(column)}`);
  return `${table} LEFT JOIN ${entered} AS e ON e.row_key = ${rowKey}`;
}

export function andWhere(units: readonly Unit[], id: IdColumn): string {
  return enteredRows(units, columnLabel(id)) === null ? 'WHERE TRUE' : 'WHERE e.row_key IS NULL';
}

/** The same table after something was done to it in this run. */
export function refresh(context: ApplyContext, db: UserDb, found: Found): Found {
  const units = readUnits(db, found.facts.table);
  return { ...found, units, earlier: earlierOf(context, db, found.target, found.facts, units) };
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

/** Whether a column is to be looked up: what a run has been through is left alone without `again`. */
export function isOpen({ policy }: ApplyContext, { units, earlier }: Found, id: IdColumn): boolean {
  if (policy.mode === 'new') return true;
  return earlier.state !== 'unfinished' && (policy.again || !isCovered(units, id));
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
