import { type IdColumn, MODEL_REF, type ModelRef, parseModelRef } from '../config/apply-targets.js';
import { MAX_INT64, MIN_INT64 } from '../domain.js';
import { must } from '../text/at.js';
import { parseJsonPath } from '../text/json-path.js';
import type { ColumnIds } from './crosswalk.js';
import type { Value } from './db/database.js';
import { rewriteJson } from './json-ids.js';
import type { RemapIds } from './remap-ids.js';
import { isUnmapped, NO_ID_AT_PATH, type RowScope, unknown, type Verdict } from './verdict.js';

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
  const ref = modelOf(remap, id, scope);
  if (ref === 'not_ours') return NOT_OURS;
  const region = id.regionColumn === undefined ? (id.region ?? null) : scope.region;
  if (typeof value === 'string' && !isIdText(value)) return unknown(invalidFormOf(value));
  if (ref === null) return unknown('unknown_model');
  if (id.regionColumn !== undefined && region === null) return unknown('no_scope');
  const judgement = remap.judge(ref, region, BigInt(value));
  if (judgement.v4 === null) return { ...judgement, new: null };
  return mapped(typeof value === 'bigint' ? judgement.v4 : String(judgement.v4));
}

function modelOf(remap: RemapIds, id: IdColumn, scope: RowScope): ModelRef | 'not_ours' | null {
  if (id.model !== undefined) return parseModelRef(id.model);
  const { models } = id;
  if (scope.model === null) return null;
  if (models !== undefined) {
    const named = Object.hasOwn(models, scope.model) ? models[scope.model] : undefined;
    return named === undefined ? null : named === null ? 'not_ours' : parseModelRef(named);
  }
  if (!MODEL_REF.test(scope.model)) return null;
  const ref = parseModelRef(scope.model);
  return remap.hasModel(ref) ? ref : null;
}

const CANONICAL = /^(?:0|-?[1-9][0-9]{0,18})$/;

/** Whether a text is a 64-bit integer in canonical form: no `+`, no leading zeros, nothing around it. */
export function isIdText(text: string): boolean {
  if (!CANONICAL.test(text)) return false;
  if (text.length < 19) return true;
  const value = BigInt(text);
  return value >= MIN_INT64 && value <= MAX_INT64;
}

const FORMS: readonly (readonly [RegExp, string])[] = [
  [/^[+-]?\d+\.\d*$/, 'decimal'],
  [/^[+-]?(?:\d+\.?\d*|\.\d+)e[+-]?\d+$/i, 'exponent'],
  [/^-?0+\d+$/, 'leading_zeros'],
  [/^(?:\+\d+|-0)$/, 'signed'],
  [/^[+-]?0x[0-9a-f]+$/i, 'hex'],
  [/^-?\d{1,3}(?:[,.'_ \u00a0\u202f]\d{3})+$/, 'grouped_digits'],
  [/^-?\d{19,}$/, 'beyond_64_bits'],
];

/** How a text that is no id differs from one. */
function invalidFormOf(text: string): string {
  for (const [pattern, form] of FORMS) if (pattern.test(text)) return form;
  const inner = text.trim();
  return inner !== text && isIdText(inner) ? 'spaces_around' : 'not_a_number';
}
