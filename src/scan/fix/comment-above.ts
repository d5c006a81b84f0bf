import type { Todo } from './list-todos.js';
import type { TextEdit } from './text-edits.js';

/** Where a comment could not be put. */
export interface Unmarked {
  readonly line: number;
  readonly why: string;
}

/** A file with the comments that were added. */
export interface MarkedText {
  readonly text: string;
  /** The lines, as they were counted before, that comments stand above now. */
  readonly marked: readonly number[];
  readonly unmarked: readonly Unmarked[];
}

const MARK = 'svc-migrate:';
/** Comments that are about the line after them, so that nothing may come between. */
const BEFORE_LINE =
  /next-line|@ts-ignore|@ts-expect-error|svc-migrate-ignore|nolint|type:\s*ignore|noqa|phpcs:|rubocop:/;

interface CommentPlace {
  readonly line: number;
  readonly comment: string;
  readonly todo: Todo;
}

/** A comment above a line; null where there is one already. */
export function commentAbove(
  source: string,
  starts: readonly number[],
  { line, comment, todo }: CommentPlace,
): TextEdit | null {
  const textOf = (at: number) => source.slice(starts[at - 1], (starts[at] ?? source.length + 1) - 1);
  let at = line;
  while (at > 1 && BEFORE_LINE.test(textOf(at - 1)) && /^\s*(\/\/|#|\/\*|--)/.test(textOf(at - 1))) at -= 1;
  const isMarked = [line, at].some((one) => one > 1 && isMark(textOf(one - 1)));
  if (isMarked) return null;
  const start = starts[at - 1] ?? 0;
  const indent = /^[ \t]*/.exec(textOf(line))?.[0] ?? '';
  const end = /\r\n/.test(source) ? '\r\n' : '\n';
  return { start, end: start, text: `${indent}${comment} ${MARK} ${todo.text}${end}` };
}

function isMark(line: string): boolean {
  return /^\s*(\/\/|#|--)\s*svc-migrate:\s/.test(line);
}

export function lineStarts(text: string): number[] {
  return [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
}

export function lineOf(starts: readonly number[], position: number): number {
  return starts.findLastIndex((start) => start <= position) + 1;
}
