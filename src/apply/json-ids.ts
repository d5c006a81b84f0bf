import { type Node, parseTree } from 'jsonc-parser';
import { escapeUnseen } from '../text/escape.js';
import type { JsonPath } from '../text/json-path.js';
import { isUnmapped, type RowScope, unknown, type Verdict } from './verdict.js';

export interface JsonIds {
  readonly path: JsonPath;
  /** Where the document itself names model and region; null: the row does, or nobody. */
  readonly model: JsonPath | null;
  readonly region: JsonPath | null;
  readonly judge: (value: string, scope: RowScope) => Verdict;
}

export interface RewrittenJson {
  readonly text: string | null;
  readonly verdicts: readonly JsonVerdict[];
  /** The entries of the ids that select nothing. */
  readonly nothingAt: readonly number[];
}

/** What became of one value; `at`: the entry of the ids that selects it. */
export interface JsonVerdict extends Verdict {
  readonly at: number;
  readonly value: string;
}

interface Edit {
  readonly offset: number;
  readonly length: number;
  readonly text: string;
}

const OPTIONS = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };

/** Rewrites the ids in a JSON document; null if it is not JSON. */
export function rewriteJson(text: string, ids: readonly JsonIds[], row: RowScope): RewrittenJson | null {
  const root = parse(text);
  if (root === null) return null;
  const edits: Edit[] = [];
  const verdicts: JsonVerdict[] = [];
  for (const [at, { path, judge, model, region }] of ids.entries()) {
    const scope = {
      model: model === null ? row.model : onlyText(text, select(root, model)),
      region: region === null ? row.region : onlyText(text, select(root, region)),
    };
    for (const node of select(root, path)) {
      const value = readNode(text, node);
      const verdict = value === null ? unknown('not_a_value') : judge(value, scope);
      verdicts.push({ ...verdict, at, value: value ?? text.slice(node.offset, node.offset + 64) });
      if (verdict.reason !== null || verdict.new === null) continue;
      const digits = String(verdict.new);
      const { offset, length } = node;
      edits.push({ offset, length, text: node.type === 'string' ? JSON.stringify(digits) : digits });
    }
  }
  const isWhole = !verdicts.some(({ reason }) => isUnmapped(reason));
  const nothingAt = [...ids.keys()].filter((at) => verdicts.every((verdict) => verdict.at !== at));
  return { text: isWhole ? applyEdits(text, edits) : null, verdicts, nothingAt };
}

/** What a document has at its top, for people who look for the right path. */
export function describeDocument(text: string): string {
  const root = parse(text);
  const names = (root?.children ?? []).map(({ children = [] }) => cut(String(children[0]?.value)));
  if (root?.type === 'object' && names.length > 0)
    return `has the members ${names.slice(0, MOST_NAMES).join(', ')}${names.length > MOST_NAMES ? ', …' : ''}`;
  return root?.type === 'array' ? `is an array: ${cut(text)}` : `is ${cut(text)}`;
}

const MOST_NAMES = 8;
const MOST_CHARS = 40;

function cut(text: string): string {
  const chars = [...escapeUnseen(text)];
  return chars.length > MOST_CHARS ? `${chars.slice(0, MOST_CHARS).join('')}…` : chars.join('');
}

function parse(text: string): Node | null {
  try {
    // Stricter than the tree: it refuses raw control characters in strings.
    JSON.parse(text);
    return parseTree(text, [], OPTIONS) ?? null;
  } catch {
    return null;
  }
}

function select(root: Node, path: JsonPath): Node[] {
  let nodes = [root];
  for (const step of path) {
    nodes = nodes.flatMap((node): readonly Node[] => {
      const children = node.children ?? [];
      if (node.type === 'array')
        return typeof step === 'string' ? [] : step === null ? children : children.slice(step, step + 1);
      if (node.type !== 'object' || typeof step === 'number') return [];
      return children.flatMap(({ children: pair = [] }) =>
        step === null || pair[0]?.value === step ? pair.slice(1) : [],
      );
    });
  }
  return nodes;
}

/** Digits as they stand, for numbers beyond 2^53; '' for null; null for true, false, arrays and objects. */
function readNode(text: string, { type, value, offset, length }: Node): string | null {
  if (type === 'number') return text.slice(offset, offset + length);
  if (type === 'null') return '';
  return type === 'string' ? String(value) : null;
}

function onlyText(text: string, nodes: readonly Node[]): string | null {
  const [node] = nodes;
  const value = node === undefined || nodes.length > 1 ? null : readNode(text, node);
  return value === '' ? null : value;
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  let from = 0;
  let result = '';
  for (const edit of [...edits].sort((a, b) => a.offset - b.offset)) {
    result += text.slice(from, edit.offset) + edit.text;
    from = edit.offset + edit.length;
  }
  return result + text.slice(from);
}
