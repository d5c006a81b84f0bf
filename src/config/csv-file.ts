import { readFileSync } from 'node:fs';
import { SvcError } from '../errors.js';

/**
 * Reads a CSV file that a setting names.
 *
 * @throws SvcError `bad_input`
 */
export function readCsvFile(file: string, what: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const error = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    throw new SvcError('bad_input', `The ${what} ${file} cannot be read (${error}).`, {
      hint: `Check ${setting} in the configuration.`,
      cause,
    });
  }
}

/** @throws SvcError `bad_input`, with every problem and its line, where there is one */
export function assertNoProblems(file: string, problems: readonly string[], hint: string): void {
  if (problems.length === 0) return;
  throw new SvcError('bad_input', `${file}: ${problems.join('\n  ')}.`, { hint });
}

/**
 * Hands the cells of every line below the header to `take`, which returns what is wrong with them, and returns all
 * problems with their lines. Blank lines and lines that start with `#` are skipped, also where a spreadsheet put such a
 * line in quotes.
 */
export function takeCsvLines(
  text: string,
  header: string,
  take: (cells: readonly string[], line: number) => string | null,
): string[] {
  const problems: string[] = [];
  let hasHeader = false;
  for (const [at, raw] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    if (/^\s*("?#|[,;]*\s*$)/.test(raw)) continue;
    const cells = splitCells(raw);
    if (!hasHeader && cells?.join(',') !== header) return [`line ${at + 1}: the header must be ${header}`];
    if (hasHeader) {
      const problem = cells === null ? BAD_QUOTES : take(cells, at + 1);
      if (problem !== null) problems.push(`line ${at + 1}: ${problem}`);
    }
    hasHeader = true;
  }
  return hasHeader ? problems : [`line 1: the header must be ${header}`];
}

const BAD_QUOTES = 'a quotation mark is not closed or not doubled';

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
