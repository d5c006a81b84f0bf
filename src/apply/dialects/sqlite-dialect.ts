import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import type { SqliteTarget } from '../../config/apply-targets.js';
import type { ColumnWork } from '../column-work.js';
import type { ApplyContext, DataStore } from '../context.js';
import { openDatabaseStore } from '../engine/database-store.js';
import type { Cell, Dialect, EmitText, Engine, IdMap, MapSource, SqlText } from '../engine/dialect.js';
import { writesPlatformId } from '../engine/id-columns.js';
import { mapKey, mapTerms } from '../engine/id-maps.js';
import { buildCellJudge, judgeCell, scopeTerms } from '../engine/judge-cells.js';
import { integerSql } from '../engine/move-rows.js';
import { declaredType } from '../engine/table-facts.js';
import { blocks, type Mode, type Note } from '../plan.js';
import { FAILURE_PREFIX, hexOf, literalFormatter, quoteIdentifier, updateFromSql } from './shared-text.js';
import { listSqliteTables, readSqliteFacts, readSqliteLedger } from './sqlite-catalog.js';
import { openUserDb, SqliteSession, sqliteError, type UserDb } from './sqlite-session.js';

/** Opens the tables of one SQLite database. */
export function openSqliteStore(
  context: ApplyContext,
  file: string,
  targets: readonly SqliteTarget[],
): DataStore {
  return openDatabaseStore(
    {
      use: async (access, work) => {
        const db = openUserDb(file, access === 'write');
        try {
          return await work(sqliteEngine(context, new SqliteSession(context, db), file));
        } catch (error) {
          throw sqliteError(error, file);
        } finally {
          db.close();
        }
      },
      close: async () => {},
    },
    targets,
  );
}

export function sqliteEngine(context: ApplyContext, session: SqliteSession, file: string): Engine {
  const { db } = session;
  const dialect: Dialect = {
    ...SQLITE_TEXT,
    emit: SQLITE_EMIT,
    readLedger: async () => ({ shape: readSqliteLedger(db), notes: [] }),
    // BEGIN IMMEDIATE has locked the whole database.
    lockLedger: async () => {},
    listTables: async () => listSqliteTables(db),
    readFacts: async (target) => readSqliteFacts(db, target.table),
    obstacleNotes: async () => readOnlyNotes(file),
    deferForeignKeys: async () => async () => {},
    beforeUpdate: async () => {},
    loadMap: async (map, source) => loadSqliteMap(db, map, source),
  };
  const engine = { context, session, dialect };
  return engine;
}

/** The result of a look-up for a cell that keeps its value. No id is an empty blob. */
const KEEP = "x''";

/**
 * SQL that looks up a cell of table `t` through a JavaScript function. Select `call AS name` in a subquery that
 * evaluates it once; outside the subquery, `isChanged` tells whether the cell changes, and `value` is its new value in
 * the type of the column.
 */
function registerLookUp(
  db: UserDb,
  name: string,
  work: ColumnWork,
  mode: Mode,
): { readonly call: string; readonly isChanged: string; readonly value: string } {
  const id = work.column;
  const judge = buildCellJudge(work, mode);
  const keep = Buffer.alloc(0);
  db.function(
    name,
    { directOnly: true, varargs: true },
    (cell: Cell, isText: number, ...scope: unknown[]) => {
      const result = judgeCell(judge, cell, scope);
      if (result === undefined) return keep;
      // The new id has the type of the old one: text or integer. A platform_id is text.
      return typeof result === 'string' && isText === 0 && !writesPlatformId(id) ? BigInt(result) : result;
    },
  );
  const cell = `t.${quoteIdentifier(id.column)}`;
  const terms = [SQLITE_TEXT.asCell(id, cell), `typeof(${cell}) = 'text'`, ...scopeTerms(SQLITE_TEXT, id)];
  return {
    call: `${name}(${terms.join(', ')})`,
    isChanged: `${name} IS NOT ${KEEP}`,
    value: id.path === undefined ? name : `CAST(${name} AS TEXT)`,
  };
}

/** Looks cells up in the order in which they are read: a value that is in the map already is not added again. */
function loadSqliteMap(db: UserDb, map: IdMap, { work, mode, from, where, fill }: MapSource): void {
  const { call, isChanged, value } = registerLookUp(db, 'svc_migrate_new', work, mode);
  const names = mapKey(map, SQLITE_TEXT);
  const terms = mapTerms(SQLITE_TEXT, map).map((term, at) => `${term} AS ${names[at]}`);
  // LIMIT -1 keeps SQLite from calling the function more than once for a row.
  const isFilled = mode === 'new' ? 'AND svc_migrate_new IS NOT NULL' : '';
  db.prepare(
    `INSERT OR IGNORE INTO ${map.table}(${names.join(', ')}, new, keep, fill) SELECT ${names.join(', ')}, ${value}, 0, ${fill}
     FROM (SELECT ${terms.join(', ')}, ${call} AS svc_migrate_new FROM ${from} WHERE ${where} LIMIT -1)
     WHERE ${isChanged} ${isFilled}`,
  ).run();
}

/** Blocks a database whose file or folder cannot be written: SQLite keeps a journal in the folder. */
export function readOnlyNotes(file: string): Note[] {
  return [file, dirname(file)]
    .filter((place) => !isWritable(place))
    .map((place) => blocks('read_only_file', `${place} cannot be written by this user.`));
}

function isWritable(place: string): boolean {
  try {
    accessSync(place, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const literal = literalFormatter((text) => `CAST(x'${hexOf(text)}' AS TEXT)`);

/** SQLite's SQL for the shared operations. The ledger stores cells and keys with their own types. */
const SQLITE_TEXT: SqlText = {
  quote: quoteIdentifier,
  literal,
  foldName: (name) => name.toLowerCase(),
  tableSql: quoteIdentifier,
  ledgerTypes: { number: 'INTEGER', text: 'TEXT', name: 'TEXT COLLATE NOCASE', options: '' },
  platformIdType: { type: 'TEXT', maxChars: null, allowsNulCharacter: true },
  asText: (term) => `CAST(${term} AS TEXT)`,
  // A real is equal to an integer, and is no id: as the bytes of its text it differs from both. An expression has neither
  // affinity nor collation, with which SQLite would not use the index of a map.
  exact: (term) => `iif(typeof(${term}) = 'real', CAST(CAST(${term} AS TEXT) AS BLOB), ${term})`,
  same: (one, other) => `${one} IS ${other} COLLATE BINARY`,
  // The first comparison uses the index: `+` removes an affinity, with which SQLite could not. The second is exact: keys
  // that are equal in the collation of the column may differ in that of an index. There `+` hides the column from the planner,
  // which would try both comparisons with every part of a long key.
  isKey: (indexed, value) => `${indexed} = +${value} AND +${indexed} = ${value} COLLATE BINARY`,
  keyName: (terms) =>
    terms.length === 1 ? (terms[0] ?? '') : terms.map((term) => `CAST(${term} AS TEXT)`).join(" || ', ' || "),
  // BLOB: values keep their own types.
  createMap: (map) => {
    const key = mapKey(map, SQLITE_TEXT);
    const table = `${map.isKept ? '' : 'temp.'}${map.table}`;
    const drop = map.isKept ? [] : [`DROP TABLE IF EXISTS ${table}`];
    const columns = [...key, 'new', 'keep', 'fill'];
    return [
      ...drop,
      `CREATE TABLE ${table}(${columns.join(' BLOB, ')} INTEGER, PRIMARY KEY (${key.join(', ')}, fill)) WITHOUT ROWID`,
    ];
  },
  createRows: (list, { columns, flags }) => {
    const all = [...columns.map(({ name }) => `${name} BLOB`), ...flags.map((name) => `${name} INTEGER`)];
    return [`CREATE TABLE IF NOT EXISTS ${list}(id INTEGER PRIMARY KEY, ${all.join(', ')})`];
  },
  loaded: () => [],
  rowNumber: null,
  createView: (view, query) => [`DROP VIEW IF EXISTS ${view}`, `CREATE VIEW ${view} AS ${query}`],
  // Reals become text, so that `42.0` is not taken for 42; JSON, and text that ids stand in, becomes a blob of the
  // same bytes.
  asCell: ({ path, pattern }, term) =>
    path === undefined && pattern === undefined
      ? `CASE typeof(${term}) WHEN 'integer'
          THEN iif(${term} BETWEEN -9007199254740991 AND 9007199254740991, ${term}, CAST(${term} AS TEXT))
          WHEN 'real' THEN CAST(${term} AS TEXT) ELSE ${term} END`
      : `CASE typeof(${term}) WHEN 'text' THEN CAST(${term} AS BLOB) WHEN 'null' THEN NULL
          ${path === undefined ? `WHEN 'integer' THEN CAST(${term} AS TEXT)` : ''} ELSE 0 END`,
  groupsCells: false,
  exactText: (term) =>
    `iif(typeof(${term}) = 'blob', 'b' || hex(${term}), iif(typeof(${term}) = 'integer', 'i', 't') || CAST(${term} AS TEXT))`,
  updateFrom: updateFromSql,
  batchKey: ({ rowIds }) =>
    rowIds.map((column) => ({ column, valueSql: (text) => integerSql(BigInt(text)) })),
  // BEGIN IMMEDIATE has locked the whole database.
  lockRows: null,
  ddlCommits: false,
  integersOf: (term) => ({
    lowest: `min(${term})`,
    highest: `max(${term})`,
    where: `typeof(${term}) = 'integer'`,
  }),
  parkedValue: (_, own, integer, suffix) => {
    const text = `w.id || '${suffix}'`;
    if (integer === null || suffix === null) return integer ?? text;
    return `iif(typeof(${own}) = 'text', ${text}, ${integer})`;
  },
  lockTables: () => ['PRAGMA defer_foreign_keys = ON'],
  checkKeys: [],
};

/** SQL text for scripts of `apply sql`. */
const SQLITE_EMIT: EmitText = {
  settings: { set: [], restore: [] },
  now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
  countColumns: (table, name, type) => {
    const isType = type === null ? '' : ` AND type = ${literal(declaredType(type))}`;
    return `(SELECT count(*) FROM pragma_table_info(${literal(table)}) WHERE name = ${literal(name)} COLLATE NOCASE${isType})`;
  },
  addColumn: (table, column, type) => [
    `ALTER TABLE ${quoteIdentifier(table)} ADD COLUMN ${quoteIdentifier(column)} ${type}`.trim(),
  ],
  // Fails on purpose: the text is not a JSON path, and SQLite's error message quotes it.
  raise: (checks) =>
    `SELECT json_extract('{}', '${FAILURE_PREFIX}' || problem || ' (' || failed || ')') FROM ${checks} WHERE failed > 0`,
  runIf: (_, statement) => [statement],
  // `run` is NOT NULL, so the INSERT fails.
  rollBackIf: (condition, { run }) => [`INSERT OR ROLLBACK INTO ${run}(run) SELECT NULL WHERE ${condition}`],
};
