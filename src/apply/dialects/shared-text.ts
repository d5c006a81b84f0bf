import type { LedgerText, SqlText, UpdateFrom } from '../engine/dialect.js';
import { quoteIdentifier } from '../sql-names.js';

/** `UPDATE … FROM`, as PostgreSQL and SQLite have it. `table`: as SQL. */
export function updateFromSql(table: string, { set, from, where, part }: UpdateFrom): string {
  const changes = set.map(([column, term]) => `${quoteIdentifier(column)} = ${term}`).join(', ');
  return `UPDATE ${part ?? table} AS t SET ${changes} FROM ${from} WHERE ${where}`;
}

/** What PostgreSQL and SQLite share. */
export const SHARED_TEXT: Pick<
  SqlText & LedgerText,
  'dropTemporary' | 'createValues' | 'markParked' | 'deleteEntries' | 'entryIndex'
> = {
  dropTemporary: (table) => `DROP TABLE IF EXISTS ${table}`,
  createValues: (name, query) => `CREATE TEMPORARY TABLE ${name} AS ${query}`,
  markParked: (list, values, at) =>
    `UPDATE ${list} SET parked = TRUE WHERE o${at} IN (SELECT value FROM ${values})`,
  deleteEntries: (entry, where) => `DELETE FROM ${entry} AS e WHERE ${where}`,
  entryIndex: '',
};
