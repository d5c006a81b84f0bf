import { orMeantEnd } from '../../text/suggest.js';
import { blocks } from '../column-work.js';
import type { ForeignKey, TableColumn, TableFacts, Uniqueness } from '../engine/table-facts.js';
import { quoteName, quoteText } from '../sql-names.js';
import type { UserDb } from './sqlite-session.js';

interface Listed {
  readonly name: string;
  readonly type: string;
  readonly strict: number;
}

/** Reads what a table is; a table that is not there gets a note and no columns. */
export function readSqliteFacts(db: UserDb, name: string): TableFacts {
  const tables = db
    .prepare<[], Listed>("SELECT name, type, strict FROM pragma_table_list WHERE schema = 'main'")
    .all();
  const found = tables.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (found === undefined) return missingTable(name, tables);
  const table = found.name;
  const info = xinfo(db, table);
  const indexes = readIndexes(db, table, info);
  const columns = readColumns(info, found.strict === 1);
  return {
    table,
    kind: found.type === 'table' ? 'table' : `${found.type}${found.type === 'view' ? '' : ' table'}`,
    columns,
    keys: keysOf(db, table, info, indexes),
    uniques: [...rowidKey(info, indexes), ...indexes],
    foreignKeys: [...outgoing(db, table), ...incoming(db, table)],
    triggers: readTriggers(db, table),
    notes: [],
  };
}

function missingTable(name: string, tables: readonly Listed[]): TableFacts {
  const known = tables.filter(({ name: one }) => !one.startsWith('sqlite_')).map((one) => one.name);
  const notes = [blocks('unknown_table', `There is no table "${name}"${orMeantEnd(name, known)}`)];
  const none = { columns: [], keys: [], uniques: [], foreignKeys: [], triggers: [] };
  return { table: name, kind: 'table', ...none, notes };
}

interface XInfo {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
  readonly hidden: number;
}

function xinfo(db: UserDb, table: string): XInfo[] {
  return db
    .prepare<[], XInfo>(
      `SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(${quoteText(table)})`,
    )
    .all();
}

/** A name for the rowid that no column took; null where the table has none. */
export function rowidName(db: UserDb, table: string): string | null {
  const hasNone = "SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND name = ? AND wr = 1";
  if (db.prepare(hasNone).get(table) !== undefined) return null;
  const columns = xinfo(db, table).map(({ name }) => name.toLowerCase());
  return ['rowid', '_rowid_', 'oid'].find((name) => !columns.includes(name)) ?? null;
}

function readColumns(info: readonly XInfo[], isStrict: boolean): TableColumn[] {
  return info.map(({ name, type, notnull, hidden }) => ({
    name,
    type: type === '' ? 'without type' : type,
    holds: isStrict ? strictHolds(type) : 'any',
    isNullable: notnull === 0,
    isGenerated: hidden === 2 || hidden === 3,
    isDomain: false,
    range: null,
    maxChars: null,
  }));
}

function strictHolds(type: string): TableColumn['holds'] {
  switch (type.toUpperCase()) {
    case 'INT':
    case 'INTEGER':
      return 'integer';
    case 'TEXT':
      return 'text';
    case 'ANY':
      return 'any';
    default:
      return 'other';
  }
}

interface Index extends Uniqueness {
  readonly origin: string;
}

/** Unique indexes; one with an expression or a condition counts for every column its text could mean. */
function readIndexes(db: UserDb, table: string, info: readonly XInfo[]): Index[] {
  const list = db
    .prepare<[], { name: string; origin: string; partial: number }>(
      `SELECT name, origin, partial FROM pragma_index_list(${quoteText(table)}) WHERE "unique" = 1`,
    )
    .all();
  const all = info.map(({ name }) => name);
  return list.map(({ name, origin, partial }) => {
    const parts = db
      .prepare<[], string | null>(`SELECT name FROM pragma_index_info(${quoteText(name)}) ORDER BY seqno`)
      .pluck()
      .all();
    const named = parts.filter((part) => part !== null);
    const isPlain = partial === 0 && named.length === parts.length;
    return { name, origin, isPlain, columns: isPlain ? named : all };
  });
}

function primaryKey(info: readonly XInfo[]): string[] {
  return info
    .filter(({ pk }) => pk > 0)
    .sort((a, b) => a.pk - b.pk)
    .map(({ name }) => name);
}

/** An INTEGER PRIMARY KEY has no index of its own. */
function rowidKey(info: readonly XInfo[], indexes: readonly Index[]): Uniqueness[] {
  const key = primaryKey(info);
  if (key.length !== 1 || indexes.some(({ origin }) => origin === 'pk')) return [];
  return [{ name: 'the primary key', columns: key, isPlain: true }];
}

/**
 * The primary key, then other unique columns that are never null. Outside INTEGER PRIMARY KEY and WITHOUT ROWID
 * SQLite takes nulls in a primary key; such a key counts only while it holds none.
 */
function keysOf(
  db: UserDb,
  table: string,
  info: readonly XInfo[],
  indexes: readonly Index[],
): (readonly string[])[] {
  const primary = primaryKey(info);
  const isNeverNull = (key: readonly string[]) =>
    key.every((one) => info.some(({ name, notnull }) => name === one && notnull === 1));
  const holdsNull = (key: readonly string[]) => {
    const isNull = key.map((one) => `${quoteName(one)} IS NULL`).join(' OR ');
    return db.prepare(`SELECT 1 FROM ${quoteName(table)} WHERE ${isNull} LIMIT 1`).get() !== undefined;
  };
  const others = indexes
    .filter(({ isPlain, origin }) => isPlain && origin !== 'pk')
    .map((one) => one.columns);
  const usable = others.filter(isNeverNull);
  const isUsable = primary.length > 0 && (isNeverNull(primary) || !holdsNull(primary));
  return isUsable ? [primary, ...usable] : usable;
}

interface FkRow {
  readonly child: string;
  readonly id: number;
  readonly table: string;
  readonly from: string;
  readonly to: string | null;
  readonly on_update: string;
}

/** Foreign keys of the tables that `where` picks by the names `m.name` and `f."table"`, each as its rows. */
function foreignKeys(db: UserDb, where: string, name: string): FkRow[][] {
  const rows = db
    .prepare<[string], FkRow>(
      `SELECT m.name AS child, f.id, f."table", f."from", f."to", f.on_update
       FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS f
       WHERE m.type = 'table' AND ${where} = ? COLLATE NOCASE ORDER BY m.name, f.id, f.seq`,
    )
    .all(name);
  const groups = new Map<string, FkRow[]>();
  for (const row of rows) {
    const key = `${row.id} ${row.child}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()];
}

function outgoing(db: UserDb, table: string): ForeignKey[] {
  return foreignKeys(db, 'm.name', table).map((rows) => ({
    name: `foreign key of ${table}`,
    direction: 'out',
    columns: rows.map((row) => row.from),
    otherTable: rows[0]?.table ?? '',
    otherColumns: referred(db, rows),
    onUpdate: onUpdateOf(rows),
    isDeferrable: true,
  }));
}

function incoming(db: UserDb, table: string): ForeignKey[] {
  return foreignKeys(db, 'f."table"', table).map((rows) => ({
    name: `foreign key of ${rows[0]?.child ?? ''}`,
    direction: 'in',
    columns: referred(db, rows),
    otherTable: rows[0]?.child ?? '',
    otherColumns: rows.map((row) => row.from),
    onUpdate: onUpdateOf(rows),
    isDeferrable: true,
  }));
}

/** Without column names a foreign key refers to the primary key. */
function referred(db: UserDb, rows: readonly FkRow[]): string[] {
  const named = rows.map((row) => row.to).filter((to) => to !== null);
  if (named.length === rows.length) return named;
  return primaryKey(xinfo(db, rows[0]?.table ?? ''));
}

function onUpdateOf(rows: readonly FkRow[]): ForeignKey['onUpdate'] {
  const action = rows[0]?.on_update.toUpperCase() ?? '';
  if (action === 'CASCADE') return 'cascade';
  return action.startsWith('SET') ? 'set' : 'none';
}

function readTriggers(db: UserDb, table: string): string[] {
  return db
    .prepare<[string], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
         AND sql LIKE '%UPDATE%' ORDER BY name`,
    )
    .pluck()
    .all(table)
    .map((name) => `trigger ${name}`);
}
