import { SvcError } from '../../errors.js';

/** A row: every value as text, null for NULL. */
export type Cells = (string | null)[];

/** A cell to look up. Integers are numbers where those are exact, otherwise strings of digits. */
export type Cell = string | number | Buffer | null;

/**
 * `read`: a read-only snapshot. `latest`: each statement sees what others committed before it. `snapshot`: a snapshot
 * that may be written to. `exclusive`: the same, for a transaction that locks whole tables first.
 */
export type TransactionMode = 'read' | 'latest' | 'snapshot' | 'exclusive';

/** A connection to a database, one statement at a time. */
export interface Session {
  /** Runs one statement with `$1` parameters. */
  query(
    sql: string,
    values?: readonly (string | null)[],
  ): Promise<{ readonly rows: Cells[]; readonly count: number }>;
  /** Runs one or more statements without parameters. */
  exec(sql: string): Promise<void>;
  /** The first value of the first row; null if there is none. */
  one(sql: string, values?: readonly (string | null)[]): Promise<string | null>;
  /** Reads the rows of a query in batches; call inside a transaction. */
  read(sql: string): AsyncIterable<readonly Cell[][]>;
  /**
   * Runs `step` until it succeeds, at most `tuning.attempts` times. The step must be safe to repeat.
   *
   * @throws SvcError `interrupted`, `locked`, `bad_input`
   */
  retry<T>(step: () => Promise<T>): Promise<T>;
  /** Runs `work` in a transaction; retries after a deadlock, a lock timeout or a lost connection. */
  transaction<T>(mode: TransactionMode, work: () => Promise<T>): Promise<T>;
}

export function interrupted(): SvcError {
  return new SvcError('interrupted', 'Stopped between two steps; the ledger records where.', {
    hint: 'Run the same command again to continue, or `svc-migrate apply undo RUN` to undo it.',
  });
}
