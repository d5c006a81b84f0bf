import type { UpdateFrom } from '../engine/dialect.js';
import { quoteName } from '../sql-names.js';

/** `UPDATE … FROM`, as PostgreSQL and SQLite have it. */
export function updateFrom(table: string, { set, from, where }: UpdateFrom): string {
  const changes = set.map(([column, term]) => `${quoteName(column)} = ${term}`).join(', ');
  return `UPDATE ${table} AS t SET ${changes} FROM ${from} WHERE ${where}`;
}
