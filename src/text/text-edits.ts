/** Replaces `[start, end)` of a file's text; positions count UTF-16 units. */
export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies edits, which must be sorted and must not overlap, to a text. */
export function applyEdits(source: string, edits: readonly TextEdit[]): string {
  let from = 0;
  let result = '';
  for (const { start, end, text } of edits) {
    result += source.slice(from, start) + text;
    from = end;
  }
  return result + source.slice(from);
}
