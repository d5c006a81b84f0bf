/** Called for each stretch of bytes that gets another text; in ascending order, never overlapping. */
export type OnEdit = (start: number, end: number, text: string) => void;

/** Finds ids in the records of a file, judges and counts them, and tells what changes. */
export interface RecordScanner {
  /** First byte that belongs to a record. */
  readonly dataStart: number;
  /**
   * Works through the complete records in `bytes`, from 0 to `length`; returns where the first incomplete one
   * begins. With `isLast` there is none.
   */
  scan(bytes: Buffer, length: number, isLast: boolean, onEdit: OnEdit): number;
  /** What was seen so far, beside the columns' own tallies. */
  found(): ScanFound;
}

export interface ScanFound {
  readonly rows: number;
  /** Records that are not as they should be, with the first few places. */
  readonly oddities: readonly Oddity[];
}

export interface Oddity {
  readonly code: 'short_rows' | 'long_rows' | 'unfinished_quote' | 'not_json';
  readonly count: number;
  /** Record numbers, counted from 1 without the header, with what is wrong where that differs. */
  readonly places: readonly string[];
}

const PLACES = 5;

/** Collects oddities. */
export class OddityLog {
  readonly #found = new Map<Oddity['code'], { count: number; places: string[] }>();

  add(code: Oddity['code'], place: string): void {
    const entry = this.#found.get(code) ?? { count: 0, places: [] };
    entry.count += 1;
    if (entry.places.length < PLACES) entry.places.push(place);
    this.#found.set(code, entry);
  }

  list(): Oddity[] {
    return [...this.#found].map(([code, entry]) => ({ code, ...entry }));
  }
}
