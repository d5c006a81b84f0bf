import type { ApplyContext } from '../context.js';
import { readSqliteFacts } from '../dialects/sqlite-catalog.js';
import { sqliteEngine } from '../dialects/sqlite-dialect.js';
import { openUserDb, SqliteSession, sqliteError, type UserDb } from '../dialects/sqlite-session.js';
import { readRunsOfTable } from '../engine/ledger-runs.js';
import { OWN_LEDGER, quoteIdentifier } from '../sql-names.js';
import {
  type ColumnSample,
  type ListedTable,
  type PlaceSample,
  SAMPLED_ROWS,
  SAMPLED_VALUES,
  sampleColumns,
  sampleTables,
} from './column-sample.js';

/**
 * Samples every table of a SQLite database, or only one.
 *
 * @throws SvcError `bad_input`, `locked`, `interrupted`
 */
export async function sampleSqlite(
  context: ApplyContext,
  file: string,
  only: string | null,
): Promise<PlaceSample> {
  const db = openUserDb(file, false);
  const session = new SqliteSession(context, db);
  try {
    return await sampleTables(context, listTables(db), only, ({ name }) =>
      sampleTable(context, session, name),
    );
  } catch (error) {
    throw sqliteError(error, file);
  } finally {
    db.close();
  }
}

function listTables(db: UserDb): ListedTable[] {
  const sql = `SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow'
      AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'svc\\_migrate\\_%' ESCAPE '\\' ORDER BY name`;
  const tables = db.prepare<[], { name: string; type: string }>(sql).all();
  const obstacleOf = (type: string) =>
    type === 'table' ? null : type === 'view' ? 'a view' : `a ${type} table`;
  return tables.map(({ name, type }) => ({ name, obstacle: obstacleOf(type) }));
}

async function sampleTable(
  context: ApplyContext,
  session: SqliteSession,
  table: string,
): Promise<ColumnSample[]> {
  const { db } = session;
  const facts = readSqliteFacts(db, table);
  const engine = sqliteEngine(context, session, db.name);
  const runs = await readRunsOfTable(engine, OWN_LEDGER, facts.table);
  const columns = facts.columns.filter(({ isGenerated }) => !isGenerated).map(({ name }) => name);
  return sampleColumns({ table, runs, key: facts.keys[0] ?? [], columns }, async (column) => {
    await session.throwIfInterrupted();
    const name = quoteIdentifier(column);
    const sql = `SELECT DISTINCT CAST(v AS TEXT) FROM (
        SELECT ${name} AS v FROM ${quoteIdentifier(table)} WHERE ${name} IS NOT NULL AND typeof(${name}) <> 'blob' LIMIT ${SAMPLED_ROWS}
      ) WHERE v <> '' LIMIT ${SAMPLED_VALUES + 1}`;
    const { rows } = await session.query(sql);
    return rows;
  });
}
