import { parseTree } from 'jsonc-parser';
import { lineOf, lineStarts } from './lines.js';

/** The lines of the code cells of a notebook, with where each is written. */
export function notebookLines(source: string): { text: string; start: number }[] {
  const cells =
    parseTree(source)?.children?.find((one) => one.children?.[0]?.value === 'cells')?.children?.[1]
      ?.children ?? [];
  return cells.flatMap((cell) => {
    const member = (name: string) =>
      cell.children?.find((one) => one.children?.[0]?.value === name)?.children?.[1];
    if (member('cell_type')?.value !== 'code') return [];
    const given = member('source');
    const lines = given?.type === 'array' ? (given.children ?? []) : given === undefined ? [] : [given];
    return lines.map(({ value, offset }, at) => {
      const text = String(value).replace(/^[%!]/, '#');
      return { text: at === lines.length - 1 && !text.endsWith('\n') ? `${text}\n` : text, start: offset };
    });
  });
}

/** The line of the file for a line of the code of a notebook. */
export function lineAt(
  source: string,
  lines: readonly { text: string; start: number }[],
  line: number,
): number {
  let seen = 0;
  for (const { text, start } of lines) {
    seen += text.split('\n').length - 1;
    if (line <= seen) return lineOf(lineStarts(source), start);
  }
  return line;
}
