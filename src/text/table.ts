import { at } from './at.js';
import { displayWidth, wrapCell } from './wrap.js';

export interface Column {
  readonly title: string;
  readonly numeric?: boolean;
}

/** The longest id. */
const MIN_TEXT = 19;
const GAP = '  ';

/**
 * Renders a table in at most `width` columns. Where it is too wide, the widest texts wrap; what still does not fit is
 * written under its row. Cells must be escaped.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  indent = '  ',
): string[] {
  const room = Math.max(1, width - displayWidth(indent));
  const titles = columns.map(({ title }) => title);
  const natural = columns.map((_, index) =>
    [titles, ...rows].reduce((widest, cells) => Math.max(widest, displayWidth(at(cells, index))), 0),
  );
  const isNumeric = columns.map(({ numeric }) => numeric === true);
  const widths = fitWidths(natural, isNumeric, room);
  const render = (cells: readonly string[]) =>
    renderRow(cells.slice(0, widths.length), widths, isNumeric).map((line) => indent + line);
  return [
    ...render(titles),
    ...rows.flatMap((cells) => {
      const rest = cells.flatMap((cell, index) =>
        index < widths.length || cell === '' ? [] : [`${titles[index]}: ${cell}`],
      );
      const under = rest.length === 0 ? [] : wrapCell(rest.join('; '), room - GAP.length);
      return [...render(cells), ...under.map((line) => indent + GAP + line)];
    }),
  ];
}

/** The widths of the first columns, as many as fit. */
function fitWidths(natural: readonly number[], isNumeric: readonly boolean[], room: number): number[] {
  const widths = [...natural];
  while (totalWidth(widths) > room) {
    const texts = widths.map((width, index) => (isNumeric[index] ? 0 : width));
    const widest = Math.max(...texts);
    if (widths.length === 1) return [room];
    if (widest > MIN_TEXT) widths[texts.indexOf(widest)] = widest - 1;
    else widths.splice(0, widths.length, ...natural.slice(0, widths.length - 1));
  }
  return widths;
}

function renderRow(cells: readonly string[], widths: readonly number[], isNumeric: readonly boolean[]) {
  const texts = cells.map((cell, index) => wrapCell(cell, at(widths, index)));
  const height = Math.max(1, ...texts.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) => {
    const padded = texts.map((lines, index) => {
      const text = lines[line] ?? '';
      const pad = ' '.repeat(Math.max(0, at(widths, index) - displayWidth(text)));
      return isNumeric[index] ? pad + text : text + pad;
    });
    return padded.join(GAP).trimEnd();
  });
}

function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
}
