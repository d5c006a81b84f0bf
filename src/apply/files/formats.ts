import { randomUUID } from 'node:crypto';
import {
  type CsvTarget,
  type IdColumn,
  type NdjsonTarget,
  parseJsonPath,
} from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { at, must } from '../../text/at.js';
import { endWithSuggestion } from '../../text/suggest.js';
import { type JsonIds, rewriteJson } from '../judge.js';
import type { RowScope } from '../verdict.js';

/** Returns the new text of the id in `ids[index]`, '' to empty it, null to leave it. */
export type RewriteCell = (index: number, value: string, scope: RowScope) => string | null;
export type OnNothing = (index: number, document: string) => void;
/** The end of the record at `start`; null if it is not whole yet. */
export type Splitter = (text: string, start: number, isLast: boolean) => number | null;

export interface FileFormat {
  readonly dataStart: number;
  readonly split: Splitter;
  /** `row`: counted from 1. @throws SvcError `bad_input` for a malformed record */
  readonly rewrite: (record: string, row: number, rewriteCell: RewriteCell, onNothing?: OnNothing) => string;
}

/** How a file is written. Texts are bytes in Latin-1, so that every encoding that contains ASCII stays as it is. */
interface CsvDialect {
  readonly delimiter: string;
  /** The end of a record: LF (optionally after CR), or CR in files without LF. */
  readonly terminator: string;
  readonly header: readonly string[];
  readonly width: number;
  readonly dataStart: number;
}

interface Cell {
  readonly start: number;
  readonly end: number;
}

interface CsvRecord {
  readonly cells: readonly Cell[];
  readonly next: number;
  readonly isOpen: boolean;
}

const DELIMITERS = [',', ';', '\t', '|'] as const;
const BOM = '\u00ef\u00bb\u00bf';

/** @throws SvcError `bad_input` if it is not text, or lacks a column, or has it twice */
export function openCsv(target: CsvTarget, head: string): FileFormat {
  const dialect = detectDialect(target, head);
  const columns = target.ids.map((ids) => describe(dialect, ids));
  return {
    dataStart: dialect.dataStart,
    split: splitter(dialect),
    rewrite: (record, row, rewriteCell) => rewriteRecord(target, dialect, columns, record, row, rewriteCell),
  };
}

interface CsvColumn {
  readonly cell: number;
  readonly model: number | null;
  readonly region: number | null;
}

function describe(dialect: CsvDialect, { column, modelColumn, regionColumn }: IdColumn): CsvColumn {
  const find = (name: string | undefined) => (name === undefined ? null : indexOf(dialect, name));
  return { cell: indexOf(dialect, column), model: find(modelColumn), region: find(regionColumn) };
}

function splitter({ delimiter, terminator }: CsvDialect): Splitter {
  return (text, start, isLast) => {
    const record = readRecord(text, start, delimiter, terminator, isLast);
    return record === null ? null : record.next;
  };
}

function rewriteRecord(
  { file }: CsvTarget,
  { delimiter, terminator, width }: CsvDialect,
  columns: readonly CsvColumn[],
  text: string,
  row: number,
  rewriteCell: RewriteCell,
): string {
  const record = must(readRecord(text, 0, delimiter, terminator, true), 'record');
  const { cells, isOpen } = record;
  if (isOpen || (cells.length !== width && !isBlank(cells)))
    throw malformed(file, row, cells.length, width, isOpen);
  if (isBlank(cells) && width > 1) return text;
  const read = (index: number | null) =>
    index === null ? null : decode(readCell(text, at(cells, index))) || null;
  const edits = columns.flatMap(({ cell, model, region }, index) => {
    const place = at(cells, cell);
    const value = readCell(text, place);
    const result = rewriteCell(index, decode(value), { model: read(model), region: read(region) });
    return result === null ? [] : [{ ...place, result }];
  });
  let from = 0;
  let result = '';
  for (const edit of edits.sort((a, b) => a.start - b.start)) {
    const quote = text[edit.start] === '"' ? '"' : '';
    result += text.slice(from, edit.start) + quote + edit.result + quote;
    from = edit.end;
  }
  return result + text.slice(from);
}

function isBlank(cells: readonly Cell[]): boolean {
  return cells.length === 1 && at(cells, 0).start === at(cells, 0).end;
}

function malformed(file: string, row: number, cells: number, width: number, isOpen: boolean): SvcError {
  const what = isOpen ? 'a quote that is never closed' : `${cells} cells, but the first record has ${width}`;
  return new SvcError('bad_input', `${file}: record ${row} has ${what}.`, {
    hint: 'Repair the file, or name its "delimiter" in the target.',
  });
}

/** Null if the record is not whole; with `isLast` it always is. */
function readRecord(
  text: string,
  start: number,
  delimiter: string,
  terminator: string,
  isLast: boolean,
): CsvRecord | null {
  const cells: Cell[] = [];
  let isOpen = false;
  for (let position = start; ; position += 1) {
    const from = position;
    if (text[position] === '"') {
      const end = endOfQuoted(text, position);
      isOpen = end < 0;
      position = end < 0 ? text.length : end;
    }
    while (position < text.length && text[position] !== delimiter && text[position] !== terminator)
      position += 1;
    const isAtEnd = position >= text.length;
    // A quote at the end of a piece may be the first of two.
    if (isAtEnd && !isLast) return null;
    const isEnd = isAtEnd || text[position] === terminator;
    const hasCr = isEnd && terminator === '\n' && position > from && text[position - 1] === '\r';
    cells.push({ start: from, end: hasCr ? position - 1 : position });
    if (isEnd) return { cells, next: Math.min(position + 1, text.length), isOpen };
  }
}

function endOfQuoted(text: string, start: number): number {
  for (
    let position = text.indexOf('"', start + 1);
    position >= 0;
    position = text.indexOf('"', position + 2)
  ) {
    if (text[position + 1] !== '"') return position + 1;
  }
  return -1;
}

function readCell(text: string, { start, end }: Cell): string {
  const cell = text.slice(start, end);
  return cell.length > 1 && cell.startsWith('"') && cell.endsWith('"')
    ? cell.slice(1, -1).replaceAll('""', '"')
    : cell;
}

/** UTF-8 if the bytes are that, otherwise Latin-1. */
function decode(bytes: string): string {
  if (!/[\u0080-\u00ff]/.test(bytes)) return bytes;
  const text = Buffer.from(bytes, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? bytes : text;
}

function detectDialect(target: CsvTarget, head: string): CsvDialect {
  const { file } = target;
  if (/^(?:\u00ff\u00fe|\u00fe\u00ff)/.test(head) || head.includes('\0')) {
    throw new SvcError('bad_input', `${file} is ${head.includes('\0') ? 'UTF-16 or not text' : 'UTF-16'}.`, {
      hint: 'Save it as UTF-8 first.',
    });
  }
  const bom = head.startsWith(BOM) ? BOM.length : 0;
  // Excel writes the delimiter into a line of its own.
  const [line, separator] = /^"?sep=(.)"?(?:\r\n|\n|\r)/.exec(head.slice(bom)) ?? ['', undefined];
  const start = bom + line.length;
  const terminator = findTerminator(head, start);
  const delimiters =
    separator !== undefined ? [separator] : target.delimiter === 'auto' ? DELIMITERS : [target.delimiter];
  const readings = delimiters.map((delimiter) => {
    const { cells, next } = must(readRecord(head, start, delimiter, terminator, true), 'record');
    const names = cells.map((cell) => decode(readCell(head, cell)));
    const isHeader = target.header;
    return {
      delimiter,
      terminator,
      header: isHeader ? names : [],
      width: names.length,
      dataStart: isHeader ? next : start,
    };
  });
  // The delimiter that gives the most cells comes first: a header of one column fits every delimiter.
  readings.sort((a, b) => b.width - a.width);
  const names = target.ids.flatMap(({ column, modelColumn, regionColumn }) =>
    [column, modelColumn, regionColumn].filter((name) => name !== undefined),
  );
  const fits = readings.find((reading) => names.every((name) => indexOf(reading, name) >= 0));
  if (fits === undefined) throw missingColumn(target, at(readings, 0), names);
  const twice = names.find((name) => fits.header.filter((cell) => cell === name).length > 1);
  if (twice === undefined) return fits;
  throw new SvcError('bad_input', `${file} has two columns named "${twice}".`, {
    hint: 'Rename one of them.',
  });
}

function indexOf({ header, width }: Pick<CsvDialect, 'header' | 'width'>, name: string): number {
  if (header.length > 0) return header.indexOf(name);
  const [, number] = /^#([1-9]\d{0,5})$/.exec(name) ?? [];
  return number !== undefined && Number(number) <= width ? Number(number) - 1 : -1;
}

/** LF takes precedence: in files with LF, a CR alone is data. */
function findTerminator(head: string, start: number): string {
  let isQuoted = false;
  let sawCr = false;
  for (let position = start; position < head.length; position += 1) {
    const char = head[position];
    if (char === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (char === '\n') return '\n';
    else if (char === '\r') sawCr = true;
  }
  return sawCr ? '\r' : '\n';
}

function missingColumn({ file, header }: CsvTarget, dialect: CsvDialect, names: readonly string[]): SvcError {
  const missing = names.find((name) => indexOf(dialect, name) < 0) ?? '';
  const columns = header
    ? dialect.header
    : Array.from({ length: dialect.width }, (_, index) => `#${index + 1}`);
  return new SvcError(
    'bad_input',
    `${file} has no column "${missing}"${endWithSuggestion(missing, columns)}`,
    {
      hint: `Its columns: ${columns.slice(0, 20).join(', ')}.`,
    },
  );
}

/** Stands for a value that becomes null, whether it was a number or a string. */
const GAP = `gap-${randomUUID()}`;

export function openNdjson(target: NdjsonTarget, head: string): FileFormat {
  const parse = (path: string | undefined) =>
    path === undefined ? null : must(parseJsonPath(path), 'JSON path');
  const paths = target.ids.map(({ column, modelColumn, regionColumn }) => ({
    path: must(parse(column), 'JSON path'),
    model: parse(modelColumn),
    region: parse(regionColumn),
  }));
  return {
    dataStart: head.startsWith(BOM) ? BOM.length : 0,
    split: (text, start, isLast) => {
      const end = text.indexOf('\n', start);
      return end >= 0 ? end + 1 : isLast ? text.length : null;
    },
    rewrite: (record, row, rewriteCell, onNothing = () => {}) => {
      const [, body = '', end = ''] = /^(.*?)(\r?\n?)$/s.exec(record) ?? [];
      if (body.trim() === '') return record;
      const ids = paths.map((path, index): JsonIds => ({ ...path, judge: buildJudge(index, rewriteCell) }));
      const bytes = Buffer.from(body, 'latin1');
      const document = bytes.toString('utf8');
      const json = rewriteJson(document, ids, { model: null, region: null });
      const text = json?.text;
      if (typeof text !== 'string' || json?.verdicts.some(({ reason }) => reason === 'unknown/not_a_value')) {
        throw new SvcError(
          'bad_input',
          `${target.file}: line ${row} is not JSON, or has something else than an id at the path.`,
          {
            hint: 'Repair the line, or correct the path of the ids.',
          },
        );
      }
      for (const index of json?.nothingAt ?? []) onNothing(index, document);
      const filled = text.replaceAll(`"${GAP}"`, 'null').replaceAll(GAP, 'null');
      return Buffer.from(filled, 'utf8').toString('latin1') + end;
    },
  };
}

/** '' stands for null, which stays. */
function buildJudge(index: number, rewriteCell: RewriteCell): JsonIds['judge'] {
  return (value, scope) => {
    const result = rewriteCell(index, value, scope);
    if (value === '' || result === null) return { new: null, reason: 'empty', isAccepted: true };
    return { new: result === '' ? GAP : result, reason: null, isAccepted: true };
  };
}
