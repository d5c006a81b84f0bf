import type { SqliteTarget } from '../../config/apply-targets.js';
import type { ApplyContext, DataStore } from '../context.js';
import type { Dialect, Engine, LedgerCatalog, TableCatalog } from '../engine/dialect.js';
import { openTableStore } from '../engine/table-site.js';
import { readSqliteFacts, rowidName } from './sqlite-facts.js';
import { hasLedger, LEDGER, ledgerNotes, SQLITE_LEDGER } from './sqlite-ledger.js';
import { openUserDb, SqliteSession, sqliteError } from './sqlite-session.js';
import { buildStatements } from './sqlite-statements.js';
import { SQLITE_TEXT } from './sqlite-text.js';
import { keyNotes, readOnlyNotes, trialNotes } from './sqlite-trial.js';

const ROWS_PER_SECOND = 150_000;

/** The tables of one SQLite database. */
export function openSqliteStore(
  context: ApplyContext,
  file: string,
  targets: readonly SqliteTarget[],
): DataStore {
  return openTableStore(
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
  const dialect: Dialect = {
    ...SQLITE_TEXT,
    ...buildLedgerCatalog(session),
    ...buildCatalog(context, session, file),
    ...buildStatements(context, session),
  };
  return { context, session, dialect };
}

function buildLedgerCatalog({ db }: SqliteSession): LedgerCatalog {
  return {
    runTable: {
      types: ["'[]'", "'[]'"],
      ofTable: 'table_name = $1 COLLATE NOCASE',
      isTable: () => true,
      isType: () => true,
    },
    ledgerOf: () => SQLITE_LEDGER,
    hasLedger: async () => hasLedger(db),
    ledgerNotes: async () => ledgerNotes(db),
    ensureLedger: async () => {},
    // The transaction has locked the whole database.
    lockLedger: async () => {
      db.exec(LEDGER);
    },
  };
}

function buildCatalog(context: ApplyContext, { db }: SqliteSession, file: string): TableCatalog {
  return {
    rowsPerSecond: ROWS_PER_SECOND,
    place: async () => file,
    placeOfRun: (table) => `${file}, table ${table}`,
    readFacts: async (target) => readSqliteFacts(db, target.table),
    findColumn: ({ columns }, name) =>
      columns.find((column) => column.name.toLowerCase() === name.toLowerCase()),
    rowNames: ({ table }) => {
      const rowid = rowidName(db, table);
      return rowid === null ? [] : [rowid];
    },
    declaredType: (type) => (type === 'without type' ? '' : type),
    obstacleNotes: async (_, facts, { key }) => [...readOnlyNotes(file), ...keyNotes(db, facts, key)],
    openTrial: async (facts, id) => ({
      add: async () => {},
      finish: async (parked) => trialNotes(context, db, facts, id, parked),
    }),
    lockTables: async () => {
      db.pragma('defer_foreign_keys = ON');
    },
    beforeUpdate: async () => {},
  };
}
