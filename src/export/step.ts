import type { ErrorCode } from '../errors.js';
import type { Position, StreamRow } from '../store/stream-row.js';

/** What a decision asks of the database, in one transaction. */
export interface Step {
  readonly row: StreamRow;
  /** What no longer counts: cursors of an ended walk, rejects that will arrive again, ids of excluded companies. */
  readonly forget: readonly ('cursors' | 'rejected' | 'excluded')[];
  /** Why the stream failed with this step. */
  readonly failure?: { readonly code: ErrorCode; readonly sentence: string };
  /** Worth telling the user. */
  readonly note?: string;
}

/** What differs between the generations. */
export interface ReadingRules {
  /** Whether sweeps follow a full reading, and top up a finished one. */
  readonly sweeps: boolean;
  readonly sweepOverlapMs: number;
  /**
   * Whether a list that answers 404 takes with it what was read from it before. V3 is on its way out: its
   * records are kept.
   */
  readonly dropsMissingLists: boolean;
}

/** A row with another position. */
export function movedTo(row: StreamRow, position: Partial<Position>): StreamRow {
  return { ...row, position: { ...row.position, ...position } };
}

/** Instants as the database and the API write them. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
