import { readFileSync } from 'node:fs';
import { errorCodeOf, SvcError } from '../errors.js';

/** A CSV file of the user, and what its lines mean. */
export interface CsvFormat<Row> {
  /** For messages, such as `companies file`. */
  readonly what: string;
  /** The setting that names the file. */
  readonly setting: string;
  readonly header: string;
  /** What a row does to the things it names: `named`, `decided`. */
  readonly verb: string;
  /** The things of which each may be named once. */
  readonly unique: string;
  /** A line's row, or what is wrong with it. */
  readonly parseRow: (cells: readonly string[], line: number) => Row | string;
  /** What no other row may name as well. */
  readonly namesOf: (row: Row) => readonly { readonly name: string; readonly key?: string }[];
}

/**
 * Reads the rows of a file.
 *
 * @throws SvcError `bad_input`, with every problem and its line
 */
export function readCsvFile<Row>(file: string, format: CsvFormat<Row>): Row[] {
  const { rows, problems } = parseCsv(readText(file, format), format);
  if (problems.length === 0) return rows;
  throw new SvcError('bad_input', `${file}: ${problems.join('\n  ')}.`, {
    hint: `The first line is ${format.header}; each ${format.unique} may be ${format.verb} once.`,
  });
}

function readText(file: string, { what, setting }: Pick<CsvFormat<unknown>, 'what' | 'setting'>): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new SvcError('bad_input', `The ${what} ${file} cannot be read (${errorCodeOf(cause)}).`, {
      hint: `Check ${setting} in the configuration.`,
      cause,
    });
  }
}

/**
 * The rows of a file's text, and all problems with their lines. Blank lines and lines that start with `#` are
 * skipped, also where a spreadsheet put such a line in quotes.
 */
export function parseCsv<Row>(
  text: string,
  { header, verb, parseRow, namesOf }: CsvFormat<Row>,
): { readonly rows: Row[]; readonly problems: string[] } {
  const rows: Row[] = [];
  const problems: string[] = [];
  const lineByKey = new Map<string, number>();
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const isSkipped = (line: string): boolean => /^\s*("?#|[,;]*\s*$)/.test(line);
  const first = lines.findIndex((line) => !isSkipped(line));
  if (first < 0 || splitCells(lines[first] ?? '')?.join(',') !== header) {
    return { rows, problems: [`line ${Math.max(0, first) + 1}: the header must be ${header}`] };
  }
  for (const [at, text] of lines.entries()) {
    if (at <= first || isSkipped(text)) continue;
    const line = at + 1;
    const cells = splitCells(text);
    const row = cells === null ? 'a quotation mark is not closed or not doubled' : parseRow(cells, line);
    if (typeof row === 'string') {
      problems.push(`line ${line}: ${row}`);
      continue;
    }
    const names = namesOf(row).map(({ name, key = name }) => ({ name, key }));
    const taken = names.find(({ key }) => lineByKey.has(key));
    if (taken !== undefined) {
      problems.push(`line ${line}: ${taken.name} is ${verb} on line ${lineByKey.get(taken.key)} already`);
      continue;
    }
    for (const { key } of names) lineByKey.set(key, line);
    rows.push(row);
  }
  return { rows, problems };
}

/** Cells without the space around them; null where quotes are wrong. */
function splitCells(line: string): string[] | null {
  const cells: string[] = [];
  const cell = /(?:\s*"((?:[^"]|"")*)"\s*|((?!\s*")[^,]*))(,|$)/y;
  for (;;) {
    const found = cell.exec(line);
    if (found === null) return null;
    const [, quoted, plain = '', end] = found;
    cells.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
    if (end === '') return cells;
  }
}
