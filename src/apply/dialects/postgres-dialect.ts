import type { PostgresTarget, TableTarget } from '../../config/apply-targets.js';
import type { ApplyContext, DataStore } from '../context.js';
import { openDatabaseStore } from '../engine/database-store.js';
import type { Dialect, Engine } from '../engine/dialect.js';
import { readRunsOfTable } from '../engine/ledger-runs.js';
import { ledgerNotes } from '../engine/ledger-tables.js';
import type { TableFacts } from '../engine/table-facts.js';
import { blocks, type Note } from '../plan.js';
import { readPgBytes, readPgFacts } from './postgres-catalog.js';
import { postgresError } from './postgres-errors.js';
import { ensureLedger, ledgerOwnerNotes, listLedgers, readPostgresLedger } from './postgres-ledger.js';
import { lookUpInPostgres, openPostgresFill } from './postgres-lookups.js';
import { obstacleNotes } from './postgres-obstacles.js';
import { PgSession } from './postgres-session.js';
import { ledgerIn, POSTGRES_TEXT } from './postgres-text.js';
import { openTrial } from './postgres-trial.js';

/** Opens the tables of one PostgreSQL database; all targets have the same connection string. */
export function openPostgresStore(context: ApplyContext, targets: readonly PostgresTarget[]): DataStore {
  const [first] = targets;
  if (first === undefined) throw new Error('a store without targets');
  const session = new PgSession(context, first);
  return openDatabaseStore(
    {
      use: async (_, work) => {
        try {
          return await work(postgresEngine(context, session));
        } catch (error) {
          throw postgresError(error);
        }
      },
      close: () => session.close(),
    },
    targets,
  );
}

function asPostgres(target: TableTarget): PostgresTarget {
  if (target.kind === 'postgres') return target;
  throw new Error(`${target.name} is no PostgreSQL table`);
}

/** The cost of a batch must depend on its own size, not on the size of the table. */
const PLAN_BY_ROW =
  'SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_bitmapscan = off';

export function postgresEngine(context: ApplyContext, session: PgSession): Engine {
  const dialect: Dialect = {
    ...POSTGRES_TEXT,
    ledgerOf: (target) => ledgerIn(asPostgres(target).ledgerSchema),
    readLedgerShape: ({ name }) => readPostgresLedger(session, name),
    ledgerObstacles: ({ name }, table) => ledgerOwnerNotes(session, name, table),
    ensureLedger: ({ name }) => ensureLedger(engine, name),
    // Before the first query: the snapshot of the transaction is taken after the lock.
    lockLedger: ({ run }) => session.exec(`LOCK TABLE ${run} IN SHARE ROW EXCLUSIVE MODE`),
    place: () => session.place(),
    placeOfRun: (table) => `table ${table}`,
    readFacts: (target) => readPgFacts(session, asPostgres(target)),
    readBytes: ({ table }) => readPgBytes(session, table),
    rowNames: () => ['ctid'],
    obstacleNotes: async (target, facts, handling) => [
      ...(await obstacleNotes(session, facts, asPostgres(target), context.policy.mode, handling)),
      ...(await otherLedgerNotes(engine, session, facts, asPostgres(target))),
    ],
    openTrial: (facts, id) => openTrial(session, facts, id),
    // Before the first query, so that the snapshot includes the last writer's rows; sorted, to avoid deadlocks.
    lockTables: (tables) =>
      session.exec(
        `LOCK TABLE ${[...new Set(tables)].sort().join(', ')} IN SHARE ROW EXCLUSIVE MODE; SET CONSTRAINTS ALL DEFERRED`,
      ),
    checkForeignKeys: async () => {},
    beforeUpdate: async (triggers, keyTypes, isBatch) => {
      // Keys of types outside pg_catalog use those types' operators, which are on the user's path.
      if (triggers.length > 0 || keyTypes.some((type) => type.includes('.'))) await session.useUserPath();
      if (isBatch) await session.exec(PLAN_BY_ROW);
    },
    lookUp: (source) => lookUpInPostgres(engine, session, source),
    createList: (name, columns, query) =>
      session.exec(
        `DROP TABLE IF EXISTS pg_temp.${name};
         CREATE TEMP TABLE ${name} ON COMMIT DROP AS
           SELECT q.*, row_number() OVER () AS row_no, false AS parked FROM (${query}) AS q(${columns.join(', ')});
         ANALYZE pg_temp.${name}`,
      ),
    openFill: async (facts, id, at) => openPostgresFill(engine, session, facts, id, at),
  };
  const engine = { context, session, dialect };
  return engine;
}

/** A ledger in another schema may record that the table was already rewritten. */
async function otherLedgerNotes(
  engine: Engine,
  session: PgSession,
  { table }: TableFacts,
  { ledgerSchema }: PostgresTarget,
): Promise<Note[]> {
  for (const schema of await listLedgers(session)) {
    const ledger = ledgerIn(schema);
    // Any user can create tables of these names.
    if (schema === ledgerSchema || (await ledgerNotes(engine, ledger, table)).length > 0) continue;
    const [run] = await readRunsOfTable(engine, ledger, table);
    if (run === undefined) continue;
    const text = `Run ${run.run} on this table is in the ledger of schema ${schema}: name that as the ledger's schema.`;
    return [blocks('other_ledger', text)];
  }
  return [];
}
