import { isList, type Json, type ModelShape } from './models.js';
import { platformFields, SERVICE_FIELDS } from './record-body.js';
import { mixText } from './seeded-random.js';
import type { StoredRecord } from './world.js';

export class RequestError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'RequestError';
    this.status = status;
    this.code = code;
  }
}

function badParameter(name: string, problem: string): RequestError {
  return new RequestError(400, 'invalid_parameter', `${name}: ${problem}`);
}

type Comparable = string | number | bigint;

interface Filter {
  readonly field: string;
  readonly operator: 'eq' | 'gte';
  readonly operand: Comparable | null;
}

interface Sort {
  readonly field: 'svc_created_at' | 'svc_updated_at';
  readonly descending: boolean;
}

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
  /** Hash of everything that affects which records are returned, and their order. */
  readonly fingerprint: number;
}

const PLAIN = ['limit', 'next', 'prev', 'select', 'expand', 'include_deleted_records', 'return_count'];
const SELECTABLE = ['raw_data', 'data_hash'];

/** @throws RequestError 400 for unknown parameters, fields, operators and values */
export function parseQuery(
  route: string,
  { fields, expand }: Pick<ModelShape, 'fields' | 'expand'>,
  parameters: URLSearchParams,
): Query {
  const filters: Filter[] = [];
  let sort: Sort = { field: 'svc_created_at', descending: false };
  for (const [name, value] of parameters) {
    const [, field, operator = ''] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
    if (field === 'sort') sort = parseSort(operator, value);
    else if (field !== undefined) filters.push(parseFilter(fields, field, operator, value));
    else if (!PLAIN.includes(name)) throw badParameter(name, 'unknown parameter');
  }
  const next = textOf(parameters, 'next');
  const prev = textOf(parameters, 'prev');
  if (next !== null && prev !== null) throw badParameter('next', 'not together with prev');
  const includeDeleted = parseFlag(parameters, 'include_deleted_records');
  const parts = filters.map(({ field, operator, operand }) => `${field}[${operator}]=${operand}`);
  const identity = [route, ...parts.sort(), sort.field, sort.descending, includeDeleted];
  return {
    limit: parseLimit(parameters),
    next,
    prev,
    filters,
    sort,
    includeDeleted,
    returnCount: parseFlag(parameters, 'return_count'),
    expand: parseWords(parameters, 'expand', expand),
    select: parseWords(parameters, 'select', SELECTABLE),
    fingerprint: mixText(0xf1, identity.join('\n')),
  };
}

function textOf(parameters: URLSearchParams, name: string): string | null {
  const value = parameters.get(name);
  return value === '' || value === 'null' ? null : value;
}

function parseSort(field: string, value: string): Sort {
  if (field !== 'svc_created_at' && field !== 'svc_updated_at') throw badParameter('sort', 'unknown field');
  if (value !== 'ASC' && value !== 'DESC') throw badParameter(`sort[${field}]`, 'neither ASC nor DESC');
  return { field, descending: value === 'DESC' };
}

const DEFAULT_LIMIT = '100';
const LARGEST_LIMIT = 1000;

function parseLimit(parameters: URLSearchParams): number {
  const text = textOf(parameters, 'limit') ?? DEFAULT_LIMIT;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw badParameter('limit', 'not a positive integer');
  return Math.min(Number(text), LARGEST_LIMIT);
}

function parseFlag(parameters: URLSearchParams, name: string): boolean {
  const value = parameters.get(name) ?? 'false';
  if (value !== 'true' && value !== 'false') throw badParameter(name, 'neither true nor false');
  return value === 'true';
}

function parseWords(
  parameters: URLSearchParams,
  name: string,
  allowed: readonly string[],
): ReadonlySet<string> {
  const words = (parameters.get(name) ?? '').split(',').filter((word) => word !== '');
  const unknown = words.find((word) => !allowed.includes(word));
  if (unknown !== undefined) throw badParameter(name, `unknown value ${unknown}`);
  return new Set(words);
}

function parseFilter(fields: readonly string[], field: string, operator: string, value: string): Filter {
  const name = `${field}[${operator}]`;
  if (operator !== 'eq' && operator !== 'gte') throw badParameter(name, 'unknown operator');
  if (!Object.hasOwn(SERVICE_FIELDS, field) && !fields.includes(field)) {
    throw badParameter(name, 'unknown field');
  }
  const operand = value === 'null' ? null : toComparable(field, value);
  if (operand === null && value !== 'null') throw badParameter(name, `not a value of ${field}`);
  return { field, operator, operand };
}

/** Ids compare exactly, timestamps as instants, numbers as such, other values by code units. Null for no value. */
function toComparable(field: string, value: Json): Comparable | null {
  if (value === null || typeof value === 'object') return null;
  if (/^svc_(company_)?id$/.test(field)) return /^-?\d+$/.test(String(value)) ? BigInt(String(value)) : null;
  if (/_(at|date)$/.test(field)) {
    const ms = Date.parse(String(value));
    return Number.isNaN(ms) ? null : ms;
  }
  return typeof value === 'number' ? value : String(value);
}

function passes(record: StoredRecord, { field, operator, operand }: Filter): boolean {
  const read = SERVICE_FIELDS[field];
  const written = read === undefined ? (platformFields(record)[field] ?? null) : read(record);
  const values = isList(written) ? written : [written];
  return values.some((value) => {
    const comparable = toComparable(field, value);
    if (comparable === null || operand === null) return operator === 'eq' && comparable === operand;
    return comparable >= operand && (operator === 'gte' || comparable <= operand);
  });
}

export function findRecords(list: readonly StoredRecord[], query: Query): readonly StoredRecord[] {
  const { filters, includeDeleted, sort } = query;
  const passing =
    includeDeleted && filters.length === 0
      ? list
      : list.filter(
          (record) =>
            (includeDeleted || !record.deleted) && filters.every((filter) => passes(record, filter)),
        );
  const isOrdered = sort.field === 'svc_created_at' && !sort.descending;
  return isOrdered ? passing : passing.toSorted((a, b) => compare(a, b, sort));
}

export interface Place {
  readonly position: number;
  readonly updatedMs: number;
}

function compare(a: Place, b: Place, { field, descending }: Sort): number {
  const later = field === 'svc_updated_at' ? a.updatedMs - b.updatedMs : 0;
  return (later || a.position - b.position) * (descending ? -1 : 1);
}

export interface Page<T> {
  readonly objects: readonly T[];
  readonly prev: string | null;
  readonly next: string | null;
  readonly totalCount: number | null;
  /** A cursor of the same page; null if the page is empty, or was requested by such a cursor. */
  readonly again: string | null;
}

/** A page of the objects that a query finds. @throws RequestError 400 for a cursor of another query */
export function readPage<T extends Place>(objects: readonly T[], query: Query): Page<T> {
  const { fingerprint, limit, sort, returnCount } = query;
  const direction = query.prev === null ? 'next' : 'prev';
  const written = query[direction];
  const cursor = written === null ? null : readCursor(direction, written, fingerprint);
  const isBefore = (object: T) => cursor !== null && compare(object, cursor, sort) < 0;
  const first = objects.findIndex((object) => !isBefore(object));
  const at = first < 0 ? objects.length : first;
  const from = direction === 'next' ? at : Math.max(0, at - limit);
  const to = direction === 'next' ? Math.min(at + limit, objects.length) : at;
  const write = (toward: 'next' | 'prev', place: Place | null = null, copy = 0) =>
    place && writeCursor([toward, place.position, place.updatedMs, copy, fingerprint]);
  return {
    objects: objects.slice(from, to),
    prev: from > 0 ? write('prev', objects[from] ?? cursor) : null,
    next: write('next', objects[to]),
    totalCount: returnCount ? objects.length : null,
    again: cursor?.copy || from === to ? null : write('next', objects[from], 1),
  };
}

/** Plain base64, which must be escaped in a URL. */
function writeCursor(parts: readonly (string | number)[]): string {
  return Buffer.from(parts.join('?')).toString('base64');
}

const CURSOR = /^(next|prev)\?(\d+)\?(\d+)\?(\d+)\?(\d+)$/;

/** Reads the place where a page begins (`next`) or ends (`prev`). `copy` distinguishes cursors of one place. */
function readCursor(parameter: 'next' | 'prev', written: string, fingerprint: number) {
  const text = Buffer.from(written, 'base64').toString('latin1');
  const [, direction, position, updatedMs, copy, query] = CURSOR.exec(text) ?? [];
  if (Number(query) !== fingerprint) throw badParameter(parameter, 'not a cursor of this query');
  if (direction !== parameter) throw badParameter(parameter, 'a cursor of the other direction');
  return { position: Number(position), updatedMs: Number(updatedMs), copy: Number(copy) };
}
