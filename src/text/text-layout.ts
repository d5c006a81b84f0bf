import { escapeUnseen } from './escape.js';

const WIDE =
  /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u;
const ZERO = /[\p{Mn}\p{Me}]/u;

/** Number of terminal columns that `text` takes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const char of text) width += widthOf(char);
  return width;
}

function widthOf(char: string): number {
  if (char < '\u0300') return 1;
  if (ZERO.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** Shortens `text` to at most `width` columns by cutting out its middle. */
export function fitText(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (width < 1) return '';
  const chars = [...text];
  const tail = takeColumns(chars.toReversed(), Math.floor((width - 1) / 2)).reverse();
  const head = takeColumns(chars, width - 1 - displayWidth(tail.join('')));
  return `${head.join('')}…${tail.join('')}`;
}

/** Cuts the end off `text` where it is longer than `most` characters. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const chars = [...text];
  return chars.length > most ? `${chars.slice(0, most).join('')}…` : text;
}

function takeColumns(chars: readonly string[], width: number): string[] {
  const taken: string[] = [];
  let used = 0;
  for (const char of chars) {
    used += widthOf(char);
    if (used > width) break;
    taken.push(char);
  }
  return taken;
}

/** Stands for a space at which a line must not be broken. */
const FIXED_SPACE = '\u00a0';

/**
 * Escapes and wraps a text. A command between backticks stays on one line, however long it is, so that it can be copied;
 * other code where it fits on one.
 */
export function wrapProse(text: string, width: number, indent = ''): string[] {
  const room = width - displayWidth(indent);
  const fixed = escapeUnseen(text).replace(/`[^`]+`/g, (code) =>
    code.startsWith('`svc-migrate ') || displayWidth(code) < room ? code.replaceAll(' ', FIXED_SPACE) : code,
  );
  return wrapText(fixed, width, indent).map((line) => line.replaceAll(FIXED_SPACE, ' '));
}

/** A space at which a line may be broken: not one between a number and its unit. */
const BREAK = /(?<!\d) | (?!(?:%|(?:[KMGT]iB|ms|s|min|h|d)\b))/;

/**
 * Wraps words into lines of at most `width` columns; every line begins with `indent`. Longer words are broken, or with
 * `keepsWords` stay whole.
 */
export function wrapText(text: string, width: number, indent = '', keepsWords = false): string[] {
  const room = Math.max(1, width - displayWidth(indent));
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(BREAK)) {
    const joined = line === '' ? word : `${line} ${word}`;
    if (line !== '' && displayWidth(joined) > room) {
      lines.push(indent + line);
      line = word;
    } else {
      line = joined;
    }
    while (!keepsWords && !line.includes(FIXED_SPACE) && displayWidth(line) > room) {
      const head = takeColumns([...line], room).join('');
      if (head === '') break;
      lines.push(indent + head);
      line = line.slice(head.length);
    }
  }
  if (line !== '') lines.push(indent + line);
  return lines;
}

/**
 * Wraps the lines of a message at words. `Next:` stays whole, so that it can be copied, and so do words that are longer
 * than a line, such as paths.
 */
export function wrapMessage(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => (line.startsWith('Next: ') ? line : wrapHanging(line, width)))
    .join('\n');
}

/** Wraps a line; the lines that follow begin below its text, behind its spaces and arrow. */
function wrapHanging(line: string, width: number): string {
  const [head = ''] = /^ *(→ )?/.exec(line) ?? [];
  const lines = wrapText(line.slice(head.length), width, ' '.repeat(head.length), true);
  return head + lines.join('\n').slice(head.length);
}

/** Wraps each line as `wrapProse` does, with its own indentation; each ends with a line feed. */
export function wrapLines(lines: readonly string[], width: number): string {
  const laid = lines.flatMap((line) => {
    if (line === '') return [''];
    return wrapProse(line.trimStart(), width, /^ */.exec(line)?.[0] ?? '');
  });
  return laid.map((line) => `${line}\n`).join('');
}

export interface Column {
  readonly title: string;
  /** Whether its cells are aligned to the right. */
  readonly numeric?: true;
  /** In a table that is too wide, columns without `keep` are left out first. */
  readonly keep?: boolean;
}

/** Narrowest first column, in columns of the terminal, before other columns of a table are left out. */
const MIN_FIRST = 20;
/** Columns that a table keeps however narrow the terminal is. */
const MIN_COLUMNS = 3;

/**
 * Renders a table in at most `width` columns. Where it is too wide, cells of the first column are shortened, and columns
 * are left out, the last ones first but for those with `keep`; a last line says which. Texts of the last column wrap.
 */
export function layOutTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  indent = '  ',
): string[] {
  const dropped = columnsToDrop(columns, rows, width - displayWidth(indent));
  if (dropped.length > 0) {
    const isKept = (_: unknown, at: number) => !dropped.includes(at);
    const titles = dropped.map((at) => columns[at]?.title ?? '').join(', ');
    return [
      ...layOutTable(
        columns.filter(isKept),
        rows.map((row) => row.filter(isKept)),
        width,
        indent,
      ),
      ...wrapText(`(not shown for lack of width: ${titles})`, width, indent),
    ];
  }
  const lines = [columns.map((column) => column.title), ...rows];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => displayWidth(line[at] ?? ''))));
  const last = columns.length - 1;
  const wraps = last > 0 && columns[last]?.numeric !== true;
  const shorten = (at: number, least: number) => {
    const total = widths.reduce((sum, one) => sum + one + 2, displayWidth(indent) - 2);
    const own = widths[at] ?? 0;
    widths[at] = Math.max(Math.min(own, least), own - Math.max(0, total - width));
  };
  shorten(0, wraps ? MIN_FIRST : 8);
  if (wraps) shorten(last, MIN_FIRST);
  const layOutRow = (cells: readonly string[]) =>
    columns.map(({ numeric }, at) => {
      const room = widths[at] ?? 0;
      const text = fitText(cells[at] ?? '', room);
      const pad = ' '.repeat(room - displayWidth(text));
      return numeric ? pad + text : text + pad;
    });
  return lines
    .flatMap((line) => {
      if (!wraps) return [line];
      const [head = '', ...more] = wrapText(line[last] ?? '', widths[last] ?? 0);
      return [[...line.slice(0, last), head], ...more.map((text) => [...line.slice(0, last).fill(''), text])];
    })
    .map((line) => indent + layOutRow(line).join('  ').trimEnd());
}

/** The first lines of a text; `…` ends the last one where more follow. */
export function clipLines(lines: readonly string[], most: number, width: number): string[] {
  if (lines.length <= most) return [...lines];
  const shown = lines.slice(0, most);
  const last = takeColumns([...(shown.pop() ?? '')], width - 2).join('');
  return [...shown, `${last.replace(/[\s,;:(]+$/, '')} …`];
}

/** The positions of the columns to leave out, in ascending order. */
function columnsToDrop(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): number[] {
  const widths = columns.map(({ title }, at) =>
    Math.max(displayWidth(title), ...rows.map((row) => displayWidth(row[at] ?? ''))),
  );
  widths[0] = Math.min(widths[0] ?? 0, MIN_FIRST);
  let total = widths.reduce((sum, one) => sum + one + 2, -2);
  const last = columns.map((_, at) => columns.length - 1 - at);
  const order = [
    ...last.filter((at) => columns[at]?.keep !== true),
    ...last.filter((at) => columns[at]?.keep),
  ];
  const dropped: number[] = [];
  for (const at of order) {
    if (total <= width || columns.length - dropped.length <= MIN_COLUMNS) break;
    if (at === 0) continue;
    dropped.push(at);
    total -= (widths[at] ?? 0) + 2;
  }
  return dropped.sort((a, b) => a - b);
}
