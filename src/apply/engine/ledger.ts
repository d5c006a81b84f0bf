import type { TableTarget } from '../../config/apply-targets.js';
import type { LedgerRun } from '../context.js';
import type { Mode, RunPolicy } from '../plan.js';

/**
 * The ledger in the user's database. `run` has a row for each table of each run. An in-place run has a table `rows_…` of
 * its own, a write-ahead log: every row that changes is listed first, then changed in batches; `run.done` advances in
 * the same transaction as the rows. A run of new columns has a crosswalk `map_…` for each. The view `ledger` shows the
 * changes carried out.
 */
export interface Ledger {
  readonly name: string;
  /** The prefix of its table names, for display. */
  readonly prefix: string;
  /** A table and the view, as SQL. */
  readonly run: string;
  readonly view: string;
}

/** The ledger in a database without schemas: a prefix sets its tables apart from the user's. */
export const OWN_LEDGER: Ledger = {
  name: 'svc_migrate',
  prefix: 'svc_migrate_',
  run: 'svc_migrate_run',
  view: 'svc_migrate_ledger',
};

/** A run on a table, as recorded in the ledger. */
export interface EarlierRun {
  readonly run: string;
  readonly target: TableTarget;
  /** Labels of the columns, by their number in the names of columns of `rows_…`. */
  readonly labels: readonly string[];
  readonly key: readonly string[];
  readonly mode: Mode;
  readonly remapSha256: string;
  readonly state: LedgerRun['state'];
  readonly changed: number;
}

/** One table in one run. */
export interface TableRun extends EarlierRun {
  /** Its number in the ledger. */
  readonly unit: string;
  /** As `TableFacts.table`. */
  readonly table: string;
  readonly ledger: Ledger;
  readonly isAtomic: boolean;
  readonly policy: RunPolicy;
  readonly planSha256: string;
  /** What the names of its tables end with; empty once they are dropped. */
  readonly suffix: string;
  /** Listed rows with ids up to `done` are changed; `total` is the last id. */
  readonly done: number;
  readonly total: number;
  readonly skipped: number;
  readonly startedAt: string;
}
