import { type FieldKind, isList, type Json } from './fields.js';
import type { ModelShape } from './models.js';
import { platformFields, uniqueIdOf, writtenKeyOf } from './record-body.js';
import { mixText } from './seeded-random.js';
import type { StoredRecord } from './tables.js';

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

export function badParameter(name: string, problem: string): RequestError {
  return new RequestError(400, 'invalid_parameter', `${name}: ${problem}`);
}

export function notFound(what: string): RequestError {
  return new RequestError(404, 'not_found', `There is no ${what}.`);
}

type Comparable = string | number | bigint;

/** Whether a value, or null, passes an operator with an operand. */
type Compare = (value: Comparable | null, operand: Comparable | null) => boolean;

const OPERATORS: Readonly<Record<string, Compare>> = {
  eq: (value, operand) => value === operand,
  gte: (value, operand) => value !== null && operand !== null && value >= operand,
};

export interface Filter {
  readonly field: string;
  readonly kind: FieldKind;
  readonly operator: string;
  /** Null for the text `null`. */
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

export function parseQuery(route: string, shape: ModelShape, parameters: URLSearchParams): Query {
  const plain = new Map<string, string>();
  const filters: Filter[] = [];
  let sort: Sort = { field: 'svc_created_at', descending: false };
  for (const [name, value] of parameters) {
    const [, field, operator = ''] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
    if (field === 'sort') sort = parseSort(operator, value);
    else if (field !== undefined) filters.push(parseFilter(shape, field, operator, value));
    else if (PLAIN.includes(name)) plain.set(name, value);
    else throw badParameter(name, 'unknown parameter');
  }
  const includeDeleted = parseFlag('include_deleted_records', plain);
  const returnCount = parseFlag('return_count', plain);
  const next = textOrNull(plain.get('next'));
  const prev = textOrNull(plain.get('prev'));
  if (next !== null && prev !== null) throw badParameter('next', 'not together with prev');
  const limit = parseLimit(plain.get('limit'));
  const parts = filters.map(({ field, operator, operand }) => `${field}[${operator}]=${operand}`);
  const identity = [route, ...parts.sort(), sort.field, sort.descending, includeDeleted];
  return {
    limit,
    next,
    prev,
    filters,
    sort,
    includeDeleted,
    returnCount,
    expand: parseWords('expand', plain, shape.expand),
    select: parseWords('select', plain, SELECTABLE),
    fingerprint: mixText(0xf1, identity.join('\n')),
  };
}

function parseSort(field: string, value: string): Sort {
  if (field !== 'svc_created_at' && field !== 'svc_updated_at') throw badParameter('sort', 'unknown field');
  if (value !== 'ASC' && value !== 'DESC') throw badParameter(`sort[${field}]`, 'neither ASC nor DESC');
  return { field, descending: value === 'DESC' };
}

/** Null for an absent or empty parameter and for the text `null`. */
function textOrNull(value: string | undefined): string | null {
  return value === undefined || value === '' || value === 'null' ? null : value;
}

const DEFAULT_LIMIT = 100;
const LARGEST_LIMIT = 1000;

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

interface ServiceField {
  readonly kind: FieldKind;
  readonly read: (record: StoredRecord) => Comparable | null;
}

const SERVICE_FIELDS: Readonly<Record<string, ServiceField>> = {
  svc_id: { kind: 'integer', read: ({ svcId }) => svcId },
  svc_deleted_at: { kind: 'timestamp', read: ({ deleted, dates }) => (deleted ? dates.updatedMs : null) },
  svc_created_at: { kind: 'timestamp', read: ({ dates }) => dates.createdMs },
  svc_updated_at: { kind: 'timestamp', read: ({ dates }) => dates.updatedMs },
  svc_company_id: { kind: 'integer', read: ({ member }) => member.company.id },
  platform_id: { kind: 'text', read: (record) => toValue('text', writtenKeyOf(record)) },
  platform_unique_id: { kind: 'text', read: uniqueIdOf },
};

/**
 * Reads a filter. Integers compare exactly, timestamps as instants, text by code units; a
 * list equals a value it contains.
 *
 * @throws RequestError for an unknown field or operator, or a value of another kind
 */
function parseFilter(shape: ModelShape, field: string, operator: string, value: string): Filter {
  if (!Object.hasOwn(OPERATORS, operator)) throw badParameter(`${field}[${operator}]`, 'unknown operator');
  const ofPlatform = Object.hasOwn(shape.fields, field) ? shape.fields[field] : undefined;
  const kind = serviceField(field)?.kind ?? ofPlatform;
  if (kind === undefined) throw badParameter(`${field}[${operator}]`, 'unknown field');
  const operand = value === 'null' ? null : toComparable(kind, value);
  if (operand === null && value !== 'null') throw badParameter(field, `not a value of kind ${kind}`);
  return { field, kind, operator, operand };
}

function toComparable(kind: FieldKind, value: string): Comparable | null {
  switch (kind) {
    case 'integer':
      return /^-?\d+$/.test(value) ? BigInt(value) : null;
    case 'number':
      return value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : null;
    case 'timestamp': {
      const ms = Date.parse(value);
      return Number.isNaN(ms) ? null : ms;
    }
    case 'text':
    case 'texts':
      return value;
  }
}

function serviceField(name: string): ServiceField | undefined {
  return Object.hasOwn(SERVICE_FIELDS, name) ? SERVICE_FIELDS[name] : undefined;
}

export function passes(record: StoredRecord, { field, kind, operator, operand }: Filter): boolean {
  const ofService = serviceField(field);
  const values =
    ofService === undefined
      ? toValues(kind, platformFields(record)[field] ?? null)
      : [ofService.read(record)];
  return values.some((value) => OPERATORS[operator]?.(value, operand));
}

function toValues(kind: FieldKind, value: Json): readonly (Comparable | null)[] {
  return isList(value) ? value.map(String) : [toValue(kind, value)];
}

function toValue(kind: FieldKind, value: Json): Comparable | null {
  return value === null || typeof value === 'object' ? null : toComparable(kind, String(value));
}
