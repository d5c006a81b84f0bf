import { indentEnd, lineText } from '../lines.js';
import { MARK } from '../rules/rules.js';
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
  /** Lines that got a comment above them, by their numbers in the old text. */
  readonly marked: readonly number[];
  readonly unmarked: readonly Unmarked[];
}

/** Comments that apply to the line after them: nothing may be put between. */
const BEFORE_LINE =
  /next-line|@ts-ignore|@ts-expect-error|svc-migrate-ignore|nolint|type:\s*ignore|noqa|phpcs:|rubocop:/;

interface CommentPlace {
  readonly line: number;
  readonly comment: string;
  readonly todo: Todo;
}

/** The edit that puts a comment above a line; null if there is one already. */
export function commentAbove(
  source: string,
  starts: readonly number[],
  { line, comment, todo }: CommentPlace,
): TextEdit | null {
  const textOf = (at: number) => lineText(source, starts, at);
  let at = line;
  while (at > 1 && BEFORE_LINE.test(textOf(at - 1)) && /^\s*(\/\/|#|\/\*|--)/.test(textOf(at - 1))) at -= 1;
  const isMarked = [line, at].some((one) => one > 1 && isMark(textOf(one - 1)));
  if (isMarked) return null;
  const start = starts[at - 1] ?? 0;
  const indent = source.slice(starts[line - 1], indentEnd(source, starts, line));
  const end = /\r\n/.test(source) ? '\r\n' : '\n';
  return { start, end: start, text: `${indent}${comment} ${MARK} ${todo.text}${end}` };
}

function isMark(line: string): boolean {
  return /^\s*(\/\/|#|--)\s*svc-migrate:\s/.test(line);
}
