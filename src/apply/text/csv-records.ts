import {
  type CellAction,
  type ColumnWork,
  judgeInvalid,
  judgeNumber,
  judgeText,
  needsScope,
} from '../column-work.js';
import { NO_SCOPE, type RowScope } from '../ids/resolver.js';
import { type CsvDialect, columnIndex, encodingOf, readCell } from './csv-dialect.js';
import { DefectLog, LineCounter, type OnEdit, type RecordScanner } from './record-scanner.js';

const QUOTE = 0x22;
const CR = 0x0d;
const LF = 0x0a;
/** Integers of up to 15 digits are exact as numbers. */
const FAST_DIGITS = 15;

/** An id column, and the indexes of its columns among those watched; -1 if not used. */
interface CsvColumn {
  readonly work: ColumnWork;
  readonly id: number;
  readonly model: number;
  readonly region: number;
  readonly company: number;
  readonly hasScope: boolean;
}

/** Scans CSV records byte by byte; only the watched cells are decoded. */
export function buildCsvScanner(
  dialect: CsvDialect,
  works: readonly ColumnWork[],
  head: Buffer = Buffer.alloc(0),
): RecordScanner {
  const watched = watchedColumns(dialect, works);
  const placeOf = (name: string | undefined) =>
    name === undefined ? -1 : watched.indexOf(columnIndex(dialect, name));
  const columns = works.map((work) => ({
    work,
    id: placeOf(work.column.column),
    model: placeOf(work.column.modelColumn),
    region: placeOf(work.column.regionColumn),
    company: placeOf(work.column.companyColumn),
    hasScope: needsScope(work.column),
  }));
  // Edits must be reported in ascending order.
  columns.sort((a, b) => a.id - b.id);
  const isWatched = works.some(({ onValue }) => onValue !== null);
  const lines = new LineCounter(dialect.terminator, head.subarray(0, dialect.dataStart));
  return new CsvScanner(dialect, watched, columns, isWatched ? lines : null);
}

/** Indexes of all columns to watch, ascending. */
function watchedColumns(dialect: CsvDialect, works: readonly ColumnWork[]): number[] {
  const names = works.flatMap(({ column }) => [
    column.column,
    column.modelColumn,
    column.regionColumn,
    column.companyColumn,
  ]);
  const places = names.flatMap((name) => (name === undefined ? [] : [columnIndex(dialect, name)]));
  return [...new Set(places)].sort((a, b) => a - b);
}

class CsvScanner implements RecordScanner {
  readonly dataStart: number;
  readonly dialect: CsvDialect;
  readonly #watched: readonly number[];
  readonly #columns: readonly CsvColumn[];
  readonly #starts: number[];
  readonly #ends: number[];
  readonly #log = new DefectLog();
  /** Null unless positions are needed, because counting lines reads every byte again. */
  readonly #lines: LineCounter | null;
  #bytes: Buffer = Buffer.alloc(0);
  #start = 0;
  #rows = 0;
  /** Cells of the record scanned last. */
  #cells = 0;
  #isBlank = false;

  constructor(
    dialect: CsvDialect,
    watched: readonly number[],
    columns: readonly CsvColumn[],
    lines: LineCounter | null,
  ) {
    this.#lines = lines;
    this.dataStart = dialect.dataStart;
    this.dialect = dialect;
    this.#watched = watched;
    this.#columns = columns;
    this.#starts = watched.map(() => -1);
    this.#ends = watched.map(() => -1);
  }

  position() {
    return { row: this.#rows, line: this.#lines?.lineAt(this.#bytes, this.#start) ?? 0 };
  }

  found() {
    return { rows: this.#rows, defects: this.#log.list() };
  }

  scan(bytes: Buffer, length: number, isLast: boolean, onEdit: OnEdit): number {
    let at = 0;
    this.#bytes = bytes;
    while (at < length) {
      const next = this.#scanRecord(bytes, at, length, isLast);
      if (next < 0) break;
      this.#start = at;
      if (!this.#isBlank) this.#judgeRecord(bytes, onEdit);
      at = next;
    }
    this.#lines?.endPiece(bytes, at);
    return at;
  }

  /** Finds the watched cells of a record; returns the start of the next one, or -1 if this one is incomplete. */
  #scanRecord(bytes: Buffer, start: number, length: number, isLast: boolean): number {
    const { delimiter, terminator } = this.dialect;
    this.#starts.fill(-1);
    let at = start;
    let watch = 0;
    for (let cell = 0; ; cell += 1) {
      const from = at;
      if (bytes[at] === QUOTE && at < length) at = this.#skipQuoted(bytes, at, length, isLast);
      while (at < length && bytes[at] !== delimiter && bytes[at] !== terminator) at += 1;
      if (at >= length && !isLast) return -1;
      const isEnd = at >= length || bytes[at] === terminator;
      if (cell === this.#watched[watch]) {
        const trimmed = isEnd && terminator === LF && at > from && bytes[at - 1] === CR ? at - 1 : at;
        this.#starts[watch] = from;
        this.#ends[watch] = trimmed;
        watch += 1;
      }
      if (isEnd) {
        this.#cells = cell + 1;
        this.#isBlank = cell === 0 && (at === start || (at === start + 1 && bytes[start] === CR));
        return Math.min(at + 1, length);
      }
      at += 1;
    }
  }

  /** The offset after a cell's closing quote; the end of the bytes if there is none. */
  #skipQuoted(bytes: Buffer, start: number, length: number, isLast: boolean): number {
    for (let at = start + 1; at < length; at += 1) {
      if (bytes[at] !== QUOTE) continue;
      if (at + 1 < length && bytes[at + 1] === QUOTE) at += 1;
      else return at + 1;
    }
    if (isLast) this.#log.add('unfinished_quote', `record ${this.#rows + 1}`);
    return length;
  }

  #judgeRecord(bytes: Buffer, onEdit: OnEdit): void {
    this.#rows += 1;
    const { width } = this.dialect;
    if (this.#cells !== width) {
      const code = this.#cells < width ? 'short_rows' : 'long_rows';
      this.#log.add(code, `record ${this.#rows} (${this.#cells} of ${width} cells)`);
    }
    for (const column of this.#columns) {
      const start = this.#starts[column.id] ?? -1;
      if (start >= 0) this.#judgeCell(bytes, column, start, this.#ends[column.id] ?? start, onEdit);
    }
  }

  #judgeCell(bytes: Buffer, column: CsvColumn, start: number, end: number, onEdit: OnEdit): void {
    const isQuoted = end - start >= 2 && bytes[start] === QUOTE && bytes[end - 1] === QUOTE;
    const from = isQuoted ? start + 1 : start;
    const to = isQuoted ? end - 1 : end;
    const scope = column.hasScope ? this.#scopeOf(bytes, column) : NO_SCOPE;
    if (column.work.inText !== null) {
      const edit = editInText(column.work, bytes, { from, to, isQuoted }, scope);
      if (edit !== null) onEdit(from, to, edit);
      return;
    }
    const action = judgeBytes(column.work, bytes, from, to, scope);
    if (action === 'replace') onEdit(from, to, column.work.resolver.newText);
    else if (action === 'clear') onEdit(from, to, '');
  }

  #scopeOf(bytes: Buffer, column: CsvColumn): RowScope {
    const read = (watch: number) => {
      const start = watch < 0 ? -1 : (this.#starts[watch] ?? -1);
      return start < 0 ? null : readCell(bytes.subarray(start, this.#ends[watch])) || null;
    };
    return { model: read(column.model), region: read(column.region), company: read(column.company) };
  }
}

/** A cell without the quotes around it. */
interface CellBytes {
  readonly from: number;
  readonly to: number;
  readonly isQuoted: boolean;
}

const NOT_ASCII = /[\x80-\xff]/;

/** What a cell with ids inside text becomes, in Latin-1; null if it stays. */
function editInText(
  work: ColumnWork,
  bytes: Buffer,
  { from, to, isQuoted }: CellBytes,
  scope: RowScope,
): string | null {
  const latin1 = bytes.toString('latin1', from, to);
  // ASCII is the same in both encodings.
  const encoding = NOT_ASCII.test(latin1) ? encodingOf(bytes.subarray(from, to)) : 'latin1';
  const raw = encoding === 'latin1' ? latin1 : bytes.toString(encoding, from, to);
  const text = isQuoted ? raw.replaceAll('""', '"') : raw;
  const isExact = !isQuoted || text.replaceAll('"', '""') === raw;
  const action = isExact ? judgeText(work, text, scope) : judgeInvalid(work, 'not_a_value', () => raw, scope);
  if (action === 'clear') return '';
  if (action !== 'replace') return null;
  const { newText } = work.resolver;
  const written = isQuoted ? newText.replaceAll('"', '""') : newText;
  return encoding === 'latin1' ? written : Buffer.from(written, encoding).toString('latin1');
}

/** Handles the usual case, a few digits, without creating a string. */
function judgeBytes(
  work: ColumnWork,
  bytes: Buffer,
  start: number,
  end: number,
  scope: RowScope,
): CellAction {
  const digits = end - start;
  const first = bytes[start] ?? 0;
  if (digits < 1 || digits > FAST_DIGITS || (first === 0x30 && digits > 1)) {
    return judgeText(work, readCell(bytes.subarray(start, end)), scope);
  }
  let value = 0;
  for (let at = start; at < end; at += 1) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return judgeText(work, readCell(bytes.subarray(start, end)), scope);
    value = value * 10 + digit;
  }
  return judgeNumber(work, value, scope);
}
