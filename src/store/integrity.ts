import { SvcError } from '../errors.js';
import { damaged, ID_SUM } from './checksum.js';
import { EVERYTHING } from './remap-rows.js';
import { readStreamGroups } from './scoped-streams.js';
import type { Db } from './sqlite.js';
import { Sqlite } from './sqlite.js';
import { assertV4Companies } from './streams.js';

function nameOfStream(db: Db, id: bigint): string {
  const row = db
    .prepare<[bigint], { generation: string; model: string }>(
      'SELECT generation, model FROM stream WHERE id = ?',
    )
    .get(id);
  return row === undefined
    ? 'an unknown list'
    : `a ${String(row.generation).toUpperCase()} list of ${row.model}`;
}

interface WrongCount {
  readonly id: bigint;
  readonly saved: bigint;
  readonly found: bigint;
}

/**
 * Compares every list with its checksum, and the numbers of its records, rejected objects and excluded ids with those saved.
 *
 * @throws SvcError `corrupt_database`
 */
export function verifyCounts(db: Db): void {
  // these verify what they read
  readStreamGroups(db, EVERYTHING);
  assertV4Companies(db);
  const lists = [
    {
      what: 'stored records',
      saved: 'stored',
      present: 'SELECT stream_id, count(*) AS n FROM record GROUP BY stream_id',
    },
    {
      what: 'rejected objects',
      saved: 'rejected',
      // rejected children are listed but not counted
      present: "SELECT stream_id, count(*) AS n FROM rejected WHERE path = '' GROUP BY stream_id",
    },
  ];
  for (const { what, saved, present } of lists) {
    const wrong = db
      .prepare<[], WrongCount>(`
        SELECT id, sum(saved) AS saved, sum(found) AS found FROM (
          SELECT id, ${saved} AS saved, 0 AS found FROM stream UNION ALL SELECT stream_id, 0, n FROM (${present}))
        GROUP BY id HAVING sum(saved) <> sum(found) LIMIT 1`)
      .get();
    if (wrong === undefined) continue;
    const { id, ...counts } = wrong;
    throw damaged(`The number of ${what} of ${nameOfStream(db, id)}`, counts);
  }
  verifyExcluded(db);
}

/**
 * Compares the ids of records of excluded companies with their number and sum in each list.
 *
 * @throws SvcError `corrupt_database`
 */
export function verifyExcluded(db: Db): void {
  const wrong = db
    .prepare<[], bigint>(`
      SELECT id FROM (
        SELECT id, position ->> 'excluded' AS saved, 0 AS found, position ->> 'excludedSum' AS savedSum, 0 AS foundSum FROM stream
        UNION ALL SELECT stream_id, 0, count(*), 0, ${ID_SUM} FROM excluded GROUP BY stream_id)
      GROUP BY id HAVING total(saved) <> sum(found)
        OR count(savedSum) = count(*) AND sum(savedSum) <> sum(foundSum) LIMIT 1`)
    .pluck()
    .get();
  if (wrong !== undefined) throw damaged(`The excluded ids of ${nameOfStream(db, wrong)}`);
}

/** The number of a column that is an expression, in `PRAGMA index_xinfo`. */
const EXPRESSION = -2;
/** One line for each table, and for each column of the tables, views and indexes, with all that its definition says of it. */
const SHAPE = `
  SELECT concat_ws(' ', type, name, iif(wr, 'without rowid', ''), iif(strict, 'strict', '')) FROM pragma_table_list
    WHERE schema = 'main'
  UNION ALL
  SELECT concat_ws(' ', m.type, m.name, c.name, c.type, iif(c."notnull", 'not null', ''), c.pk, iif(c.hidden, 'generated', ''))
    FROM sqlite_schema AS m JOIN pragma_table_xinfo(m.name) AS c WHERE m.type IN ('table', 'view')
  UNION ALL
  SELECT concat_ws(' ', iif(i."unique", 'unique', ''), 'index', m.name, m.tbl_name, iif(i.partial, 'where', ''), c.seqno, c.name,
      c.coll, iif(c.desc, 'desc', ''))
    FROM sqlite_schema AS m JOIN pragma_index_list(m.tbl_name) AS i ON i.name = m.name
    JOIN pragma_index_xinfo(m.name) AS c WHERE m.type = 'index'
  UNION ALL
  SELECT sql FROM sqlite_schema AS m
    WHERE type = 'view' OR type = 'index' AND EXISTS (SELECT 1 FROM pragma_index_xinfo(m.name) WHERE cid = ${EXPRESSION})`;
/**
 * The first object that would make our tables (@tables) behave differently: a trigger, a collation, or a unique index that
 * is not ours (@indexes).
 */
const FOREIGN = `
  SELECT concat_ws(' ', m.type, m.name, 'of', m.tbl_name) FROM sqlite_schema AS m
    WHERE tbl_name COLLATE NOCASE IN (SELECT value FROM json_each(@tables)) AND (
      m.type = 'trigger' OR m.type = 'table' AND m.sql LIKE '%collate%'
      OR m.name NOT IN (SELECT value FROM json_each(@indexes))
        AND EXISTS (SELECT 1 FROM pragma_index_list(m.tbl_name) AS i WHERE i.name = m.name AND i."unique")) LIMIT 1`;

/** Tables with added indexes, but for the large ones: queries on these say which index they use. */
const INDEXED = `
  SELECT DISTINCT tbl_name FROM sqlite_schema
    WHERE type = 'index' AND tbl_name IN (SELECT value FROM json_each(@tables))
      AND name NOT IN (SELECT value FROM json_each(@indexes)) AND tbl_name NOT IN ('record', 'payload_block')`;

/** The stored SQL of every object, without the quotes that SQLite adds to the name of a renamed table. */
const OBJECTS = `
  SELECT concat_ws(' ', quote(type), quote(name), quote(tbl_name),
    quote(replace(sql, 'CREATE TABLE "' || name || '"(', 'CREATE TABLE ' || name || '(')))
  FROM sqlite_schema`;

/** What `assertShape` looks for in a database. */
export interface Shape {
  readonly objects: readonly string[];
  readonly lines: readonly string[];
  /** Names, as JSON lists. */
  readonly tables: string;
  readonly indexes: string;
}

/** The shape of an empty database. */
export function readShape(empty: Db): Shape {
  const names = (type: string) =>
    JSON.stringify(
      empty.prepare<[string], string>('SELECT name FROM sqlite_schema WHERE type = ?').pluck().all(type),
    );
  const lines = empty.prepare<[], string>(SHAPE).pluck().all();
  return { objects: readObjects(empty), lines, tables: names('table'), indexes: names('index') };
}

function readObjects(db: Db): string[] {
  return db.prepare<[], string>(OBJECTS).pluck().all();
}

/**
 * Checks that a database has every table, view, column and index of an empty one, defined alike. Additions are allowed, except
 * triggers and unique indexes of these tables.
 *
 * @returns the tables of which queries may use an added index, which must be checked before
 * @throws SvcError `corrupt_database`
 */
export function assertShape(db: Db, { objects, lines, tables, indexes }: Shape): readonly string[] {
  // If the stored SQL of every object is that of an empty database, the columns need not be compared.
  const written = new Set(readStored(() => readObjects(db)));
  const isAllThere = objects.every((object) => written.has(object));
  if (isAllThere && written.size === objects.length) return [];
  const missing = isAllThere ? undefined : findMissing(db, lines);
  const wrong =
    missing ?? readStored(() => db.prepare<[object], string>(FOREIGN).pluck().get({ tables, indexes }));
  if (wrong !== undefined) throw damaged(`The layout of the database (${wrong.replace(/\s+/g, ' ').trim()})`);
  return db.prepare<[object], string>(INDEXED).pluck().all({ tables, indexes });
}

function findMissing(db: Db, lines: readonly string[]): string | undefined {
  const found = new Set(readStored(() => db.prepare<[], string>(SHAPE).pluck().all()));
  return lines.find((line) => !found.has(line));
}

/** SQLite parses a view to list its columns, and a CHECK to check a table: damaged SQL text raises SQLITE_ERROR here. */
function readStored<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_ERROR') {
      throw damaged('The layout of the database', { error: error.message });
    }
    throw error;
  }
}

/** Tables that a remap is built from. */
export const EXPORTED_TABLES = ['meta', 'stream', 'record', 'v4_company'] as const;

/** Small tables whose rows are neither counted nor digested. */
export const UNCOUNTED_TABLES = ['meta', 'remap_run'] as const;

export function listTables(db: Db): string[] {
  return db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all();
}

/**
 * Runs SQLite's integrity check on tables and their indexes. It takes a thirtieth of the time of a remap, half of it for
 * the indexes.
 *
 * @param onTable called before each table with the number of tables done; it may throw to end the check
 * @throws SvcError `corrupt_database`
 */
export function checkFile(db: Db, tables: readonly string[], onTable: (done: number) => void): void {
  for (const [done, table] of tables.entries()) {
    onTable(done);
    const check = () => db.prepare<[], string>(`PRAGMA integrity_check("${table}")`).pluck().get() ?? '';
    const found = readStored(check);
    if (found === 'ok') continue;
    throw new SvcError('corrupt_database', `The table ${table} of the database is damaged: ${found}.`, {
      hint: 'Restore a backup, or export again into a new database; nothing was repaired.',
    });
  }
}
