import type { Db } from '../../store/sqlite.js';
import { groupBy } from '../../text/rows.js';
import type { ColumnFacts, ForeignKey, ListedTable, Obstacle, TableFacts } from './database.js';

export type OpenWriter = (() => Db) | null;

export function listSqliteTables(db: Db): ListedTable[] {
  const sql = `select name, type from pragma_table_list
    where schema = 'main' and type <> 'shadow' and name not like 'sqlite\\_%' escape '\\' order by name`;
  return db
    .prepare<[], { name: string; type: string }>(sql)
    .all()
    .map(({ name, type }) => ({
      schema: null,
      name,
      obstacle: type === 'table' ? null : type === 'view' ? 'a view' : `a ${type} table`,
    }));
}

/** `openWriter`: opens the file, so that a statement may be tried and rolled back; null if it cannot be written. */
export function introspectSqlite(db: Db, name: string, openWriter: OpenWriter): TableFacts | null {
  const sql = `select name, type from pragma_table_list where schema = 'main' and lower(name) = lower(?)`;
  const row = db.prepare<[string], { name: string; type: string }>(sql).get(name);
  if (row === undefined) return null;
  const { name: table, type } = row;
  const info = readColumns(db, table);
  const uniques = readUniques(db, table, info);
  const isTable = type === 'table';
  return {
    table,
    schema: null,
    name: table,
    columns: info.map(describe),
    key: findKey(info, uniques),
    uniques,
    foreignKeys: [...readForeignKeys(db, table, 'out'), ...readForeignKeys(db, table, 'in')],
    triggers: readTriggers(db, table),
    obstacles: isTable ? tryUpdates(db, table, info, openWriter) : [isNoTable(table, type)],
  };
}

function isNoTable(table: string, type: string): Obstacle {
  return { stops: 'write', code: 'not_a_table', text: `${table} is a ${type}: name the table behind it.` };
}

interface ColumnInfo {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
  readonly hidden: number;
}

function readColumns(db: Db, table: string): ColumnInfo[] {
  const sql = 'select name, type, "notnull", pk, hidden from pragma_table_xinfo(?)';
  return db.prepare<[string], ColumnInfo>(sql).all(table);
}

function describe({ name, type, notnull, hidden }: ColumnInfo): ColumnFacts {
  const isText = /char|clob|text/i.test(type) && !/int/i.test(type);
  const isAny = type === '' || (/blob|any/i.test(type) && !/int/i.test(type));
  return {
    name,
    type,
    holds: isText ? 'text' : isAny ? 'any' : 'integer',
    isNullable: notnull === 0,
    isGenerated: hidden === 2 || hidden === 3,
    isUnsigned: false,
  };
}

type Unique = TableFacts['uniques'][number] & { readonly isPlain: boolean };

/** An index with an expression or a condition may depend on any column, so it lists all of them. */
function readUniques(db: Db, table: string, info: readonly ColumnInfo[]): Unique[] {
  const list = db
    .prepare<[string], { name: string; origin: string; partial: number }>(
      'select name, origin, partial from pragma_index_list(?) where "unique" = 1',
    )
    .all(table);
  const indexes = list.map(({ name, origin, partial }) => {
    const sql = 'select name from pragma_index_info(?) order by seqno';
    const parts = db.prepare<[string], string | null>(sql).pluck().all(name);
    const columns = parts.filter((part) => part !== null);
    const isPlain = partial === 0 && columns.length === parts.length;
    return { name, origin, isPlain, columns: isPlain ? columns : info.map((column) => column.name) };
  });
  const primary = primaryKey(info);
  // An INTEGER PRIMARY KEY has no index.
  const isRowid = primary.length === 1 && indexes.every(({ origin }) => origin !== 'pk');
  return isRowid ? [{ name: 'the primary key', isPlain: true, columns: primary }, ...indexes] : indexes;
}

function primaryKey(info: readonly ColumnInfo[]): string[] {
  return info
    .filter(({ pk }) => pk > 0)
    .sort((a, b) => a.pk - b.pk)
    .map(({ name }) => name);
}

function findKey(info: readonly ColumnInfo[], uniques: readonly Unique[]): readonly string[] {
  const primary = primaryKey(info);
  if (primary.length > 0) return primary;
  const isNeverNull = (name: string) => info.some((column) => column.name === name && column.notnull === 1);
  return uniques.find(({ isPlain, columns }) => isPlain && columns.every(isNeverNull))?.columns ?? [];
}

function readTriggers(db: Db, table: string): string[] {
  const sql = `select name from sqlite_schema
    where type = 'trigger' and lower(tbl_name) = lower(?) and sql like '%update%' order by name`;
  return db.prepare<[string], string>(sql).pluck().all(table);
}

interface ForeignKeyRow {
  readonly child: string;
  readonly id: number;
  readonly parent: string;
  readonly from: string;
  readonly to: string | null;
  readonly on_update: string;
}

function readForeignKeys(db: Db, table: string, direction: ForeignKey['direction']): ForeignKey[] {
  const side = direction === 'out' ? 'child.name' : 'key."table"';
  const sql = `select child.name as child, key.id, key."table" as parent, key."from", key."to", key.on_update
    from sqlite_schema as child, pragma_foreign_key_list(child.name) as key
    where child.type = 'table' and lower(${side}) = lower(?) order by child.name, key.id, key.seq`;
  const rows = db.prepare<[string], ForeignKeyRow>(sql).all(table);
  return [...groupBy(rows, ({ id, child }) => `${id} ${child}`).values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const named = group.map(({ to }) => to).filter((to) => to !== null);
    // Without names of columns a foreign key refers to the primary key.
    const to = named.length === group.length ? named : primaryKey(readColumns(db, first.parent));
    const action = first.on_update.toUpperCase();
    return {
      name: `foreign key of ${first.child}`,
      direction,
      columns: direction === 'out' ? group.map(({ from }) => from) : to,
      otherTable: direction === 'out' ? first.parent : first.child,
      onUpdate: action === 'CASCADE' ? 'cascade' : action.startsWith('SET') ? 'set' : 'none',
    };
  });
}

/**
 * Compiles an UPDATE of each column, which finds triggers, checks, collations and functions that only the application's
 * SQLite knows. Where that fails, an UPDATE of a new column is compiled in a transaction that is rolled back.
 */
function tryUpdates(db: Db, table: string, info: readonly ColumnInfo[], openWriter: OpenWriter): Obstacle[] {
  const stored = info.filter(({ hidden }) => hidden === 0);
  const refused = stored.flatMap(({ name }) => {
    const problem = compile(db, `update ${quote(table)} set ${quote(name)} = ${quote(name)} where 0`);
    return problem === null ? [] : [{ name, problem }];
  });
  if (refused.length === 0) return [];
  const atAll = openWriter === null || db.inTransaction ? null : tryNewColumn(openWriter, table);
  if (atAll !== null)
    return [
      {
        stops: 'write',
        code: 'cannot_update',
        text: `SQLite refuses every UPDATE of ${table}: ${atAll}. Drop what it names for the time of the migration.`,
      },
    ];
  return refused.map(({ name, problem }) => ({
    stops: 'switch',
    code: 'cannot_update',
    column: name,
    text: `SQLite refuses an UPDATE of ${table}.${name}: ${problem}. The new column can be written; drop what it names before the switch.`,
  }));
}

function tryNewColumn(openWriter: () => Db, table: string): string | null {
  const db = openWriter();
  try {
    if (!canBegin(db)) return null;
    const column = quote('svc_migrate_probe');
    db.exec(`alter table ${quote(table)} add column ${column}`);
    return compile(db, `update ${quote(table)} set ${column} = null where 0`);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    db.close();
  }
}

function compile(db: Db, sql: string): string | null {
  try {
    db.prepare(sql);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function canBegin(db: Db): boolean {
  try {
    db.exec('begin immediate');
    return true;
  } catch {
    return false;
  }
}

export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
