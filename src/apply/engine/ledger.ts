import type { TableTarget } from '../../config/apply-targets.js';
import type { LedgerRun } from '../context.js';
import type { Mode, RunPolicy } from '../plan.js';

/**
 * The ledger in the user's database. `entry` is a write-ahead log: all changes of a table run (one table in one run)
 * are recorded first, then carried out in batches; `done_entry` advances in the same transaction as the rows. The view
 * `ledger` shows the changes carried out.
 */
export interface Ledger {
  readonly name: string;
  /** The prefix of its table names, for display. */
  readonly prefix: string;
  /** Its tables and its view, as SQL. */
  readonly run: string;
  readonly entry: string;
  readonly skipped: string;
  readonly view: string;
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

/** A run on a table, as recorded in the ledger. */
export interface EarlierRun {
  readonly run: string;
  readonly target: TableTarget;
  /** Labels of the columns, in the order of the ledger's `col`. */
  readonly labels: readonly string[];
  readonly key: readonly string[];
  readonly mode: Mode;
  readonly remapSha256: string;
  readonly state: LedgerRun['state'];
  readonly last: number;
  readonly done: number;
  readonly changed: number;
}

/** One table in one run. */
export interface TableRun extends EarlierRun {
  /** Its number in the ledger. */
  readonly unit: string;
  /** As `TableFacts.table`. */
  readonly table: string;
  readonly target: TableTarget;
  readonly ledger: Ledger;
  /** Types of the key's columns and of the id columns; empty if they are not needed. */
  readonly keyTypes: readonly string[];
  readonly types: readonly string[];
  readonly isAtomic: boolean;
  readonly policy: RunPolicy;
  readonly planSha256: string;
  /** What the names of its maps have in common; empty if it keeps none. */
  readonly maps: string;
  /** The run's entries have ids above `first`, up to `last`; those up to `done` are carried out. */
  readonly first: number;
  readonly skipped: number;
  readonly startedAt: string;
}

/** `rowKey` and `value`: a row's key and a cell as the ledger keeps them. */
export type LedgerColumnType = 'number' | 'column' | 'text' | 'json' | 'boolean' | 'rowKey' | 'value';
