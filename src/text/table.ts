import { at } from './at.js';
import { displayWidth, fitText, wrapText } from './wrap.js';

export interface Column {
  readonly title: string;
  readonly numeric?: boolean;
  /** In a table that is too wide, columns without `keep` are left out first. */
  readonly keep?: boolean;
}

/** Least width of the first and the last column before other columns of a table are left out. */
const MIN_TEXT = 20;
const MIN_COLUMNS = 3;
const GAP = 2;

/**
 * Renders a table in at most `width` columns. Where it is too wide, texts of the last column wrap, cells of the first
 * are shortened, and then columns are left out, the last ones first; a last line names them. Cells must be escaped.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  indent = '  ',
): string[] {
  const room = width - displayWidth(indent);
  const dropped = columnsToDrop(columns, rows, room);
  const isKept = (_: unknown, index: number) => !dropped.has(index);
  const shown = columns.filter(isKept);
  const lines = [shown.map(({ title }) => title), ...rows.map((row) => row.filter(isKept))];
  const widths = columnWidths(shown, lines, room);
  const titles = columns.filter((column) => !shown.includes(column)).map(({ title }) => title);
  return [
    ...lines.flatMap((cells) => renderRow(shown, cells, widths)).map((line) => indent + line),
    ...(titles.length === 0
      ? []
      : wrapText(`(not shown for lack of width: ${titles.join(', ')})`, width, indent)),
  ];
}

function renderRow(
  columns: readonly Column[],
  cells: readonly string[],
  widths: readonly number[],
): string[] {
  const last = columns.length - 1;
  const texts = cells.map((cell, index) =>
    index === last && last > 0 && columns[last]?.numeric !== true
      ? wrapText(cell, at(widths, index)).map((line) => fitText(line, at(widths, index)))
      : [fitText(cell, at(widths, index))],
  );
  const height = Math.max(1, ...texts.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    columns
      .map(({ numeric }, index) => {
        const text = texts[index]?.[line] ?? '';
        const pad = ' '.repeat(Math.max(0, at(widths, index) - displayWidth(text)));
        return numeric === true ? pad + text : text + pad;
      })
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
}

function columnWidths(
  columns: readonly Column[],
  lines: readonly (readonly string[])[],
  room: number,
): number[] {
  const widths = naturalWidths(columns, lines);
  const shorten = (index: number) => {
    const excess = Math.max(0, totalWidth(widths) - room);
    widths[index] = Math.max(Math.min(at(widths, index), MIN_TEXT), at(widths, index) - excess);
  };
  const last = columns.length - 1;
  if (last > 0 && columns[last]?.numeric !== true) shorten(last);
  if (columns.length > 0) shorten(0);
  return widths;
}

function naturalWidths(columns: readonly Column[], lines: readonly (readonly string[])[]): number[] {
  return columns.map(({ title }, index) =>
    lines.reduce((widest, cells) => Math.max(widest, displayWidth(cells[index] ?? '')), displayWidth(title)),
  );
}

function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP, -GAP);
}

function columnsToDrop(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  room: number,
): ReadonlySet<number> {
  const last = columns.length - 1;
  const widths = naturalWidths(columns, rows).map((width, index) =>
    index === 0 || (index === last && columns[last]?.numeric !== true) ? Math.min(width, MIN_TEXT) : width,
  );
  const fromTheEnd = columns.map((_, index) => last - index).filter((index) => index > 0);
  const order = [
    ...fromTheEnd.filter((index) => columns[index]?.keep !== true),
    ...fromTheEnd.filter((index) => columns[index]?.keep),
  ];
  const dropped = new Set<number>();
  let total = totalWidth(widths);
  for (const index of order) {
    if (total <= room || columns.length - dropped.size <= MIN_COLUMNS) break;
    dropped.add(index);
    total -= at(widths, index) + GAP;
  }
  return dropped;
}
