import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { SvcError } from '../../errors.js';
import { APPLICATION_ID } from '../../store/open.js';
import { type Db, Sqlite } from '../../store/sqlite.js';
import { inBatches } from '../../text/rows.js';
import {
  type ColumnFacts,
  type Connection,
  type Database,
  type ListedTable,
  type Obstacle,
  type TableFacts,
  throwIfAborted,
  type Value,
} from './database.js';

/** Short, because signals are not heard while SQLite waits; `transaction` waits again. */
const BUSY_MS = 100;
const BATCH_ROWS = 1000;
const ROWS_PER_INSERT = 100;
/** Crosswalks are searched in random order: with SQLite's 2 MiB, 300,000 rows take a quarter more time; 64 MiB are no faster. */
const CACHE_KIB = 8 * 1024;

/**
 * Opens a SQLite file of the user.
 *
 * @throws SvcError `bad_input` if it is missing, not SQLite, or the database of svc-migrate itself
 */
export function openSqlite(file: string, mode: 'read' | 'write', connection: Connection): Database {
  if (!existsSync(file) || !statSync(file).isFile())
    throw new SvcError('bad_input', `There is no SQLite database at ${file}.`, { hint: 'Check the path.' });
  const db = guard(file, () => connect(file, mode));
  const { runUninterruptible, lockTimeoutMs } = connection;

  async function inTransaction<T>(work: () => Promise<T>): Promise<T> {
    await begin();
    try {
      db.pragma('defer_foreign_keys = on');
      const result = await work();
      await runUninterruptible(() => db.exec('commit'));
      return result;
    } catch (error) {
      if (db.open && db.inTransaction) db.exec('rollback');
      throw sqliteError(error, file);
    }
  }

  async function begin(): Promise<void> {
    const attempts = Math.ceil(lockTimeoutMs / BUSY_MS);
    for (let attempt = 1; ; attempt += 1) {
      throwIfAborted(connection);
      try {
        db.exec('begin immediate');
        return;
      } catch (error) {
        if (!isBusy(error) || attempt >= attempts) throw sqliteError(error, file);
        await setTimeout(1);
      }
    }
  }

  return {
    kind: 'sqlite',
    place: file,
    supportsTransactionalDdl: true,
    quote,
    literal,
    // Reals and blobs become text that is never an id. An expression has no collation, so the join is exact.
    exact: ({ holds }, term) =>
      holds === 'text'
        ? `iif(typeof(${term}) = 'blob', quote(${term}), cast(${term} as text))`
        : `case typeof(${term}) when 'real' then quote(${term}) when 'blob' then quote(${term}) else ${term} end`,
    stored: (_, term) => term,
    isOld: (_, old, cell) => `${old} = ${cell}`,
    isSame: (_, a, b) => `typeof(${a}) = typeof(${b}) and +${a} collate binary is ${b}`,
    createTable: ({ table, columns, key }) => {
      const list = columns.map(({ name, type, isNullable }) => {
        const declared = type === 'name' ? ' text' : '';
        return `${quote(name)}${declared}${isNullable ? '' : ' not null'}`;
      });
      return [
        `create table if not exists ${table}(${list.join(', ')}, primary key (${key.map(quote).join(', ')})) without rowid`,
      ];
    },
    updateFrom: ({ table, from, on, set, where }) => {
      const changes = set.map(([column, term]) => `${quote(column)} = ${term}`).join(', ');
      return `update ${table} as t set ${changes} from ${from} as m where ${on} and ${where}`;
    },
    lockTable: () => [],

    introspect: async (table) =>
      guard(file, () => introspect(db, table, isWritable(file) ? () => open(file, false) : null)),
    listTables: async () => guard(file, () => listTables(db)),
    query: async (sql) =>
      guard(file, () => db.prepare<[], unknown[]>(sql).raw().safeIntegers().all().map(toValues)),
    execute: async (sql) => {
      throwIfAborted(connection);
      return runUninterruptible(() => guard(file, () => db.prepare(sql).run().changes));
    },
    read: async function* (sql) {
      const rows = guard(file, () => db.prepare<[], Value[]>(sql).raw().safeIntegers().iterate());
      for (const batch of inBatches(rows, BATCH_ROWS)) {
        throwIfAborted(connection);
        yield batch;
      }
    },
    insert: async (table, columns, rows) => {
      const names = columns.map(quote).join(', ');
      const marks = `(${columns.map(() => '?').join(', ')})`;
      await runUninterruptible(() =>
        guard(file, () => {
          const prepare = (count: number) =>
            db.prepare(`insert into ${table}(${names}) values ${Array(count).fill(marks).join(', ')}`);
          const whole = rows.length < ROWS_PER_INSERT ? null : prepare(ROWS_PER_INSERT);
          for (const some of inBatches(rows, ROWS_PER_INSERT)) {
            const values: Value[] = [];
            for (const row of some) values.push(...row);
            (some.length === ROWS_PER_INSERT && whole !== null ? whole : prepare(some.length)).run(values);
          }
        }),
      );
    },
    // A read transaction would keep writers of a file without WAL from committing.
    transaction: (kind, work) => (kind === 'read' ? work() : inTransaction(work)),
    close: async () => {
      db.close();
    },
  };
}

function connect(file: string, mode: 'read' | 'write'): Db {
  const db = mode === 'write' ? open(file, false) : openReader(file);
  if (db.pragma('application_id', { simple: true }) === APPLICATION_ID) {
    db.close();
    throw new SvcError('bad_input', `${file} is the svc-migrate database, not your own data.`, {
      hint: 'Name the database that holds your records.',
    });
  }
  if (mode === 'write') db.pragma('synchronous = full');
  db.pragma('temp_store = file');
  db.pragma(`cache_size = -${CACHE_KIB}`);
  // Values are inserted while others are read.
  db.unsafeMode(true);
  return db;
}

function open(file: string, readonly: boolean): Db {
  return new Sqlite(file, { readonly, fileMustExist: true, timeout: BUSY_MS });
}

/** A killed writer leaves a journal that only a writer can roll back, as any program that opens the file would. */
function openReader(file: string): Db {
  const db = open(file, true);
  const probe = 'select count(*) from sqlite_schema';
  try {
    db.prepare(probe).get();
    return db;
  } catch (error) {
    db.close();
    if (!/^SQLITE_READONLY_(ROLLBACK|RECOVERY)$/.test(codeOf(error))) throw error;
  }
  const writer = open(file, false);
  try {
    writer.prepare(probe).get();
  } finally {
    writer.close();
  }
  return open(file, true);
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    accessSync(dirname(file), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A text with control characters is written in hexadecimal, so that no shell of SQLite can misread it. */
function literal(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'bigint') return value === -(2n ** 63n) ? '(-9223372036854775807 - 1)' : String(value);
  if (/[\u0000-\u001f\u007f]/.test(value)) return `cast(x'${Buffer.from(value).toString('hex')}' as text)`;
  return `'${value.replaceAll("'", "''")}'`;
}

function toValues(row: readonly unknown[]): Value[] {
  return row.map((value) =>
    value === null || value === undefined ? null : typeof value === 'bigint' ? value : String(value),
  );
}

function guard<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw sqliteError(error, file);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Sqlite.SqliteError ? error.code : '';
}

function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error));
}

/** SQLite's errors on the user's database as SvcErrors; others unchanged. */
function sqliteError(error: unknown, file: string): unknown {
  if (!(error instanceof Sqlite.SqliteError)) return error;
  const options = { facts: { error: error.code }, cause: error };
  if (isBusy(error)) {
    return new SvcError('locked', `${file} is locked by another program.`, {
      ...options,
      hint: 'Try again when it is less busy.',
    });
  }
  if (/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM)/.test(error.code)) {
    return new SvcError('disk', `Cannot write ${file}: ${error.message}.`, {
      ...options,
      hint: 'Free disk space or fix the permissions, then run the same command again.',
    });
  }
  const hint = error.code.startsWith('SQLITE_CONSTRAINT')
    ? 'A constraint of the table refuses the ids; the table is unchanged. Drop the constraint until the switch is done.'
    : 'The data are unchanged.';
  return new SvcError('bad_input', `${file}: ${error.message}.`, { ...options, hint });
}

type OpenWriter = (() => Db) | null;

function listTables(db: Db): ListedTable[] {
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
function introspect(db: Db, name: string, openWriter: OpenWriter): TableFacts | null {
  const sql = `select name, type from pragma_table_list where schema = 'main' and lower(name) = lower(?)`;
  const row = db.prepare<[string], { name: string; type: string }>(sql).get(name);
  if (row === undefined) return null;
  const { name: table, type } = row;
  const info = readColumns(db, table);
  const isTable = type === 'table';
  return {
    table,
    schema: null,
    name: table,
    columns: info.map(describe),
    key: primaryKey(info),
    uniqueColumns: readUniqueColumns(db, table, info),
    cascades: readCascades(db, table, info),
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

function describe({ name, type, notnull, pk, hidden }: ColumnInfo): ColumnFacts {
  const isText = /char|clob|text/i.test(type) && !/int/i.test(type);
  const isAny = type === '' || (/blob|any/i.test(type) && !/int/i.test(type));
  return {
    name,
    type,
    holds: isText ? 'text' : isAny ? 'any' : 'integer',
    isGenerated: hidden === 2 || hidden === 3,
    isNullable: notnull === 0 && pk === 0,
    isUnsigned: false,
  };
}

/** An index with an expression or a condition may depend on any column. */
function readUniqueColumns(db: Db, table: string, info: readonly ColumnInfo[]): string[] {
  const sql = `select parts.name, list.partial from pragma_index_list(?) as list, pragma_index_info(list.name) as parts
    where list."unique" = 1`;
  const parts = db.prepare<[string], { name: string | null; partial: number }>(sql).all(table);
  const isPlain = parts.every(({ name, partial }) => name !== null && partial === 0);
  // An INTEGER PRIMARY KEY has no index.
  return isPlain
    ? [...primaryKey(info), ...parts.flatMap(({ name }) => name ?? [])]
    : info.map(({ name }) => name);
}

function primaryKey(info: readonly ColumnInfo[]): string[] {
  return info
    .filter(({ pk }) => pk > 0)
    .sort((a, b) => a.pk - b.pk)
    .map(({ name }) => name);
}

function readTriggers(db: Db, table: string): string[] {
  const sql = `select name from sqlite_schema
    where type = 'trigger' and lower(tbl_name) = lower(?) and sql like '%update%' order by name`;
  return db.prepare<[string], string>(sql).pluck().all(table);
}

/** A foreign key that names no columns refers to the primary key. */
function readCascades(db: Db, table: string, info: readonly ColumnInfo[]): TableFacts['cascades'] {
  const sql = `select child.name as "table", key."to" as name from sqlite_schema as child, pragma_foreign_key_list(child.name) as key
    where child.type = 'table' and lower(key."table") = lower(?) and key.on_update not in ('NO ACTION', 'RESTRICT')`;
  const keys = db.prepare<[string], { table: string; name: string | null }>(sql).all(table);
  return keys.map(({ table: child, name }) => ({
    table: child,
    columns: name === null ? primaryKey(info) : [name],
  }));
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
        text: `SQLite refuses every UPDATE of ${table}: ${atAll}. Drop what it names until the migration is done.`,
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

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
