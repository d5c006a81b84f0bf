import { walk } from '../access.js';
import { indentEnd, lineOf, lineStarts } from '../lines.js';
import type { SourceFile } from '../source-file.js';
import type { SyntaxNode, SyntaxParser } from '../syntax.js';
import { commentAbove, type MarkedText, type Unmarked } from './comment-above.js';
import type { Todo } from './list-todos.js';
import { applyEdits } from './text-edits.js';

/** Puts a comment above each use, or above the code around it where the parser would not read it as a comment. */
export function markCode(file: SourceFile, todos: readonly Todo[], parser: SyntaxParser): MarkedText {
  const unmarked: Unmarked[] = [];
  const marked: number[] = [];
  let [text, nodes] = [file.source, file.nodes];
  // From the last to the first, so that the lines above stay where they are.
  for (const todo of todos.toReversed()) {
    const done = markUse({ ...file, source: text, nodes }, todo, parser);
    if (done === 'nowhere') unmarked.push({ line: todo.line, why: 'no comment can stand there' });
    else if (done !== 'marked') {
      [text, nodes] = [done.text, done.nodes];
      marked.push(done.line);
    }
  }
  return { text, marked, unmarked: unmarked.reverse() };
}

interface Marked {
  readonly text: string;
  readonly nodes: readonly SyntaxNode[];
  readonly line: number;
}

/** `marked`: there is a comment already. */
function markUse(
  { language, source, nodes }: Pick<SourceFile, 'language' | 'source' | 'nodes'>,
  todo: Todo,
  parser: SyntaxParser,
): Marked | 'marked' | 'nowhere' {
  const starts = lineStarts(source);
  const errors = errorsIn(nodes);
  for (const line of linesAround(nodes, source, starts, todo.line)) {
    const edit = commentAbove(source, starts, { line, comment: language.comment, todo });
    if (edit === null) return 'marked';
    const text = applyEdits(source, [edit]);
    const root = parser.parse(language, text);
    const parsed = typeof root === 'string' ? [] : walk(root);
    const at = edit.start + (/^[ \t]*/.exec(edit.text)?.[0].length ?? 0);
    const isComment = parsed.some(({ kind, start }) => kind === 'comment' && start === at);
    if (isComment && errorsIn(parsed) <= errors)
      return { text, nodes: parsed, line: lineOf(starts, edit.start) };
  }
  return 'nowhere';
}

/** The number of syntax errors. */
export function errorsIn(nodes: readonly SyntaxNode[]): number {
  return nodes.filter(({ type }) => type === 'ERROR').length;
}

/** How many lines above a use are tried where its code has no line of its own. */
const MAX_ABOVE = 20;

/** The lines on which the code around a use begins, the nearest first. */
function linesAround(
  nodes: readonly SyntaxNode[],
  source: string,
  starts: readonly number[],
  line: number,
): number[] {
  const first = indentEnd(source, starts, line);
  const lines = new Set<number>();
  const innermost = nodes.filter((node) => node.start <= first && node.end > first).at(-1);
  for (let at: SyntaxNode | null = innermost ?? null; at !== null && at.parent !== null; at = at.parent) {
    const own = lineOf(starts, at.start);
    if (source.slice(starts[own - 1], at.start).trim() === '') lines.add(own);
  }
  // A here-document stands apart from the code that it is a part of.
  for (let above = line - 1; above >= Math.max(1, line - MAX_ABOVE); above -= 1) lines.add(above);
  return [...lines];
}
