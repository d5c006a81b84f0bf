import { applyEdits, type TextEdit } from '../../text/text-edits.js';
import { walk } from '../access.js';
import { MARK } from '../rules/rules.js';
import type { SourceFile } from '../source-file.js';
import { Lines } from '../source-file.js';
import type { SyntaxNode, SyntaxParser } from '../syntax.js';
import type { Todo } from './fix-report.js';

/** Puts a comment above each use, or on another of `linesAround` if the parser would not read it as a comment there. */
export function markCode(file: SourceFile, todos: readonly Todo[], parser: SyntaxParser): MarkedText {
  const unmarked: Unmarked[] = [];
  const marked: number[] = [];
  let [text, nodes] = [file.source, file.nodes];
  // From the last to the first, so that the lines above stay where they are.
  for (const todo of todos.toReversed()) {
    const done = markUse({ ...file, source: text, nodes }, todo, parser);
    if (done === 'nowhere') unmarked.push({ line: todo.line, why: 'a comment is not possible there' });
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
  const lines = new Lines(source);
  const errors = errorsIn(nodes);
  for (const line of linesAround(nodes, lines, todo.line)) {
    const edit = commentAbove(lines, line, language.comment, todo);
    if (edit === null) return 'marked';
    const text = applyEdits(source, [edit]);
    const root = parser.parse(language, text);
    const parsed = typeof root === 'string' ? [] : walk(root);
    const at = edit.start + (/^[ \t]*/.exec(edit.text)?.[0].length ?? 0);
    const isComment = parsed.some(({ kind, start }) => kind === 'comment' && start === at);
    if (isComment && errorsIn(parsed) <= errors) return { text, nodes: parsed, line: lines.at(edit.start) };
  }
  return 'nowhere';
}

/** The number of syntax errors. */
export function errorsIn(nodes: readonly SyntaxNode[]): number {
  return nodes.filter(({ type }) => type === 'ERROR').length;
}

/** How many lines above a use are tried after the lines on which the code around it begins. */
const MAX_ABOVE = 20;

/**
 * The lines above which a comment can be put: those on which the code around a use begins, then the lines above the use,
 * the nearest first in both.
 */
function linesAround(nodes: readonly SyntaxNode[], lines: Lines, line: number): number[] {
  const first = lines.indentEnd(line);
  const found = new Set<number>();
  const innermost = nodes.filter((node) => node.start <= first && node.end > first).at(-1);
  for (let at: SyntaxNode | null = innermost ?? null; at !== null && at.parent !== null; at = at.parent) {
    const own = lines.at(at.start);
    if (lines.source.slice(lines.startOf(own), at.start).trim() === '') found.add(own);
  }
  // Code around the text of a here-document begins elsewhere: the comment goes above the text.
  for (let above = line - 1; above >= Math.max(1, line - MAX_ABOVE); above -= 1) found.add(above);
  return [...found];
}

/** How comments begin in files that are read as text, by the end of the path. */
const TEXT_COMMENTS: readonly (readonly [ends: RegExp, comment: string])[] = [
  [/\.(sql|ddl|psql)$/, '--'],
  [/\.(prisma|gradle|kts)$|(^|\/)(go\.mod|Jenkinsfile)$/, '//'],
  [
    /\.(ya?ml|sh|bash|zsh|ksh|fish|ps1|env|http|rest|toml|conf|properties|tf|tfvars|hcl|graphql|gql|graphqls)$|(^|\/)(Dockerfile[^/]*|Makefile|GNUmakefile|Procfile|Vagrantfile|Gemfile|Pipfile|Rakefile|\.env[^/]*|requirements[^/]*\.txt)$/,
    '#',
  ],
];

/** Puts a comment above each use in a file that is read as text, if its format has comments. */
export function markText(path: string, source: string, todos: readonly Todo[]): MarkedText {
  const edits: TextEdit[] = [];
  const unmarked: Unmarked[] = [];
  for (const todo of todos) {
    const planned = planComment(path, source, todo);
    if (planned !== null && 'why' in planned) unmarked.push({ line: todo.line, why: planned.why });
    else if (planned !== null && !edits.some(({ start }) => start === planned.start)) edits.push(planned);
  }
  const lines = new Lines(source);
  return {
    text: applyEdits(source, edits),
    marked: edits.map(({ start }) => lines.at(start)),
    unmarked,
  };
}

function planComment(path: string, source: string, todo: Todo): TextEdit | { readonly why: string } | null {
  const comment = TEXT_COMMENTS.find(([ends]) => ends.test(path))?.[1];
  if (comment === undefined) return { why: 'this kind of file has no comments' };
  const lines = new Lines(source);
  const textOf = (at: number) => lines.textOf(at).trimEnd();
  let { line } = todo;
  while (line > 1 && textOf(line - 1).endsWith('\\')) line -= 1;
  if (isInsideText(path, source.slice(0, lines.startOf(line)), textOf(line)))
    return { why: 'a comment there would be part of a text' };
  return commentAbove(lines, line, comment, todo);
}

/** Whether a line is inside a quoted text, a here-document or a block of another format. */
function isInsideText(path: string, before: string, line: string): boolean {
  if (/\.(http|rest)$/.test(path)) return !/^\s*(@|GET|HEAD|POST|PUT|PATCH|DELETE|https?:)/.test(line);
  const heredocs = [...before.matchAll(/<<-?~?\s*(['"]?)([A-Za-z_]\w*)\1/g)];
  if (
    heredocs.some(({ 2: end = '', index }) => !new RegExp(`^\\s*${end}\\s*$`, 'm').test(before.slice(index)))
  )
    return true;
  if (/\.(ya?ml)$/.test(path)) return isInsideBlock(before.split('\n'), line);
  const isOdd = (mark: string) => before.split(mark).length % 2 === 0;
  return isOdd('"""') || (/\.(sql|ddl|psql|sh|bash|zsh|ksh|env)$/.test(path) && isOdd("'"));
}

/** Whether a line of YAML is inside a block of text that is no shell script. */
function isInsideBlock(before: readonly string[], line: string): boolean {
  let indent = /^ */.exec(line)?.[0].length ?? 0;
  for (const above of before.toReversed()) {
    const own = /^ */.exec(above)?.[0].length ?? 0;
    if (above.trim() === '' || own >= indent) continue;
    indent = own;
    if (/[|>][-+\d]*\s*$/.test(above))
      return !/(^|[\s-])(run|script|command|shell|cmd|\w*_script)\s*:\s*[|>]/.test(above);
  }
  return false;
}

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

/** The edit that puts a comment above a line; null if there is one already. */
function commentAbove(lines: Lines, line: number, comment: string, todo: Todo): TextEdit | null {
  const { source } = lines;
  const above = (at: number) => (at > 1 ? lines.textOf(at - 1) : '');
  let at = line;
  while (BEFORE_LINE.test(above(at)) && /^\s*(\/\/|#|\/\*|--)/.test(above(at))) at -= 1;
  if (isMark(above(line)) || isMark(above(at))) return null;
  const start = lines.startOf(at);
  const indent = source.slice(lines.startOf(line), lines.indentEnd(line));
  const end = /\r\n/.test(source) ? '\r\n' : '\n';
  return { start, end: start, text: `${indent}${comment} ${MARK} ${todo.text}${end}` };
}

function isMark(line: string): boolean {
  return /^\s*(\/\/|#|--)\s*svc-migrate:\s/.test(line);
}
