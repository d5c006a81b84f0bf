import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import type { SqliteTarget } from '../../config/apply-targets.js';
import type { ColumnWork } from '../column-work.js';
import type { ApplyContext, DataStore } from '../context.js';
import { openDatabaseStore } from '../engine/database-store.js';
import type { Dialect, Engine, FillRange, IdMap, MapSource } from '../engine/dialect.js';
import { writesPlatformId } from '../engine/id-columns.js';
import { mapKey, mapTerms } from '../engine/id-maps.js';
import { buildCellJudge, judgeCell, scopeTerms } from '../engine/judge-cells.js';
import { OWN_LEDGER } from '../engine/ledger.js';
import { createRunSql } from '../engine/ledger-runs.js';
import { replaceView } from '../engine/own-tables.js';
import type { Cell } from '../engine/session.js';
import { blocks, type Mode, type Note } from '../plan.js';
import { quoteIdentifier } from './shared-text.js';
import { listSqliteTables, readSqliteFacts, readSqliteLedger, rowidName } from './sqlite-catalog.js';
import { openUserDb, SqliteSession, sqliteError, type UserDb } from './sqlite-session.js';
import { integerSql, SQLITE_EMIT, SQLITE_TEXT } from './sqlite-text.js';

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
    ledgerOf: () => OWN_LEDGER,
    readLedgerShape: async () => readSqliteLedger(db),
    ledgerObstacles: async () => [],
    ensureLedger: async () => {},
    // BEGIN IMMEDIATE has locked the whole database.
    lockLedger: async (ledger) => {
      await session.exec(createRunSql(SQLITE_TEXT, ledger));
      if (!readSqliteLedger(db).has('ledger')) await replaceView(engine, ledger);
    },
    place: async () => file,
    placeOfRun: (table) => `${file}, table ${table}`,
    listTables: async () => listSqliteTables(db),
    readFacts: async (target) => readSqliteFacts(db, target.table),
    locksDatabase: () => (db.pragma('journal_mode', { simple: true }) === 'wal' ? 'writers' : 'everyone'),
    rowIdNames: ({ table }) => {
      const rowid = rowidName(db, table);
      return rowid === null ? [] : [rowid];
    },
    obstacleNotes: async () => readOnlyNotes(file),
    lockTables: () => session.exec('PRAGMA defer_foreign_keys = ON'),
    checkForeignKeys: async () => {},
    beforeUpdate: async () => {},
    loadMap: async (map, source) => loadSqliteMap(db, map, source),
    fillRanges: ({ table }) => sqliteFillRanges(db, table, context),
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

/** Ranges of rowids, one batch each; a table without rowids is a single range. */
async function* sqliteFillRanges(
  db: UserDb,
  name: string,
  { tuning }: ApplyContext,
): AsyncGenerator<FillRange> {
  const rowid = rowidName(db, name);
  let after = 'TRUE';
  for (let done = 0; rowid !== null; ) {
    // The first rowid after the batch; none after the last batch.
    const next = `SELECT ${rowid} FROM ${quoteIdentifier(name)} AS t WHERE ${after} ORDER BY ${rowid} LIMIT 1 OFFSET ${tuning.batchRows}`;
    const until = db.prepare<[], bigint>(next).safeIntegers().pluck().get();
    if (until === undefined) break;
    done += tuning.batchRows;
    yield { part: null, where: `${after} AND t.${rowid} < ${integerSql(until)}`, done, total: null };
    after = `t.${rowid} >= ${integerSql(until)}`;
  }
  yield { part: null, where: after, done: 0, total: null };
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
