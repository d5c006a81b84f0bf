import { isUtf8 } from 'node:buffer';
import { SvcError } from '../../errors.js';
import { didYouMeanEnding } from '../../text/suggest.js';

/** The format of a CSV file. Delimiter, terminator and quote are ASCII, so UTF-8 and Latin-1 parse alike. */
export interface CsvDialect {
  readonly delimiter: number;
  /** The byte that ends a record: LF (optionally after CR) or, in files without LF, CR. */
  readonly terminator: number;
  /** Names of the columns as text; empty without a header. */
  readonly header: readonly string[];
  /** Cells of the first record. */
  readonly width: number;
  /** Offset of the first record after the header, and the line it is on. */
  readonly dataStart: number;
  readonly dataLine: number;
}

/** The bytes that structure a file. */
type Separators = Pick<CsvDialect, 'delimiter' | 'terminator'>;

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const CANDIDATES = [',', ';', '\t', '|'] as const;

export interface DialectRequest {
  readonly file: string;
  readonly delimiter: 'auto' | (typeof CANDIDATES)[number];
  readonly header: boolean;
  /** Columns that must exist, by name or, without a header, as `#1`. */
  readonly columns: readonly string[];
}

/**
 * Detects the format of a file from its first bytes (`head`; all of a short file).
 *
 * @throws SvcError `bad_input` if it is not text, or a requested column is missing or occurs twice
 */
export function detectDialect(head: Buffer, request: DialectRequest): CsvDialect {
  assertTextEncoding(head, request.file);
  const start = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
  const terminator = findTerminator(head, start);
  const delimiters = request.delimiter === 'auto' ? CANDIDATES : [request.delimiter];
  const readings = delimiters.map((delimiter) =>
    readRecord(head, start, { delimiter: delimiter.charCodeAt(0), terminator }),
  );
  // The delimiter that gives the most cells comes first: a header of one column fits every delimiter.
  readings.sort((a, b) => b.cells.length - a.cells.length);
  const fits = readings.find((reading) =>
    request.columns.every((name) => indexOf(reading, name, request) >= 0),
  );
  if (fits === undefined) throw unknownColumn(readings[0]?.cells ?? [], request);
  const twice = request.columns.find((name) => fits.cells.filter((cell) => cell === name).length > 1);
  if (request.header && twice !== undefined) {
    throw new SvcError('bad_input', `${request.file} has two columns named "${twice}".`, {
      hint: 'Rename one of them, or use "header": false with "#1"-style columns.',
    });
  }
  return {
    delimiter: fits.delimiter,
    terminator,
    header: request.header ? fits.cells : [],
    width: fits.cells.length,
    dataStart: request.header ? fits.end : start,
    dataLine: request.header ? 1 + fits.lines : 1,
  };
}

/** Index of a column, from 0; -1 if there is none. */
export function columnIndex(dialect: Pick<CsvDialect, 'header' | 'width'>, name: string): number {
  if (dialect.header.length > 0) return dialect.header.indexOf(name);
  return numbered(name, dialect.width);
}

interface Reading {
  readonly delimiter: number;
  readonly cells: readonly string[];
  readonly end: number;
  readonly lines: number;
}

function indexOf(reading: Reading, name: string, request: DialectRequest): number {
  return request.header ? reading.cells.indexOf(name) : numbered(name, reading.cells.length);
}

function numbered(name: string, width: number): number {
  const at = /^#([1-9]\d{0,5})$/.exec(name)?.[1];
  return at !== undefined && Number(at) <= width ? Number(at) - 1 : -1;
}

/** The cells of the record that begins at `start`, and where the next one begins. */
export function readRecord(bytes: Buffer, start: number, separators: Separators): Reading {
  const record = new CsvRecord();
  const end = record.read(bytes, start, true, separators);
  const cells = Array.from({ length: record.width }, (_, at) => record.cell(bytes, at));
  return { delimiter: separators.delimiter, cells, end, lines: record.lines };
}

/** The cells of one record: where each begins and ends, with its quotes. */
export class CsvRecord {
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  /** Number of cells. */
  width = 0;
  /** Number of lines that it takes. */
  lines = 0;
  /** Whether a quote is never closed. */
  isOpen = false;

  /** Reads the record at `start`; returns the start of the next one, or -1 if this one is incomplete. With `isLast` it is complete. */
  read(bytes: Buffer, start: number, isLast: boolean, { delimiter, terminator }: Separators): number {
    const { length } = bytes;
    this.lines = 1;
    this.isOpen = false;
    for (let at = start, cell = 0; ; at += 1, cell += 1) {
      const from = at;
      if (bytes[at] === QUOTE) at = this.#skipQuoted(bytes, at, terminator);
      while (at < length && bytes[at] !== delimiter && bytes[at] !== terminator) at += 1;
      if (at >= length && !isLast) return -1;
      const isEnd = at >= length || bytes[at] === terminator;
      this.starts[cell] = from;
      this.ends[cell] = isEnd && at > from && bytes[at - 1] === CR ? at - 1 : at;
      if (!isEnd) continue;
      this.width = cell + 1;
      return Math.min(at + 1, length);
    }
  }

  /** The offset after a cell's closing quote; the end of the bytes if there is none. */
  #skipQuoted(bytes: Buffer, start: number, terminator: number): number {
    for (let at = start + 1; at < bytes.length; at += 1) {
      if (bytes[at] === terminator) this.lines += 1;
      if (bytes[at] !== QUOTE) continue;
      if (bytes[at + 1] === QUOTE) at += 1;
      else return at + 1;
    }
    this.isOpen = true;
    return bytes.length;
  }

  /** The text of a cell without its quotes; '' if there is no such cell. */
  cell(bytes: Buffer, at: number): string {
    return at < this.width ? readCell(bytes.subarray(this.starts[at], this.ends[at])) : '';
  }
}

/** Looks outside quotes. LF takes precedence: in files with LF, a CR alone is data. */
function findTerminator(head: Buffer, start: number): number {
  let quoted = false;
  let sawCr = false;
  for (let at = start; at < head.length; at += 1) {
    const byte = head[at];
    if (byte === QUOTE) quoted = !quoted;
    else if (quoted) continue;
    else if (byte === LF) return LF;
    else if (byte === CR) sawCr = true;
  }
  return sawCr ? CR : LF;
}

/** The encoding of a cell: UTF-8 if its bytes are that, otherwise Latin-1, which any bytes are. */
export function encodingOf(bytes: Uint8Array): 'utf8' | 'latin1' {
  return isUtf8(bytes) ? 'utf8' : 'latin1';
}

/** Decodes a cell without its quotes. */
function readCell(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encodingOf(bytes));
  if (!text.startsWith('"') || !text.endsWith('"')) return text;
  return text.slice(1, -1).replaceAll('""', '"');
}

function assertTextEncoding(head: Buffer, file: string): void {
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  if (!isUtf16 && !head.includes(0)) return;
  throw new SvcError('bad_input', `${file} is ${isUtf16 ? 'UTF-16' : 'not a text file'}.`, {
    hint: 'Save it as UTF-8 or Latin-1 first.',
  });
}

function unknownColumn(cells: readonly string[], { file, columns, header }: DialectRequest): SvcError {
  if (cells.every((cell) => cell === '') && (header || cells.length <= 1)) {
    return new SvcError(
      'bad_input',
      `${file} has no columns: ${header ? 'its header row' : 'its first row'} is empty.`,
      {
        hint: 'Check that it is the right file, and complete.',
      },
    );
  }
  const missing =
    columns.find((name) => (header ? !cells.includes(name) : numbered(name, cells.length) < 0)) ?? '';
  const known = header ? cells : cells.map((_, at) => `#${at + 1}`);
  return new SvcError('bad_input', `${file} has no column "${missing}"${didYouMeanEnding(missing, known)}`, {
    hint: header ? 'Without a header row set "header": false and name columns "#1", "#2", ….' : undefined,
  });
}
