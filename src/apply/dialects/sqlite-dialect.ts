import type { SqliteTarget } from '../../config/apply-targets.js';
import type { ApplyContext, DataStore } from '../context.js';
import { openDatabaseStore } from '../engine/database-store.js';
import type { Dialect, Engine } from '../engine/dialect.js';
import { OWN_LEDGER } from '../engine/ledger.js';
import { createRunSql } from '../engine/ledger-runs.js';
import { replaceView } from '../engine/own-tables.js';
import { listSqliteTables, readSqliteFacts, readSqliteLedger, rowidName } from './sqlite-catalog.js';
import { loadSqliteMap, readOnlyNotes, sqliteFillRanges, trialNotes } from './sqlite-lookups.js';
import { openUserDb, SqliteSession, sqliteError } from './sqlite-session.js';
import { SQLITE_EMIT, SQLITE_TEXT } from './sqlite-text.js';

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
    openTrial: async (facts, id) => ({
      add: async () => {},
      finish: async (parked) => trialNotes(context, db, facts, id, parked),
    }),
    lockTables: () => session.exec('PRAGMA defer_foreign_keys = ON'),
    checkForeignKeys: async () => {},
    beforeUpdate: async () => {},
    loadMap: async (map, source) => loadSqliteMap(db, map, source),
    fillRanges: ({ table }) => sqliteFillRanges(db, table, context),
  };
  const engine = { context, session, dialect };
  return engine;
}
