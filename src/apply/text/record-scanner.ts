import { JsonSyntaxError } from '../../json/json-scanner.js';
import { type ColumnWork, judgeInvalid, judgeValue, needsScope } from '../column-work.js';
import { NO_SCOPE, type RowScope } from '../ids/resolver.js';
import { type CsvDialect, CsvRecord, columnIndex, encodingOf } from './csv-dialect.js';
import { buildJsonRewriter, type Edit, findEdits } from './rewrite-json.js';

/** Called for each range of bytes to replace by a text in Latin-1; ranges are ascending and do not overlap. */
export type OnEdit = (start: number, end: number, text: string) => void;

/** Finds, looks up and counts the ids in the records of a file, and reports the edits. */
export interface RecordScanner {
  /** Offset of the first record. */
  readonly dataStart: number;
  /**
   * Scans the complete records in `bytes`; returns the offset of the first incomplete one. With `isLast`, every record
   * is complete.
   */
  scan(bytes: Buffer, isLast: boolean, onEdit: OnEdit): number;
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

class DefectLog {
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
    scan: (bytes: Buffer, isLast: boolean, onEdit: OnEdit) => {
      let at = 0;
      while (at < bytes.length) {
        const found = bytes.indexOf(LF, at);
        if (found < 0 && !isLast) return at;
        const end = found < 0 ? bytes.length : found;
        line += 1;
        if (!isBlank(bytes, at, end)) {
          for (const edit of editsOf(bytes, at, end)) onEdit(edit.start, edit.end, edit.text);
        }
        at = Math.min(end + 1, bytes.length);
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

const QUOTE = 0x22;
const ZERO = 0x30;
/** Integers of up to 15 digits are exact as numbers. */
const FAST_DIGITS = 15;
const NOT_ASCII = /[\x80-\xff]/;

/** An id column, and the indexes of its columns; -1 if not used. */
interface CsvColumn {
  readonly work: ColumnWork;
  readonly id: number;
  readonly model: number;
  readonly region: number;
  readonly company: number;
  readonly hasScope: boolean;
}

/** Scans CSV records byte by byte; only the cells of the columns are decoded. */
export function buildCsvScanner(dialect: CsvDialect, works: readonly ColumnWork[]): RecordScanner {
  const placeOf = (name: string | undefined) => (name === undefined ? -1 : columnIndex(dialect, name));
  const columns = works.map((work) => ({
    work,
    id: placeOf(work.column.column),
    model: placeOf(work.column.modelColumn),
    region: placeOf(work.column.regionColumn),
    company: placeOf(work.column.companyColumn),
    hasScope: needsScope(work.column),
  }));
  // Edits must be reported in ascending order.
  return new CsvScanner(
    dialect,
    columns.sort((a, b) => a.id - b.id),
  );
}

class CsvScanner implements RecordScanner {
  readonly dataStart: number;
  readonly #dialect: CsvDialect;
  readonly #columns: readonly CsvColumn[];
  readonly #record = new CsvRecord();
  readonly #log = new DefectLog();
  #rows = 0;
  #line: number;

  constructor(dialect: CsvDialect, columns: readonly CsvColumn[]) {
    this.dataStart = dialect.dataStart;
    this.#line = dialect.dataLine;
    this.#dialect = dialect;
    this.#columns = columns;
  }

  position() {
    return { row: this.#rows, line: this.#line };
  }

  found() {
    return { rows: this.#rows, defects: this.#log.list() };
  }

  scan(bytes: Buffer, isLast: boolean, onEdit: OnEdit): number {
    const record = this.#record;
    let at = 0;
    while (at < bytes.length) {
      const next = record.read(bytes, at, isLast, this.#dialect);
      if (next < 0) break;
      const isBlank = record.width === 1 && record.starts[0] === record.ends[0];
      if (!isBlank) this.#judgeRecord(bytes, onEdit);
      this.#line += record.lines;
      at = next;
    }
    return at;
  }

  #judgeRecord(bytes: Buffer, onEdit: OnEdit): void {
    this.#rows += 1;
    const { width, isOpen, starts, ends } = this.#record;
    if (isOpen) this.#log.add('unfinished_quote', `record ${this.#rows}`);
    if (width !== this.#dialect.width) {
      const code = width < this.#dialect.width ? 'short_rows' : 'long_rows';
      this.#log.add(code, `record ${this.#rows} (${width} of ${this.#dialect.width} cells)`);
    }
    for (const column of this.#columns) {
      if (column.id >= width) continue;
      const scope = column.hasScope ? this.#scopeOf(bytes, column) : NO_SCOPE;
      judgeCell(column.work, bytes, starts[column.id] ?? 0, ends[column.id] ?? 0, scope, onEdit);
    }
  }

  #scopeOf(bytes: Buffer, { model, region, company }: CsvColumn): RowScope {
    const read = (at: number) => (at < 0 ? null : this.#record.cell(bytes, at) || null);
    return { model: read(model), region: read(region), company: read(company) };
  }
}

function judgeCell(
  work: ColumnWork,
  bytes: Buffer,
  start: number,
  end: number,
  scope: RowScope,
  onEdit: OnEdit,
): void {
  const isQuoted = bytes[start] === QUOTE && bytes[end - 1] === QUOTE;
  const from = isQuoted ? start + 1 : start;
  const to = isQuoted ? end - 1 : end;
  const number = readDigits(bytes, from, to);
  if (number >= 0) {
    const action = judgeValue(work, number, scope);
    if (action === 'replace' || action === 'clear')
      onEdit(from, to, action === 'replace' ? work.resolver.newText : '');
    return;
  }
  const latin1 = bytes.toString('latin1', from, to);
  // ASCII is the same in both encodings.
  const encoding = NOT_ASCII.test(latin1) ? encodingOf(bytes.subarray(from, to)) : 'latin1';
  const raw = encoding === 'latin1' ? latin1 : bytes.toString(encoding, from, to);
  const text = isQuoted ? raw.replaceAll('""', '"') : raw;
  const isExact = !isQuoted || text.replaceAll('"', '""') === raw;
  const action = isExact
    ? judgeValue(work, text, scope)
    : judgeInvalid(work, 'not_a_value', () => raw, scope);
  if (action === 'replace') {
    const { newText } = work.resolver;
    const written = isQuoted ? newText.replaceAll('"', '""') : newText;
    onEdit(from, to, encoding === 'latin1' ? written : Buffer.from(written, encoding).toString('latin1'));
  } else if (action === 'clear') onEdit(from, to, '');
}

/** The number that a few digits stand for, without creating a string; -1 if they are anything else. */
function readDigits(bytes: Buffer, from: number, to: number): number {
  const digits = to - from;
  if (digits < 1 || digits > FAST_DIGITS || (bytes[from] === ZERO && digits > 1)) return -1;
  let value = 0;
  for (let at = from; at < to; at += 1) {
    const digit = (bytes[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}
