/** The rows of a table that is written as text: cells stand between bars, and a line that begins with two more blanks goes on with its row. */
export function rowsOf(text: string): string[][] {
  const [, indent = ''] = /^\n?( *)/.exec(text) ?? [];
  const rows = text.trim().replaceAll(`\n${indent}  `, ' ').split('\n');
  return rows.map((row) => row.split(' | ').map((cell) => cell.trim()));
}
