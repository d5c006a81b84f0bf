import type { Ledger } from './engine/ledger-tables.js';

/** Quotes an identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The ledger in a database that has no schemas for it: its tables have a prefix of their own. */
export const OWN_LEDGER: Ledger = {
  name: 'svc_migrate',
  prefix: 'svc_migrate_',
  run: 'svc_migrate_run',
  entry: 'svc_migrate_entry',
  skipped: 'svc_migrate_skipped',
  view: 'svc_migrate_ledger',
};
