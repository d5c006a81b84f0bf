import type { ApplyContext } from '../context.js';
import { readSqliteFacts } from '../dialects/sqlite-catalog.js';
import { sqliteEngine } from '../dialects/sqlite-dialect.js';
import { openUserDb, SqliteSession, sqliteError, type UserDb } from '../dialects/sqlite-session.js';
import { SQLITE_LEDGER } from '../dialects/sqlite-text.js';
import { readRunsOfTable } from '../engine/ledger-runs.js';
import { quoteName } from '../sql-names.js';
import {
  type ColumnSample,
  type PlaceSample,
  SAMPLED_ROWS,
  SAMPLED_VALUES,
  sampleColumn,
  type Unseen,
  writerOf,
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
    const tables = listTables(db).filter(({ name }) => only === null || name === only);
    const columns: ColumnSample[] = [];
    const unseen: Unseen[] = [];
    for (const [at, { name, type }] of tables.entries()) {
      context.onProgress({ kind: 'step', name: `scanning ${name}`, done: at, total: tables.length });
      if (type === 'table') columns.push(...(await sampleTable(context, session, name)));
      else unseen.push({ what: name, why: `a ${type}${type === 'view' ? '' : ' table'}` });
    }
    return { columns, unseen };
  } catch (error) {
    throw sqliteError(error, file);
  } finally {
    db.close();
  }
}

function listTables(db: UserDb): { readonly name: string; readonly type: string }[] {
  return db
    .prepare<[], { name: string; type: string }>(
      `SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow'
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'svc\\_migrate\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .all();
}

async function sampleTable(
  context: ApplyContext,
  session: SqliteSession,
  table: string,
): Promise<ColumnSample[]> {
  const { db } = session;
  const facts = readSqliteFacts(db, table);
  const key = facts.keys[0] ?? [];
  const engine = sqliteEngine(context, session, db.name);
  const units = await readRunsOfTable(engine, SQLITE_LEDGER, facts.table);
  const samples: ColumnSample[] = [];
  for (const { name, isGenerated } of facts.columns) {
    await session.throwIfInterrupted();
    if (isGenerated) continue;
    const values = readValues(db, table, name);
    const isKey = key.length === 1 && key[0] === name;
    const run = writerOf(units, name);
    samples.push(...sampleColumn({ table, column: name, isKey, run }, values));
  }
  return samples;
}

function readValues(db: UserDb, table: string, column: string): Set<string> {
  const name = quoteName(column);
  const sql = `SELECT DISTINCT CAST(v AS TEXT) FROM (
      SELECT ${name} AS v FROM ${quoteName(table)} WHERE ${name} IS NOT NULL AND typeof(${name}) <> 'blob' LIMIT ${SAMPLED_ROWS}
    ) WHERE v <> '' LIMIT ${SAMPLED_VALUES + 1}`;
  return new Set(db.prepare<[], string>(sql).pluck().all());
}
