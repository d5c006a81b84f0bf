/** Replaces `[start, end)` of a file's text; positions count UTF-16 units. */
export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Sorts edits by position and removes repeated ones; null if two different edits overlap or start at the same position. */
export function mergeEdits(edits: readonly TextEdit[]): TextEdit[] | null {
  const sorted = [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  const merged: TextEdit[] = [];
  for (const edit of sorted) {
    const last = merged.at(-1);
    if (last !== undefined && isSameEdit(last, edit)) continue;
    const isApart =
      last === undefined || last.end < edit.start || (last.end === edit.start && last.start < edit.start);
    if (!isApart) return null;
    merged.push(edit);
  }
  return merged;
}

function isSameEdit(a: TextEdit, b: TextEdit): boolean {
  return a.start === b.start && a.end === b.end && a.text === b.text;
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
