import { type ColumnWork, judgeInvalid, judgeNumber, judgeText, needsScope } from '../column-work.js';
import { NO_SCOPE, type RowScope } from '../ids/resolver.js';
import { type CsvDialect, CsvRecord, columnIndex, encodingOf } from './csv-dialect.js';
import { DefectLog, type OnEdit, type RecordScanner } from './record-scanner.js';

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

  scan(bytes: Buffer, length: number, isLast: boolean, onEdit: OnEdit): number {
    const record = this.#record;
    let at = 0;
    while (at < length) {
      const next = record.read(bytes, at, length, isLast, this.#dialect);
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
  const isQuoted = end - start >= 2 && bytes[start] === QUOTE && bytes[end - 1] === QUOTE;
  const from = isQuoted ? start + 1 : start;
  const to = isQuoted ? end - 1 : end;
  const number = work.inText === null ? readDigits(bytes, from, to) : -1;
  if (number >= 0) {
    const action = judgeNumber(work, number, scope);
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
  const action = isExact ? judgeText(work, text, scope) : judgeInvalid(work, 'not_a_value', () => raw, scope);
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
