import type { UpdateFrom } from '../engine/dialect.js';

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A string literal in standard SQL. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function quoteMysqlIdentifier(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** A string literal for the `sql_mode` of our sessions, in which a backslash escapes. */
export function quoteMysqlLiteral(text: string): string {
  return quoteLiteral(text.replaceAll('\\', '\\\\'));
}

/** `UPDATE … FROM`, as PostgreSQL and SQLite have it. */
export function updateFromSql({ table, set, from, where }: UpdateFrom): string {
  const changes = set.map(([column, term]) => `${quoteIdentifier(column)} = ${term}`).join(', ');
  return `UPDATE ${table} AS t SET ${changes} FROM ${from} WHERE ${where}`;
}

const PLAIN = /^[A-Za-z0-9_ ./#:,=()[\]{}"+-]*$/;

/** Builds a function that formats literals: plain text is quoted, other text goes to `encode`. */
export function literalFormatter(encode: (text: string) => string): (text: string) => string {
  return (text) => (PLAIN.test(text) && !text.includes('--') ? quoteLiteral(text) : encode(text));
}

export function hexOf(text: string): string {
  return Buffer.from(text).toString('hex');
}

/** What to say where a constraint refuses new ids. */
export const CONSTRAINT_HINT =
  'A constraint of the table refuses the new ids; nothing of this step was written.';

/** The beginning of the message of a script that stops. */
export const FAILURE_PREFIX = 'svc-migrate: nothing was changed: ';
