import type { CsvDialect } from './csv-dialect.js';

/** Called for each stretch of bytes that gets another text; in ascending order, never overlapping. */
export type OnEdit = (start: number, end: number, text: string) => void;

/** Finds ids in the records of a file, judges and counts them, and tells what changes. */
export interface RecordScanner {
  /** How a CSV file is written; null in NDJSON. */
  readonly dialect: CsvDialect | null;
  /** First byte that belongs to a record. */
  readonly dataStart: number;
  /**
   * Works through the complete records in `bytes`, from 0 to `length`; returns where the first incomplete one
   * begins. With `isLast` there is none.
   */
  scan(bytes: Buffer, length: number, isLast: boolean, onEdit: OnEdit): number;
  /** What was seen so far, beside the columns' own tallies. */
  found(): ScanFound;
  /** The record whose values are being judged. */
  position(): RecordPosition;
}

/** Both counted from 1: records without the header, lines with it. */
export interface RecordPosition {
  readonly row: number;
  readonly line: number;
}

/** Counts lines in bytes that come in pieces, only as far as it is asked. */
export class LineCounter {
  readonly #terminator: number;
  #line: number;
  #counted = 0;

  /** `head`: what comes before the first piece. */
  constructor(terminator: number, head: Uint8Array) {
    this.#terminator = terminator;
    this.#line = 1 + head.reduce((sum, byte) => sum + (byte === terminator ? 1 : 0), 0);
  }

  /** The line of a place in the piece. */
  lineAt(bytes: Buffer, at: number): number {
    let next = bytes.indexOf(this.#terminator, this.#counted);
    for (; next >= 0 && next < at; next = bytes.indexOf(this.#terminator, next + 1)) this.#line += 1;
    this.#counted = Math.max(this.#counted, at);
    return this.#line;
  }

  /** The piece is done with up to here; the next one begins there. */
  endPiece(bytes: Buffer, consumed: number): void {
    this.lineAt(bytes, consumed);
    this.#counted = 0;
  }
}

export interface ScanFound {
  readonly rows: number;
  /** Records that are not as they should be, with the first few places. */
  readonly defects: readonly RecordDefect[];
}

export interface RecordDefect {
  readonly code: 'short_rows' | 'long_rows' | 'unfinished_quote' | 'not_json';
  readonly count: number;
  /** Record numbers, counted from 1 without the header, with what is wrong where that differs. */
  readonly places: readonly string[];
}

const PLACES = 5;

/** Collects defects. */
export class DefectLog {
  readonly #found = new Map<RecordDefect['code'], { count: number; places: string[] }>();

  add(code: RecordDefect['code'], place: string): void {
    const entry = this.#found.get(code) ?? { count: 0, places: [] };
    entry.count += 1;
    if (entry.places.length < PLACES) entry.places.push(place);
    this.#found.set(code, entry);
  }

  list(): RecordDefect[] {
    return [...this.#found].map(([code, entry]) => ({ code, ...entry }));
  }
}
