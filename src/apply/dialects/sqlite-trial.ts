import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import type { IdColumn } from '../../config/apply-targets.js';
import { Sqlite } from '../../store/sqlite.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { columnOf, type TableFacts } from '../engine/table-facts.js';
import { blocks, blocksRefused, type Note } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { registerLookUp } from './sqlite-lookups.js';
import type { UserDb } from './sqlite-session.js';

/** The ledger stores keys of several columns as JSON, which keeps only integers and texts exactly. */
export function keyNotes(db: UserDb, facts: TableFacts, key: readonly string[]): Note[] {
  if (key.length < 2 || key.some((name) => columnOf(facts, name) === undefined)) return [];
  const odd = key.map((column) => `typeof(${quoteName(column)}) NOT IN ('integer', 'text')`).join(' OR ');
  const sql = `SELECT 1 FROM ${quoteName(facts.table)} WHERE ${odd} LIMIT 1`;
  if (db.prepare(sql).get() === undefined) return [];
  return [blocks('key_type', `The key (${key.join(', ')}) holds other values than integers and texts.`)];
}

/** SQLite writes the file, and a journal in its folder. */
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
 * Tries the changed rows against the check constraints of their table, in an empty copy of it in memory. `parked`: SQL
 * in terms of `w.o0` and `w.row_no` for the temporary values of rows that exchange ids.
 */
export function trialNotes(
  context: ApplyContext,
  db: UserDb,
  facts: TableFacts,
  id: IdColumn,
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
    tryRows(context, db, copy, facts, id, parked);
    return [];
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error;
    return [blocksRefused(id.column, `are refused (${error.message})`)];
  } finally {
    copy.close();
  }
}

function tryRows(
  context: ApplyContext,
  db: UserDb,
  copy: UserDb,
  facts: TableFacts,
  id: IdColumn,
  parked: string | null,
): void {
  const names = facts.columns.filter(({ isGenerated }) => !isGenerated).map(({ name }) => name);
  const table = quoteName(facts.table);
  const insert = copy.prepare(
    `INSERT INTO ${table}(${names.map(quoteName).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
  );
  const clear = copy.prepare(`DELETE FROM ${table}`);
  const work = openColumn(context, id, context.policy);
  const { call, isChanged, value } = registerLookUp(db, 'svc_migrate_new', work, 'in_place');
  for (const result of parked === null ? [value] : [value, parked]) {
    const cells = names.map((name) => (name === id.column ? result : `w.${quoteName(name)}`));
    const rows = db
      .prepare<[], unknown[]>(
        `SELECT ${cells.join(', ')} FROM (SELECT row_number() OVER () AS row_no, * FROM (
           SELECT t.*, t.${quoteName(id.column)} AS o0, ${call} AS svc_migrate_new
           FROM ${table} AS t LIMIT -1) WHERE ${isChanged} LIMIT -1) AS w`,
      )
      .raw()
      .safeIntegers();
    for (const row of rows.iterate()) {
      insert.run(...row);
      clear.run();
    }
  }
}
