import { newColumnOf } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import { sqliteEngine } from '../dialects/sqlite.js';
import { readSqliteFacts } from '../dialects/sqlite-catalog.js';
import { openUserDb, SqliteSession, sqliteError, type UserDb } from '../dialects/sqlite-session.js';
import { SQLITE_LEDGER } from '../dialects/sqlite-text.js';
import type { EarlierRun } from '../engine/earlier-runs.js';
import { readRunsOfTable } from '../engine/ledger-runs.js';
import { quoteName } from '../sql-names.js';
import {
  bounded,
  type ColumnSample,
  PathValues,
  type PlaceSample,
  SAMPLED_ROWS,
  SAMPLED_VALUES,
  type Unseen,
} from './column-sample.js';
import { addJsonLeaves } from './json-leaves.js';

/**
 * Looks at every table of a SQLite database, or at one.
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
    samples.push({ table, column: name, path: null, ...bounded(values), isKey, run });
    samples.push(...sampleJson(values, { table, column: name, run }));
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

/** The run that wrote a column: rewrote it in place, or filled it. */
export function writerOf(units: readonly EarlierRun[], column: string): string | null {
  const found = units.findLast(({ mode, target }) =>
    target.ids.some((id) => (mode === 'new' ? newColumnOf(id) : id.column) === column),
  );
  return found?.run ?? null;
}

/** Paths inside a column whose values look like JSON. */
export function sampleJson(
  values: ReadonlySet<string>,
  place: Pick<ColumnSample, 'table' | 'column' | 'run'>,
): ColumnSample[] {
  const leaves = new PathValues();
  for (const value of values) if (/^\s*[[{]/.test(value)) addJsonLeaves(value, leaves);
  return leaves.list((path) => ({ ...place, path }));
}
