import { isList, type Json } from './json.js';
import { platformFields, type Stored, serviceFields, svcIdOf } from './records.js';
import { badParameter } from './request-error.js';
import type { FieldKind, ModelShape } from './shapes/shape.js';
import type { World } from './world.js';

const OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in'] as const;
type Operator = (typeof OPERATORS)[number];

type Comparable = string | number | bigint;

/** One `{field}[{operator}]=value`. */
export interface Filter {
  readonly field: string;
  readonly kind: FieldKind;
  readonly operator: Operator;
  /** The value, or the values of `in`; null is written `null`. */
  readonly operands: readonly (Comparable | null)[];
}

const SERVICE_FIELDS: Readonly<Record<string, FieldKind>> = {
  svc_id: 'integer',
  svc_deleted_at: 'timestamp',
  svc_created_at: 'timestamp',
  svc_updated_at: 'timestamp',
  svc_company_id: 'integer',
  platform_id: 'text',
  platform_unique_id: 'text',
};

/**
 * Reads a filter. `in` takes values separated by commas. Integers compare exactly, timestamps as instants,
 * decimal text as numbers, other text by code units; a list equals a value it contains.
 *
 * @throws RequestError for an unknown field or operator, or a value of another kind
 */
export function parseFilter(shape: ModelShape, field: string, operator: string, value: string): Filter {
  const known = OPERATORS.find((candidate) => candidate === operator);
  if (known === undefined) throw badParameter(`${field}[${operator}]`, 'unknown operator');
  const kind = kindOf(shape, field);
  if (kind === undefined) throw badParameter(`${field}[${operator}]`, 'unknown field');
  const texts = known === 'in' ? value.split(',') : [value];
  return { field, kind, operator: known, operands: texts.map((text) => parseOperand(field, kind, text)) };
}

function kindOf(shape: ModelShape, field: string): FieldKind | undefined {
  if (Object.hasOwn(SERVICE_FIELDS, field)) return SERVICE_FIELDS[field];
  return Object.hasOwn(shape.fields, field) ? shape.fields[field] : undefined;
}

function parseOperand(field: string, kind: FieldKind, text: string): Comparable | null {
  if (text === 'null') return null;
  const operand = toComparable(kind, text);
  if (operand === null) throw badParameter(field, `not a value of kind ${kind}`);
  return operand;
}

function toComparable(kind: FieldKind, value: string): Comparable | null {
  switch (kind) {
    case 'integer':
      return /^-?\d+$/.test(value) ? BigInt(value) : null;
    case 'number':
    case 'decimal':
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

/** True where the record passes the filter. */
export function passes(world: World, stored: Stored, filter: Filter): boolean {
  const values = readField(world, stored, filter);
  return filter.operands.some((operand) => compares(values, filter.operator, operand));
}

function compares(
  values: readonly (Comparable | null)[],
  operator: Operator,
  operand: Comparable | null,
): boolean {
  if (operator === 'eq' || operator === 'in') return values.some((value) => value === operand);
  if (operator === 'ne') return values.every((value) => value !== operand);
  if (operand === null) return false;
  return values.some((value) => value !== null && isOrdered(value, operator, operand));
}

function isOrdered(value: Comparable, operator: 'gt' | 'gte' | 'lt' | 'lte', operand: Comparable): boolean {
  switch (operator) {
    case 'gt':
      return value > operand;
    case 'gte':
      return value >= operand;
    case 'lt':
      return value < operand;
    case 'lte':
      return value <= operand;
  }
}

/** The record's values of a field; those that cost little come first, because filters look at every record. */
function readField(world: World, stored: Stored, { field, kind }: Filter): readonly (Comparable | null)[] {
  switch (field) {
    case 'svc_created_at':
      return [stored.dates.createdMs];
    case 'svc_updated_at':
      return [stored.dates.updatedMs];
    case 'svc_deleted_at':
      return [stored.deleted ? stored.dates.updatedMs : null];
    case 'svc_company_id':
      return [stored.member.company.id];
    case 'svc_id':
      return [svcIdOf(stored)];
    default: {
      const isService = Object.hasOwn(SERVICE_FIELDS, field);
      const fields = isService ? serviceFields(world, stored) : platformFields(world, stored);
      return toValues(kind, fields[field] ?? null);
    }
  }
}

function toValues(kind: FieldKind, value: Json): readonly (Comparable | null)[] {
  if (value === null) return [null];
  if (isList(value)) return value.map(String);
  return [typeof value === 'object' ? null : toComparable(kind, String(value))];
}
