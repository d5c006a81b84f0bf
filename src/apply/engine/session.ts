import { SvcError } from '../../errors.js';

/** A row: every value as text, null for NULL. */
export type Cells = (string | null)[];

/** A cell as a database hands it over for looking up: integers as numbers where those are exact, else as digits. */
export type Cell = string | number | Buffer | null;

/**
 * `read`: one state of the data, nothing is written. `latest`: every statement sees what others committed before it.
 * `snapshot`: one state of the data, to be written.
 */
export type TransactionMode = 'read' | 'latest' | 'snapshot';

/** A connection to a database, one statement at a time. */
export interface Session {
  /** Runs one statement with `$1` parameters. */
  query(
    sql: string,
    values?: readonly (string | null)[],
  ): Promise<{ readonly rows: Cells[]; readonly count: number }>;
  /** Runs statements without parameters, one after the other. */
  exec(sql: string): Promise<void>;
  /** The only value of the only row, or null. */
  one(sql: string, values?: readonly (string | null)[]): Promise<string | null>;
  /** Reads the rows of a query in pieces; call inside a transaction. */
  read(sql: string): AsyncIterable<readonly Cell[][]>;
  /**
   * Runs `step` until it succeeds, as often as the tuning allows: a step that may be run again.
   *
   * @throws SvcError `interrupted`, `locked`, `bad_input`
   */
  retry<T>(step: () => Promise<T>): Promise<T>;
  /** Runs `work` in one transaction, again after a deadlock, a lock or a lost connection. */
  transaction<T>(mode: TransactionMode, work: () => Promise<T>): Promise<T>;
}

export function interrupted(): SvcError {
  return new SvcError('interrupted', 'Stopped between two steps; the ledger says where.', {
    hint: 'Run the same command again to go on, or `svc-migrate undo RUN` to take it back.',
  });
}
