import { at } from './at.js';
import { displayWidth, fitText, wrapText } from './wrap.js';

export interface Column {
  readonly title: string;
  readonly numeric?: boolean;
  /** In a table that is too wide, columns without `keep` are left out first. */
  readonly keep?: boolean;
}

const MIN_TEXT = 20;
const MIN_COLUMNS = 3;
const GAP = '  ';

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
  const lines = [columns.map(({ title }) => title), ...rows];
  const natural = columns.map((_, index) =>
    lines.reduce((widest, cells) => Math.max(widest, displayWidth(at(cells, index))), 0),
  );
  const shown = columnsThatFit(columns, natural, room);
  const dropped = columns.filter((_, index) => !shown.includes(index)).map(({ title }) => title);
  const note = `(not shown for lack of width: ${dropped.join(', ')})`;
  const widths = shown.map((index) => at(natural, index));
  const shorten = (index: number) => {
    const excess = Math.max(0, totalWidth(widths) - room);
    widths[index] = Math.max(Math.min(at(widths, index), MIN_TEXT), at(widths, index) - excess);
  };
  const isNumeric = shown.map((index) => at(columns, index).numeric === true);
  if (shown.length > 1 && isNumeric.at(-1) === false) shorten(shown.length - 1);
  if (shown.length > 0) shorten(0);
  return [
    ...lines.flatMap((line) => {
      const cells = shown.map((index) => at(line, index));
      return renderRow(cells, widths, isNumeric).map((text) => indent + text);
    }),
    ...(dropped.length === 0 ? [] : wrapText(note, width, indent)),
  ];
}

function columnsThatFit(columns: readonly Column[], natural: readonly number[], room: number): number[] {
  const last = columns.length - 1;
  const least = natural.map((width, index) =>
    index === 0 || (index === last && columns[last]?.numeric !== true) ? Math.min(width, MIN_TEXT) : width,
  );
  let shown = columns.map((_, index) => index);
  while (shown.length > MIN_COLUMNS && totalWidth(shown.map((index) => at(least, index))) > room) {
    const dropped = shown.findLast((index) => index > 0 && columns[index]?.keep !== true) ?? shown.at(-1);
    shown = shown.filter((index) => index !== dropped);
  }
  return shown;
}

function renderRow(cells: readonly string[], widths: readonly number[], isNumeric: readonly boolean[]) {
  const last = cells.length - 1;
  const texts = cells.map((cell, index) => {
    const width = at(widths, index);
    const isWrapped = index === last && last > 0 && !isNumeric[index];
    return (isWrapped ? wrapText(cell, width) : [cell]).map((line) => fitText(line, width));
  });
  const height = Math.max(1, ...texts.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) => {
    const padded = texts.map((lines, index) => {
      const text = lines[line] ?? '';
      const pad = ' '.repeat(at(widths, index) - displayWidth(text));
      return isNumeric[index] ? pad + text : text + pad;
    });
    return padded.join(GAP).trimEnd();
  });
}

function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
}
