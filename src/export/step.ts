import type { ErrorCode } from '../errors.js';
import type { Position, StreamRow } from '../store/streams.js';

/** What a decision asks of the database, in one transaction. */
export interface Step {
  readonly row: StreamRow;
  /** What no longer counts: cursors of an ended walk, rejects that will arrive again, ids of excluded companies. */
  readonly discard: readonly ('cursors' | 'rejected' | 'excluded')[];
  /** Why the stream failed with this step. */
  readonly failure?: { readonly code: ErrorCode; readonly sentence: string };
  /** Worth telling the user. */
  readonly note?: string;
}

/** What a stored page amounted to. */
export interface PageOutcome {
  readonly kind: 'page';
  /** When it was asked for and when it was stored, ms of the local clock. */
  readonly askedMs: number;
  readonly nowMs: number;
  /** The service's clock when it answered; null where it did not tell. */
  readonly servedMs: number | null;
  /** Of a first page, the latest `<prefix>updated_at` of its records; null for none. */
  readonly latestUpdateMs: number | null;
  /** First seen in this reading; seen before; no records. */
  readonly unique: number;
  readonly duplicates: number;
  readonly rejected: number;
  /** Whether it held no object at all. */
  readonly isEmpty: boolean;
  /** First seen in this pass; of these, seen by the pass before. */
  readonly passUnique: number;
  readonly passCommon: number;
  /** First seen in this walk, excluded ones among them. */
  readonly fresh: number;
  readonly changed: number;
  /** Of excluded companies, first seen in this reading. */
  readonly excluded: number;
  readonly totalCount: number | null;
  readonly requestId: string | null;
  readonly next: string | null;
  /** Whether this walk had `next` before. */
  readonly cursorRepeats: boolean;
}

/** A page that could not be had, after all retries. */
export interface ErrorOutcome {
  readonly kind: 'error';
  readonly askedMs: number;
  readonly nowMs: number;
  readonly code: ErrorCode;
  /** The HTTP status of an `http_status` error. */
  readonly status: number | null;
  readonly sentence: string;
}

/** No record of an older reading is left. */
export interface DroppedOutcome {
  readonly kind: 'dropped';
  readonly nowMs: number;
}

export type StreamOutcome = PageOutcome | ErrorOutcome | DroppedOutcome;

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
