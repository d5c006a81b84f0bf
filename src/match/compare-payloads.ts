import { parseIsoDate } from '../api/iso-date.js';
import { NOT_COMPARED } from '../api/member-digests.js';

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A field that both records have, with different values. */
export interface DriftedField {
  readonly field: string;
  readonly v3: Json;
  readonly v4: Json;
}

export interface DriftRules {
  /** Fields with this prefix belong to the service, at any depth. */
  readonly fieldPrefix: string;
  /** Top-level fields that are not compared: the ignored ones, and those whose items have their own rows in the remap. */
  readonly ignored: ReadonlySet<string>;
}

/** Values nested deeper are reported as different without comparing them, because the comparison is recursive. */
const MAX_COMPARED_DEPTH = 100;
const TOO_DEEP = '(nested too deeply to be compared)';

/**
 * Shared fields whose values differ, by name. Values are compared by meaning: `"10.50"` equals `10.5`, times are
 * compared at the coarser of their precisions, and lists of scalars regardless of order. Numbers beyond 2^53 are compared
 * after rounding.
 */
export function findDrift(v3: unknown, v4: unknown, rules: DriftRules): DriftedField[] {
  if (!isObject(v3) || !isObject(v4)) return [];
  return sharedNames(v3, v4, rules)
    .filter((name) => isCompared(name, rules))
    .map((field) => ({ field, v3: shallow(v3[field] ?? null), v4: shallow(v4[field] ?? null) }))
    .filter((pair) => pair.v3 === TOO_DEEP || pair.v4 === TOO_DEEP || !isSame(pair.v3, pair.v4, rules));
}

/** The value, or `TOO_DEEP` in its place. */
function shallow(value: Json): Json {
  if (typeof value !== 'object') return value;
  let level: readonly Json[] = [value];
  for (let depth = 0; depth <= MAX_COMPARED_DEPTH; depth += 1) {
    const nested = level.filter((one) => typeof one === 'object' && one !== null);
    if (nested.length === 0) return value;
    level = nested.flatMap((one) => Object.values(one));
  }
  return TOO_DEEP;
}

/** Whether a shared field is compared. */
export function isCompared(name: string, { fieldPrefix, ignored }: DriftRules): boolean {
  return !name.startsWith(fieldPrefix) && !ignored.has(name) && !NOT_COMPARED.includes(name);
}

type JsonObject = { readonly [name: string]: Json };

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sharedNames(a: JsonObject, b: JsonObject, { fieldPrefix }: DriftRules): string[] {
  return Object.keys(a)
    .filter((name) => Object.hasOwn(b, name) && !name.startsWith(fieldPrefix))
    .sort();
}

function isSame(a: Json, b: Json, rules: DriftRules): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return isSameList(a, b, rules);
  if (isObject(a) && isObject(b)) {
    return sharedNames(a, b, rules).every((name) => isSame(a[name] ?? null, b[name] ?? null, rules));
  }
  if (!isText(a) || !isText(b)) return false;
  return isSameNumber(a, b) || (typeof a === 'string' && typeof b === 'string' && isSameInstant(a, b));
}

function isText(value: Json): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function isSameList(a: readonly Json[], b: readonly Json[], rules: DriftRules): boolean {
  if (a.length !== b.length) return false;
  if ([...a, ...b].every((item) => item === null || typeof item !== 'object')) {
    const sorted = (items: readonly Json[]): string[] => items.map((item) => normalize(item)).sort();
    const others = sorted(b);
    return sorted(a).every((item, at) => item === others[at]);
  }
  return a.every((item, at) => isSame(item, b[at] ?? null, rules));
}

/** Numbers by value, everything else by type and text. */
function normalize(item: Json): string {
  return (typeof item === 'number' ? decimalOf(String(item)) : null) ?? `${typeof item} ${String(item)}`;
}

/** Compares decimal values. Two strings are numbers only if one has a decimal point: `"007"` is not `"7"`. */
function isSameNumber(a: string | number, b: string | number): boolean {
  const bothTexts = typeof a === 'string' && typeof b === 'string';
  if (bothTexts && !a.includes('.') && !b.includes('.')) return false;
  const decimal = decimalOf(String(a));
  return decimal !== null && decimal === decimalOf(String(b));
}

/** Canonical form of a decimal: digits without zeros at either end, then the exponent; null if it is not a decimal. */
function decimalOf(text: string): string | null {
  const match = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (match === null) return null;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const trimmed = digits.replace(/0+$/, '');
  if (trimmed === '') return '0';
  return `${sign}${trimmed}e${Number(exponent) - fraction.length + digits.length - trimmed.length}`;
}

/** Compares times at the coarser of their precisions: `…T10:00:00Z` equals `…T10:00:00.250Z`. */
function isSameInstant(a: string, b: string): boolean {
  const [first, second] = [instantOf(a), instantOf(b)];
  if (Number.isNaN(first) || Number.isNaN(second)) return false;
  const hasFraction = (text: string): boolean => /:\d\d\.\d/.test(text);
  const unitMs = hasFraction(a) && hasFraction(b) ? 1 : 1000;
  return Math.floor(first / unitMs) === Math.floor(second / unitMs);
}

function instantOf(text: string): number {
  const bytes = Buffer.from(text, 'utf8');
  return parseIsoDate(bytes, 0, bytes.length);
}
