import { JsonSyntaxError } from '../../json/json-scanner.js';
import type { ColumnWork } from '../column-work.js';
import { buildJsonRewriter, type Edit, findEdits } from './rewrite-json.js';

/** Called for each range of bytes to replace by a text in Latin-1; ranges are ascending and do not overlap. */
export type OnEdit = (start: number, end: number, text: string) => void;

/** Finds, looks up and counts the ids in the records of a file, and reports the edits. */
export interface RecordScanner {
  /** Offset of the first record. */
  readonly dataStart: number;
  /**
   * Scans the complete records in `bytes`, from 0 to `length`; returns the offset of the first incomplete one. With
   * `isLast`, every record is complete.
   */
  scan(bytes: Buffer, length: number, isLast: boolean, onEdit: OnEdit): number;
  /** Totals so far, besides the tallies of the columns. */
  found(): ScanFound;
  /** The position of the record being scanned. */
  position(): RecordPosition;
}

/** Both counted from 1; `row` without the header, `line` with it. */
export interface RecordPosition {
  readonly row: number;
  readonly line: number;
}

export interface ScanFound {
  readonly rows: number;
  /** Malformed records, with the first few positions. */
  readonly defects: readonly RecordDefect[];
}

export interface RecordDefect {
  readonly code: 'short_rows' | 'long_rows' | 'unfinished_quote' | 'not_json';
  readonly count: number;
  /** Record numbers, counted from 1 without the header, with details if they differ. */
  readonly places: readonly string[];
}

const PLACES = 5;

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

const LF = 0x0a;

/** Scans NDJSON: one value per line; blank lines are skipped. */
export function buildNdjsonScanner(works: readonly ColumnWork[], dataStart: number): RecordScanner {
  const rewriter = buildJsonRewriter(works, (work) => work.column.column, true);
  const log = new DefectLog();
  let rows = 0;
  let line = 0;
  const editsOf = (bytes: Buffer, start: number, end: number): readonly Edit[] => {
    rows += 1;
    try {
      return findEdits(rewriter, bytes, { start, end }).edits;
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      log.add('not_json', `record ${rows} ${error.message} (byte ${error.at - start + 1} of it)`);
      return [];
    }
  };
  return {
    dataStart,
    position: () => ({ row: rows, line }),
    found: () => ({ rows, defects: log.list() }),
    scan: (bytes: Buffer, length: number, isLast: boolean, onEdit: OnEdit) => {
      let at = 0;
      while (at < length) {
        const found = bytes.indexOf(LF, at);
        const isComplete = found >= 0 && found < length;
        if (!isComplete && !isLast) return at;
        const end = isComplete ? found : length;
        line += 1;
        if (!isBlank(bytes, at, end)) {
          for (const edit of editsOf(bytes, at, end)) onEdit(edit.start, edit.end, edit.text);
        }
        at = isComplete ? end + 1 : length;
      }
      return at;
    },
  };
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  }
  return true;
}
