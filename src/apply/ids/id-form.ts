import { MAX_INT64, MIN_INT64 } from '../../domain.js';

/** The form of a stored value that is not a plain id. Plans list such values; they are never converted into ids. */
export type InvalidForm =
  | 'decimal'
  | 'exponent'
  | 'leading_zeros'
  | 'spaces_around'
  | 'hex'
  | 'signed'
  | 'grouped_digits'
  | 'beyond_64_bits'
  | 'escaped'
  | 'not_utf8'
  | 'not_json'
  | 'not_a_number'
  | 'not_a_value';

const CANONICAL = /^(?:0|-?[1-9][0-9]{0,18})$/;

const FORMS: readonly (readonly [RegExp, InvalidForm])[] = [
  [/^[+-]?\d+\.\d*$/, 'decimal'],
  [/^[+-]?(?:\d+\.?\d*|\.\d+)e[+-]?\d+$/i, 'exponent'],
  [/^-?0+\d+$/, 'leading_zeros'],
  [/^(?:\+\d+|-0)$/, 'signed'],
  [/^[+-]?0x[0-9a-f]+$/i, 'hex'],
  [/^-?\d{1,3}(?:[,.'_ \u00a0\u202f]\d{3})+$/, 'grouped_digits'],
  [/^-?\d{19,}$/, 'beyond_64_bits'],
];

/** Whether a text is a 64-bit integer in canonical form: no `+`, no leading zeros, nothing around it. */
export function isIdText(text: string): boolean {
  if (!CANONICAL.test(text)) return false;
  if (text.length < 19) return true;
  const value = BigInt(text);
  return value >= MIN_INT64 && value <= MAX_INT64;
}

/** The form of a `text` for which `isIdText` is false. */
export function invalidFormOf(text: string): InvalidForm {
  for (const [pattern, form] of FORMS) if (pattern.test(text)) return form;
  const inner = text.trim();
  return inner !== text && isIdText(inner) ? 'spaces_around' : 'not_a_number';
}

/**
 * The category of a value: `mapped`, `empty`, `not_ours` (the target maps the row's model to null),
 * `unknown/` with one of `UnknownReason`, `NO_PLATFORM_ID`, or the status and reason of an id without a twin, such as
 * `unmatched/unexplained`.
 */
export type Category = string;
