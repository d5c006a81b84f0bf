import type { ErrorCode } from '../errors.js';
import type { Position, StreamRow } from '../store/streams.js';

/** The changes that a decision makes to the database, in one transaction. */
export interface Step {
  readonly row: StreamRow;
  /** Data to delete: cursors of an ended walk, rejected objects that will arrive again, ids of excluded records. */
  readonly discard: readonly ('cursors' | 'rejected' | 'excluded')[];
  /** Why the stream failed with this step. */
  readonly failure?: { readonly code: ErrorCode; readonly sentence: string };
  /** A note for the user. */
  readonly note?: string;
}

/** The results of saving a page. */
export interface PageOutcome {
  readonly kind: 'page';
  /** When it was requested and when it was saved, ms of the local clock. */
  readonly askedMs: number;
  readonly nowMs: number;
  /** The service's clock when it responded; null if unknown. */
  readonly servedMs: number | null;
  /** For a first page, the latest `<prefix>updated_at` of its records; null if there is none. */
  readonly latestUpdateMs: number | null;
  /** Objects first seen in this reading, seen before, and rejected. */
  readonly unique: number;
  readonly duplicates: number;
  readonly rejected: number;
  /** Whether it contained no object at all. */
  readonly isEmpty: boolean;
  /** First seen in this pass; of these, seen in the previous pass. */
  readonly passUnique: number;
  readonly passCommon: number;
  /** First seen in this walk, including excluded records. */
  readonly fresh: number;
  readonly changed: number;
  /** Records of excluded companies first seen in this reading. */
  readonly excluded: number;
  readonly totalCount: number | null;
  readonly requestId: string | null;
  readonly next: string | null;
  /** Whether this walk had `next` before. */
  readonly cursorRepeats: boolean;
}

/** The error of a page request, after all retries. */
export interface ErrorOutcome {
  readonly kind: 'error';
  readonly askedMs: number;
  readonly nowMs: number;
  readonly code: ErrorCode;
  /** The HTTP status of an `http_status` error. */
  readonly status: number | null;
  readonly sentence: string;
}

/** All records of the older reading are deleted. */
export interface DroppedOutcome {
  readonly kind: 'dropped';
  readonly nowMs: number;
}

export type StreamOutcome = PageOutcome | ErrorOutcome | DroppedOutcome;

/** The differences between reading V3 and V4. */
export interface ReadingRules {
  /** Whether sweeps follow a full reading and update a finished one. */
  readonly sweeps: boolean;
  readonly sweepOverlapMs: number;
  /** Whether the stored records of a list are deleted if it now answers 404. Not for V3, which is being shut down. */
  readonly dropsMissingLists: boolean;
}

/** A row with another position. */
export function movedTo(row: StreamRow, position: Partial<Position>): StreamRow {
  return { ...row, position: { ...row.position, ...position } };
}

/** A time in ms as ISO 8601. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
