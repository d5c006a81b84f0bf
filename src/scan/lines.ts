/** Where each line of a text starts. Lines are counted from 1, positions in UTF-16 units from 0. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** The line that a position is on. */
export function lineOf(starts: readonly number[], position: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}

/** A line without its line feed. */
export function lineText(source: string, starts: readonly number[], line: number): string {
  return source.slice(starts[line - 1], (starts[line] ?? source.length + 1) - 1);
}

/** Where the text of a line starts, after its indentation. */
export function indentEnd(source: string, starts: readonly number[], line: number): number {
  const indent = /^[ \t]*/.exec(lineText(source, starts, line))?.[0] ?? '';
  return (starts[line - 1] ?? 0) + indent.length;
}
