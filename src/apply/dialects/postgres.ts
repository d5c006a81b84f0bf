import { newColumnOf, type PostgresTarget, type TableTarget } from '../../config/apply-targets.js';
import { blocks } from '../column-work.js';
import type { ApplyContext, DataStore } from '../context.js';
import type { Dialect, Engine, LedgerCatalog, TableCatalog } from '../engine/dialect.js';
import { readRunsOfTable } from '../engine/ledger.js';
import { columnOf, type TableFacts } from '../engine/table-facts.js';
import { openTableStore } from '../engine/table-site.js';
import type { Note } from '../plan.js';
import { postgresError } from './postgres-errors.js';
import { asPgFacts, readPgFacts } from './postgres-facts.js';
import { ensureLedger, hasLedger, ledgerIn, ledgerNotes, listLedgers, RUN_TABLE } from './postgres-ledger.js';
import { obstacleNotes } from './postgres-obstacles.js';
import { privilegeNotes } from './postgres-privileges.js';
import { PgSession } from './postgres-session.js';
import { buildStatements } from './postgres-statements.js';
import { POSTGRES_TEXT } from './postgres-text.js';
import { PostgresTrial } from './postgres-trial.js';

const ROWS_PER_SECOND = 50_000;
/** PostgreSQL cuts longer names off. */
const MAX_NAME_BYTES = 63;

/** The tables of one PostgreSQL database; all targets name the same connection string. */
export function openPostgresStore(context: ApplyContext, targets: readonly PostgresTarget[]): DataStore {
  const [first] = targets;
  if (first === undefined) throw new Error('a store without targets');
  const session = new PgSession(context, first);
  return openTableStore(
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

export function postgresEngine(context: ApplyContext, session: PgSession): Engine {
  const dialect: Dialect = {
    ...POSTGRES_TEXT,
    ...buildLedgerCatalog(session),
    ...buildCatalog(context, session),
    ...buildStatements(context, session),
  };
  return { context, session, dialect };
}

function asPostgres(target: TableTarget): PostgresTarget {
  if (target.kind === 'postgres') return target;
  throw new Error(`${target.name} is no PostgreSQL table`);
}

function buildLedgerCatalog(session: PgSession): LedgerCatalog {
  return {
    runTable: RUN_TABLE,
    ledgerOf: (target) => ledgerIn(asPostgres(target).ledgerSchema),
    hasLedger: ({ name }) => hasLedger(session, name),
    ledgerNotes: ({ name }, table) => ledgerNotes(session, name, table),
    ensureLedger: ({ name }) => ensureLedger(session, name),
    // Before the first query, so that its snapshot is the latest.
    lockLedger: ({ run }) => session.exec(`LOCK TABLE ${run} IN SHARE ROW EXCLUSIVE MODE`),
  };
}

function buildCatalog(context: ApplyContext, session: PgSession): TableCatalog {
  return {
    rowsPerSecond: ROWS_PER_SECOND,
    place: () => session.place(),
    placeOfRun: (table) => `table ${table}`,
    readFacts: (target) => readPgFacts(session, asPostgres(target)),
    findColumn: columnOf,
    rowNames: () => ['ctid'],
    declaredType: (type) => type,
    obstacleNotes: async (target, facts, { isAtomic }) => {
      const { mode } = context.policy;
      const columns = target.ids.map((id) => id.column);
      return [
        ...(await privilegeNotes(session, asPgFacts(facts), asPostgres(target), mode, isAtomic)),
        ...(await obstacleNotes(session, asPgFacts(facts), columns, mode)),
        ...newNameNotes(context, target),
        ...(await otherLedgerNotes(context, session, facts, asPostgres(target))),
      ];
    },
    openTrial: (facts, id) => PostgresTrial.of(session, facts, id),
    // Before the first query, so that its snapshot holds what the last writer wrote; in one order, against deadlocks.
    lockTables: async (tables) => {
      const names = [...new Set(tables)].sort();
      await session.exec(`LOCK TABLE ${names.join(', ')} IN SHARE ROW EXCLUSIVE MODE`);
      await session.exec('SET CONSTRAINTS ALL DEFERRED');
    },
    beforeUpdate: async (triggers, keyTypes) => {
      // Types that are not the catalogue's own have operators of their own, which their indexes know.
      if (triggers.length > 0 || keyTypes.some((type) => type.includes('.'))) await session.useUserPath();
    },
  };
}

/** A ledger under another name knows what was rewritten as well. */
async function otherLedgerNotes(
  context: ApplyContext,
  session: PgSession,
  facts: TableFacts,
  target: PostgresTarget,
): Promise<Note[]> {
  for (const schema of await listLedgers(session)) {
    if (schema === target.ledgerSchema) continue;
    // Anybody can make such tables.
    if ((await ledgerNotes(session, schema, facts.table)).length > 0) continue;
    const [run] = await readRunsOfTable(postgresEngine(context, session), ledgerIn(schema), facts.table);
    if (run === undefined) continue;
    const text = `Run ${run.run} on this table is in the ledger of schema ${schema}: name that as the ledger's schema.`;
    return [blocks('other_ledger', text)];
  }
  return [];
}

function newNameNotes({ policy }: ApplyContext, target: TableTarget): Note[] {
  if (policy.mode !== 'new') return [];
  return target.ids
    .map(newColumnOf)
    .filter((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)
    .map((name) => blocks('new_column_name', `"${name}" is too long for a column: set "newColumn".`));
}
