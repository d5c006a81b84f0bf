import type { LedgerText, SqlText, UpdateFrom } from '../engine/dialect.js';
import { quoteIdentifier, quoteLiteral } from '../sql-names.js';

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

const PLAIN = /^[A-Za-z0-9_ ./#:,=()[\]{}"+-]*$/;

/** Builds a function that formats literals: plain text is quoted, other text is passed to `hex` as hexadecimal digits. */
export function literalFormatter(hex: (bytes: string) => string): (text: string) => string {
  return (text) =>
    PLAIN.test(text) && !text.includes('--') ? quoteLiteral(text) : hex(Buffer.from(text).toString('hex'));
}

/** The beginning of the message of a script that stops. */
export const FAILURE_PREFIX = 'svc-migrate: nothing was changed: ';
