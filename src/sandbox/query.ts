import { type Filter, parseFilter } from './filters.js';
import { mixText } from './random.js';
import { badParameter } from './request-error.js';
import type { ModelShape } from './shapes/shape.js';

const DEFAULT_LIMIT = 100;
/** Larger limits are served as this one. */
const LARGEST_LIMIT = 1000;

const SELECTABLE = ['raw_data', 'data_hash'];

interface Sort {
  readonly field: 'svc_created_at' | 'svc_updated_at';
  readonly descending: boolean;
}

/** What a list request asks for. */
export interface Query {
  readonly limit: number;
  readonly next: string | null;
  readonly prev: string | null;
  readonly filters: readonly Filter[];
  readonly sort: Sort;
  readonly includeDeleted: boolean;
  readonly returnCount: boolean;
  readonly expand: ReadonlySet<string>;
  readonly select: ReadonlySet<string>;
  /** Of everything that decides which records come in which order. */
  readonly fingerprint: number;
}

/**
 * Reads the parameters of a list route.
 *
 * @throws RequestError 400 for an unknown parameter or value
 */
export function parseQuery(route: string, shape: ModelShape, parameters: URLSearchParams): Query {
  const plain = new Map<string, string>();
  const filters: Filter[] = [];
  let sort: Sort = { field: 'svc_created_at', descending: false };
  for (const [name, value] of parameters) {
    const bracketed = /^(\w+)\[(\w+)\]$/.exec(name);
    if (bracketed?.[1] === 'sort') sort = parseSort(bracketed[2] ?? '', value);
    else if (bracketed !== null) {
      filters.push(parseFilter(shape, bracketed[1] ?? '', bracketed[2] ?? '', value));
    } else if (PLAIN.includes(name)) plain.set(name, value);
    else throw badParameter(name, 'unknown parameter');
  }
  const includeDeleted = parseFlag('include_deleted_records', plain);
  const returnCount = parseFlag('return_count', plain);
  const next = textOrNull(plain.get('next'));
  const prev = textOrNull(plain.get('prev'));
  if (next !== null && prev !== null) throw badParameter('next', 'not together with prev');
  return {
    limit: parseLimit(plain.get('limit')),
    next,
    prev,
    filters,
    sort,
    includeDeleted,
    returnCount,
    expand: parseWords('expand', plain, shape.expand),
    select: parseWords('select', plain, SELECTABLE),
    fingerprint: fingerprintOf(route, filters, sort, includeDeleted),
  };
}

const PLAIN = ['limit', 'next', 'prev', 'select', 'expand', 'include_deleted_records', 'return_count'];

function fingerprintOf(
  route: string,
  filters: readonly Filter[],
  sort: Sort,
  includeDeleted: boolean,
): number {
  const parts = filters.map(({ field, operator, operands }) => `${field}[${operator}]=${operands.join()}`);
  return mixText(0xf1, [route, ...parts.sort(), sort.field, sort.descending, includeDeleted].join('\n'));
}

function parseSort(field: string, value: string): Sort {
  if (field !== 'svc_created_at' && field !== 'svc_updated_at') throw badParameter('sort', 'unknown field');
  if (value !== 'ASC' && value !== 'DESC') throw badParameter(`sort[${field}]`, 'neither ASC nor DESC');
  return { field, descending: value === 'DESC' };
}

/** "integer or null" and "string or null": null is written as nothing or as `null`. */
function textOrNull(value: string | undefined): string | null {
  return value === undefined || value === '' || value === 'null' ? null : value;
}

/** Limits above the largest are served as the largest. */
export function parseLimit(value: string | undefined): number {
  const text = textOrNull(value);
  if (text === null) return DEFAULT_LIMIT;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw badParameter('limit', 'not a positive integer');
  return Math.min(Number(text), LARGEST_LIMIT);
}

function parseFlag(name: string, plain: ReadonlyMap<string, string>): boolean {
  const value = plain.get(name) ?? 'false';
  if (value !== 'true' && value !== 'false') throw badParameter(name, 'neither true nor false');
  return value === 'true';
}

function parseWords(
  name: string,
  plain: ReadonlyMap<string, string>,
  known: readonly string[],
): ReadonlySet<string> {
  const words = (plain.get(name) ?? '').split(',').filter((word) => word !== '');
  const unknown = words.find((word) => !known.includes(word));
  if (unknown !== undefined) throw badParameter(name, `unknown value ${unknown}`);
  return new Set(words);
}
