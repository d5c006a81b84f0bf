import { lineOf, lineStarts, lineText } from '../lines.js';
import { commentAbove, type MarkedText, type Unmarked } from './comment-above.js';
import type { Todo } from './list-todos.js';
import { applyEdits, type TextEdit } from './text-edits.js';

/** Comments of files that are read as text, by the end of their names. */
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
  const starts = lineStarts(source);
  return {
    text: applyEdits(source, edits),
    marked: edits.map(({ start }) => lineOf(starts, start)),
    unmarked,
  };
}

function planComment(path: string, source: string, todo: Todo): TextEdit | { readonly why: string } | null {
  const comment = TEXT_COMMENTS.find(([ends]) => ends.test(path))?.[1];
  if (comment === undefined) return { why: 'this kind of file has no comments' };
  const starts = lineStarts(source);
  const textOf = (at: number) => lineText(source, starts, at).trimEnd();
  let { line } = todo;
  while (line > 1 && textOf(line - 1).endsWith('\\')) line -= 1;
  if (isInsideText(path, source.slice(0, starts[line - 1]), textOf(line)))
    return { why: 'a comment there would be part of a text' };
  return commentAbove(source, starts, { line, comment, todo });
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
