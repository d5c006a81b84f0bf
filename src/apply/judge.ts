import { type Node, parseTree } from 'jsonc-parser';
import { columnLabel, type IdColumn, type JsonPath, parseJsonPath } from '../config/apply-targets.js';
import { MAX_INT64, MIN_INT64 } from '../domain.js';
import { at, must } from '../text/at.js';
import { escapeUnseen } from '../text/escape.js';
import type { ColumnIds } from './crosswalk.js';
import type { Obstacle, Value } from './db/database.js';
import type { RemapIds } from './remap-ids.js';
import { isUnmapped, NO_ID_AT_PATH, type RowScope, unknown, type Verdict } from './verdict.js';

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
  const root = parseDocument(text);
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

/** Why nothing is written where a path selects nothing in any document: it is wrong, and every V3 id would stay. */
export function describeEmptyPaths(
  place: string,
  ids: readonly IdColumn[],
  paths: ReadonlyMap<number, string>,
): Obstacle[] {
  return [...paths].map(([index, document]) => ({
    stops: 'write',
    code: NO_ID_AT_PATH,
    text: `No document of ${place} has an id at ${columnLabel(at(ids, index))}: one is ${cut(document)}.`,
  }));
}

const MOST_CHARS = 120;

function cut(text: string): string {
  const chars = [...escapeUnseen(text)];
  return chars.length > MOST_CHARS ? `${chars.slice(0, MOST_CHARS).join('')}…` : chars.join('');
}

/** Null if a text is not JSON. */
export function parseDocument(text: string): Node | null {
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
export function readNode(text: string, { type, value, offset, length }: Node): string | null {
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

export type Judge = (value: Value, scope: RowScope) => Verdict;

export function buildJudge(remap: RemapIds, ids: ColumnIds): Judge {
  const [first] = ids;
  return first.path === undefined
    ? (value, scope) => judgeValue(remap, first, value, scope)
    : buildJsonJudge(remap, ids);
}

function buildJsonJudge(remap: RemapIds, ids: ColumnIds): Judge {
  const parts = ids.map((id) => ({
    path: must(parseJsonPath(must(id.path)), 'JSON path'),
    model: null,
    region: null,
    judge: (value: string, scope: RowScope) => judgeValue(remap, id, value, scope),
  }));
  return (value, scope) => {
    if (value === null || value === '') return EMPTY;
    if (ids.every((id) => modelOf(remap, id, scope) === 'not_ours')) return NOT_OURS;
    const json = rewriteJson(String(value), parts, scope);
    if (json === null) return unknown('not_json');
    const unmapped = json.verdicts.filter(({ reason }) => isUnmapped(reason));
    const worst = unmapped.find(({ isAccepted }) => !isAccepted) ?? unmapped[0];
    const { nothingAt } = json;
    if (worst !== undefined) return { ...worst, new: null, nothingAt };
    const [first] = json.verdicts;
    if (first === undefined) return { new: null, reason: NO_ID_AT_PATH, isAccepted: true, nothingAt };
    const hasId = json.verdicts.some(({ reason }) => reason === null);
    return hasId ? { ...mapped(json.text), nothingAt } : { ...EMPTY, reason: first.reason, nothingAt };
  };
}

const EMPTY: Verdict = { new: null, reason: 'empty', isAccepted: true };
const NOT_OURS: Verdict = { new: null, reason: 'not_ours', isAccepted: true };

function mapped(value: Value): Verdict {
  return { new: value, reason: null, isAccepted: true };
}

/** Judges one value: an integer, or a text that may be one. The new value has the same type. */
export function judgeValue(remap: RemapIds, id: IdColumn, value: Value, scope: RowScope): Verdict {
  if (value === null || value === '') return EMPTY;
  const model = modelOf(remap, id, scope);
  if (model === 'not_ours') return NOT_OURS;
  const region = id.regionColumn === undefined ? (id.region ?? null) : scope.region;
  if (typeof value === 'string' && !isIdText(value)) return unknown('not_a_number');
  if (model === null) return unknown('unknown_model');
  if (id.regionColumn !== undefined && region === null) return unknown('no_scope');
  const judgement = remap.judge(model, region, BigInt(value));
  if (judgement.v4 === null) return { ...judgement, new: null };
  return mapped(typeof value === 'bigint' ? judgement.v4 : String(judgement.v4));
}

/** Null: not known. */
function modelOf(remap: RemapIds, { model, models }: IdColumn, scope: RowScope): string | null {
  if (model !== undefined) return model;
  if (scope.model === null) return null;
  if (models === undefined) return remap.models.includes(scope.model) ? scope.model : null;
  return Object.hasOwn(models, scope.model) ? (models[scope.model] ?? 'not_ours') : null;
}

const CANONICAL = /^(?:0|-?[1-9][0-9]{0,18})$/;

/** Whether a text is a 64-bit integer in canonical form: no `+`, no leading zeros, nothing around it. */
export function isIdText(text: string): boolean {
  if (!CANONICAL.test(text)) return false;
  if (text.length < 19) return true;
  const value = BigInt(text);
  return value >= MIN_INT64 && value <= MAX_INT64;
}
