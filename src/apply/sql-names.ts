import type { Ledger } from './engine/ledger-tables.js';

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A string literal in standard SQL. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The ledger in a database without schemas: a prefix sets its tables apart from the user's. */
export const OWN_LEDGER: Ledger = {
  name: 'svc_migrate',
  prefix: 'svc_migrate_',
  run: 'svc_migrate_run',
  entry: 'svc_migrate_entry',
  skipped: 'svc_migrate_skipped',
  view: 'svc_migrate_ledger',
};
