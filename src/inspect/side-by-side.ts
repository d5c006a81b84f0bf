import type { RecordMembers } from '../api/pages.js';
import { escapeUnseen } from '../text/escape.js';
import { renderTable } from '../text/table.js';
import { cutText } from '../text/wrap.js';

export interface FieldLine {
  readonly name: string;
  readonly v3: string | null;
  readonly v4: string | null;
  /** `service`: the service's own field, which differs between generations; `alone`: there is no other record. */
  readonly verdict: keyof typeof MARKS;
}

const MARKS = { same: '=', differs: 'differs', one_side: 'only one', service: '', alone: '' } as const;

/**
 * The fields of two records beside each other: the service's, then the keys, then the others. Null and absent are equal.
 * Lists and objects are compared by their length only, because line items have ids of their own.
 */
export function buildFieldLines(
  v3: RecordMembers | null,
  v4: RecordMembers | null,
  fieldPrefix: string,
): FieldLine[] {
  const rank = (name: string): number => {
    if (name.startsWith(fieldPrefix)) return 0;
    return name === 'platform_id' || name === 'platform_unique_id' ? 1 : 2;
  };
  const names = [...new Set([...Object.keys(v3 ?? {}), ...Object.keys(v4 ?? {})])];
  return names
    .sort((a, b) => rank(a) - rank(b))
    .map((name) => {
      const [left, right] = [showValue(v3?.[name]), showValue(v4?.[name])];
      const compared = v3 === null || v4 === null ? 'alone' : compareValues(left, right);
      return { name, v3: left, v4: right, verdict: name.startsWith(fieldPrefix) ? 'service' : compared };
    });
}

/** One time can be written in several ways; so can a number. */
function compareValues(left: string | null, right: string | null): FieldLine['verdict'] {
  if (left === right) return 'same';
  if (left === null || right === null) return 'one_side';
  const isTime = /^\d{4}-/.test(left);
  const isNumber = /^-?\d+(\.\d+)?$/.test(left) && Math.abs(Number(left)) <= Number.MAX_SAFE_INTEGER;
  const isSame =
    (isTime && Date.parse(left) === Date.parse(right)) || (isNumber && Number(left) === Number(right));
  return isSame ? 'same' : 'differs';
}

function showValue(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return `[${value.length}]`;
  if (typeof value === 'object') return `{${Object.keys(value).length}}`;
  return String(value);
}

const MAX_CELL = 60;

export function showCell(text: string | null): string {
  return text === null ? '–' : escapeUnseen(cutText(text, MAX_CELL));
}

export function renderFieldLines(
  lines: readonly FieldLine[],
  titles: readonly string[],
  width: number,
): string[] {
  return renderTable(
    ['', ...titles, ''].map((title) => ({ title })),
    lines.map(({ name, v3, v4, verdict }) => [...[name, v3, v4].map(showCell), MARKS[verdict]]),
    width,
  );
}
