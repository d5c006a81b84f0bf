import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { Sqlite } from '../../store/sqlite.js';
import { blocks, type ColumnWork, openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import type { Note } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { buildCellJudge, judgeSql, KEEP_SQL, registerJudge, resultSql } from './cells.js';
import type { SqliteFacts } from './sqlite-facts.js';
import type { UserDb } from './user-db.js';

/** SQLite writes the file and a journal beside it. */
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

/**
 * Tries what rows become against the check constraints of their table, in an empty copy of it in memory. `parked`:
 * a term for the values that rows hold while ids swap, of `w.o0` and `w.rowid`.
 */
export function trialNotes(
  context: ApplyContext,
  db: UserDb,
  facts: SqliteFacts,
  work: ColumnWork,
  parked: string | null,
): Note[] {
  const sql = db
    .prepare<[string], string>("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?")
    .pluck()
    .get(facts.table);
  if (sql === undefined || !/\bCHECK\b/i.test(sql)) return [];
  const copy = new Sqlite(':memory:');
  try {
    copy.pragma('foreign_keys = OFF');
    copy.exec(sql);
    tryRows(context, db, copy, facts, work, parked);
    return [];
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error;
    const text = `${work.column.column}: new ids, or values that rows hold while ids swap, are refused (${error.message}): change that first, or rewrite into a new column (without --in-place).`;
    return [blocks('check_constraint', text)];
  } finally {
    copy.close();
  }
}

function tryRows(
  context: ApplyContext,
  db: UserDb,
  copy: UserDb,
  facts: SqliteFacts,
  { column }: ColumnWork,
  parked: string | null,
): void {
  const names = facts.columns.filter(({ isGenerated }) => !isGenerated).map(({ name }) => name);
  const table = quoteName(facts.table);
  const insert = copy.prepare(
    `INSERT INTO ${table}(${names.map(quoteName).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
  );
  const clear = copy.prepare(`DELETE FROM ${table}`);
  for (const value of parked === null ? ['n'] : ['n', parked]) {
    registerJudge(
      db,
      'svc_migrate_trial',
      buildCellJudge(openColumn(context, column, context.policy), 'in_place'),
    );
    const result = value === 'n' ? resultSql(column, 'w.n') : value;
    const cells = names.map((name) => (name === column.column ? result : `w.${quoteName(name)}`));
    const rows = db
      .prepare<[], unknown[]>(
        `SELECT ${cells.join(', ')} FROM (SELECT row_number() OVER () AS rowid, * FROM (
           SELECT t.*, t.${quoteName(column.column)} AS o0, ${judgeSql('svc_migrate_trial', column, 't')} AS n
           FROM ${table} AS t LIMIT -1) WHERE n IS NOT ${KEEP_SQL} LIMIT -1) AS w`,
      )
      .raw()
      .safeIntegers();
    for (const row of rows.iterate()) {
      insert.run(...row);
      clear.run();
    }
  }
}
