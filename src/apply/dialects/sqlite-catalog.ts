import { groupBy } from '../../text/rows.js';
import {
  type ForeignKey,
  type ListedTable,
  missingTable,
  NO_TYPE,
  type TableColumn,
  type TableFacts,
  type UniqueColumns,
} from '../engine/table-facts.js';
import { quoteIdentifier, quoteLiteral } from './shared-text.js';
import type { UserDb } from './sqlite-session.js';

/** Every table and view, except the ledger's and those of SQLite itself. */
export function listSqliteTables(db: UserDb): ListedTable[] {
  const sql = `SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow'
      AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'svc\\_migrate\\_%' ESCAPE '\\' ORDER BY name`;
  const tables = db.prepare<[], { name: string; type: string }>(sql).all();
  const obstacleOf = (type: string) =>
    type === 'table' ? null : type === 'view' ? 'a view' : `a ${type} table`;
  return tables.map(({ name, type }) => ({ name, obstacle: obstacleOf(type) }));
}

/** Reads the schema of a table; a missing table gets a note and no columns. */
export function readSqliteFacts(db: UserDb, name: string): TableFacts {
  const tables = db
    .prepare<[], { readonly name: string; readonly type: string; readonly strict: number }>(
      "SELECT name, type, strict FROM pragma_table_list WHERE schema = 'main'",
    )
    .all();
  const found = tables.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (found === undefined) return missingTable(name, listSqliteTables(db));
  const { name: table, type: kind, strict } = found;
  const info = readColumnInfo(db, table);
  const indexes = readIndexes(db, table, info);
  const key = primaryKey(info);
  const isChecked = hasCheck(db, table);
  const rowid = rowidName(db, table);
  // An INTEGER PRIMARY KEY has no index of its own.
  const hasRowidKey = key.length === 1 && indexes.every(({ origin }) => origin !== 'pk');
  const rowidKey = { name: 'the primary key', columns: key, isPlain: true };
  return {
    table,
    kind: kind === 'table' || kind === 'view' ? kind : `${kind} table`,
    columns: info.map((column) => describeColumn(column, { isStrict: strict === 1, isChecked })),
    keys: keysOf(db, table, info, indexes),
    uniques: [...(hasRowidKey ? [rowidKey] : []), ...indexes],
    foreignKeys: [...readForeignKeys(db, table, 'out'), ...readForeignKeys(db, table, 'in')],
    triggers: db
      .prepare<[string], string>(
        `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
         AND sql LIKE '%UPDATE%' ORDER BY name`,
      )
      .pluck()
      .all(table)
      .map((trigger) => `trigger ${trigger}`),
    autoUpdated: [],
    rowIds: rowid === null ? [] : [rowid],
    notes: [],
  };
}

/** Whether a table has check constraints. Which columns they are on cannot be read. */
function hasCheck(db: UserDb, table: string): boolean {
  const sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? AND sql LIKE '%check%'";
  return db.prepare(sql).get(table) !== undefined;
}

interface ColumnInfo {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
  readonly hidden: number;
}

function readColumnInfo(db: UserDb, table: string): ColumnInfo[] {
  const sql = `SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(${quoteLiteral(table)})`;
  return db.prepare<[], ColumnInfo>(sql).all();
}

function primaryKey(info: readonly ColumnInfo[]): string[] {
  return info
    .filter(({ pk }) => pk > 0)
    .sort((a, b) => a.pk - b.pk)
    .map(({ name }) => name);
}

/** A name for the rowid that no column hides; null if the table has no rowid or columns hide all its names. */
function rowidName(db: UserDb, table: string): string | null {
  const hasNone = "SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND name = ? AND wr = 1";
  if (db.prepare(hasNone).get(table) !== undefined) return null;
  const columns = readColumnInfo(db, table).map(({ name }) => name.toLowerCase());
  return ['rowid', '_rowid_', 'oid'].find((name) => !columns.includes(name)) ?? null;
}

const STRICT_TYPES: Readonly<Record<string, TableColumn['holds']>> = {
  INT: 'integer',
  INTEGER: 'integer',
  TEXT: 'text',
  ANY: 'any',
};

function describeColumn(
  { name, type, notnull, hidden }: ColumnInfo,
  { isStrict, isChecked }: { readonly isStrict: boolean; readonly isChecked: boolean },
): TableColumn {
  return {
    name,
    type: type === '' ? NO_TYPE : type,
    holds: isStrict ? (STRICT_TYPES[type.toUpperCase()] ?? 'other') : 'any',
    isNullable: notnull === 0,
    isGenerated: hidden === 2 || hidden === 3,
    isChecked,
    range: null,
    maxChars: null,
  };
}

interface IndexInfo extends UniqueColumns {
  readonly origin: string;
}

/** Unique indexes. One with an expression or a condition may depend on any column, so it lists all of them. */
function readIndexes(db: UserDb, table: string, info: readonly ColumnInfo[]): IndexInfo[] {
  const listSql = `SELECT name, origin, partial FROM pragma_index_list(${quoteLiteral(table)}) WHERE "unique" = 1`;
  const list = db.prepare<[], { name: string; origin: string; partial: number }>(listSql).all();
  return list.map(({ name, origin, partial }) => {
    const sql = `SELECT name FROM pragma_index_info(${quoteLiteral(name)}) ORDER BY seqno`;
    const parts = db.prepare<[], string | null>(sql).pluck().all();
    const named = parts.filter((part) => part !== null);
    const isPlain = partial === 0 && named.length === parts.length;
    return { name, origin, isPlain, columns: isPlain ? named : info.map((column) => column.name) };
  });
}

/**
 * The primary key, then other unique columns that are never null. Except for INTEGER PRIMARY KEY and WITHOUT ROWID,
 * SQLite allows nulls in a primary key; such a key is used only if it holds none.
 */
function keysOf(
  db: UserDb,
  table: string,
  info: readonly ColumnInfo[],
  indexes: readonly IndexInfo[],
): (readonly string[])[] {
  const primary = primaryKey(info);
  const isNeverNull = (key: readonly string[]) =>
    key.every((one) => info.some(({ name, notnull }) => name === one && notnull === 1));
  const holdsNull = () => {
    const isNull = primary.map((one) => `${quoteIdentifier(one)} IS NULL`).join(' OR ');
    return db.prepare(`SELECT 1 FROM ${quoteIdentifier(table)} WHERE ${isNull} LIMIT 1`).get() !== undefined;
  };
  const others = indexes
    .filter(({ isPlain, origin, columns }) => isPlain && origin !== 'pk' && isNeverNull(columns))
    .map(({ columns }) => columns);
  const isUsable = primary.length > 0 && (isNeverNull(primary) || !holdsNull());
  return isUsable ? [primary, ...others] : others;
}

interface ForeignKeyRow {
  readonly child: string;
  readonly id: number;
  readonly table: string;
  readonly from: string;
  readonly to: string | null;
  readonly on_update: string;
}

function readForeignKeys(db: UserDb, table: string, direction: ForeignKey['direction']): ForeignKey[] {
  const sql = `SELECT child.name AS child, fk.id, fk."table", fk."from", fk."to", fk.on_update
    FROM sqlite_schema AS child, pragma_foreign_key_list(child.name) AS fk
    WHERE child.type = 'table' AND ${direction === 'out' ? 'child.name' : 'fk."table"'} = ? COLLATE NOCASE
    ORDER BY child.name, fk.id, fk.seq`;
  const rows = db.prepare<[string], ForeignKeyRow>(sql).all(table);
  const groups = groupBy(rows, ({ id, child }) => `${id} ${child}`);
  return [...groups.values()].map((group) => {
    const [{ child = '', table: parent = '', on_update = '' } = {}] = group;
    const from = group.map((row) => row.from);
    const named = group.map((row) => row.to).filter((to) => to !== null);
    // Without column names a foreign key refers to the primary key.
    const to = named.length === group.length ? named : primaryKey(readColumnInfo(db, parent));
    const action = on_update.toUpperCase();
    return {
      name: `foreign key of ${direction === 'out' ? table : child}`,
      direction,
      columns: direction === 'out' ? from : to,
      otherTable: direction === 'out' ? parent : child,
      otherColumns: direction === 'out' ? to : from,
      onUpdate: action === 'CASCADE' ? 'cascade' : action.startsWith('SET') ? 'set' : 'none',
      isDeferrable: true,
    };
  });
}

/** Existing objects that have names of the ledger: a table with its columns, anything else with its type. */
export function readSqliteLedger(db: UserDb): ReadonlyMap<string, string> {
  const sql = `SELECT substr(object.name, length('svc_migrate_') + 1) AS name, CASE object.type WHEN 'table' THEN
      (SELECT group_concat(col.name || ' ' || col.type, ', ') FROM pragma_table_info(object.name) AS col) ELSE object.type END AS shape
    FROM sqlite_schema AS object
    WHERE object.name IN ('svc_migrate_run', 'svc_migrate_ledger')`;
  const rows = db.prepare<[], { name: string; shape: string | null }>(sql).all();
  return new Map(rows.map(({ name, shape }) => [name, shape ?? '']));
}
