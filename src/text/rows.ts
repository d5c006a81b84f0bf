import { digitsOfId, escapeJson } from './escape.js';

/** Rows that are made again at each iteration, so that they are never all in memory. */
export function rowsOf<Source, Row>(
  read: () => Iterable<Source>,
  toRow: (one: Source) => Row,
): Iterable<Row> {
  return {
    *[Symbol.iterator]() {
      for (const one of read()) yield toRow(one);
    },
  };
}

/** Rows in arrays of `size`; the last one may be shorter. */
export function* inBatches<Row>(rows: Iterable<Row>, size: number): Generator<Row[]> {
  let batch: Row[] = [];
  for (const row of rows) {
    if (batch.push(row) < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

export function isEmpty(rows: Iterable<unknown>): boolean {
  for (const _ of rows) return false;
  return true;
}

/** The first `most` rows in an order, and the number of all. Keeps only a few more than `most` in memory; the sort is stable. */
export function firstInOrder<Row>(
  rows: Iterable<Row>,
  most: number,
  compare: (a: Row, b: Row) => number,
): { readonly shown: readonly Row[]; readonly total: number } {
  let shown: Row[] = [];
  let total = 0;
  for (const row of rows) {
    total += 1;
    shown.push(row);
    if (shown.length > 2 * most + 100) shown = shown.sort(compare).slice(0, most);
  }
  return { shown: shown.sort(compare).slice(0, most), total };
}

/**
 * Renders an object as JSON, indented by two spaces, with invisible characters escaped. Iterable members become arrays,
 * 64-bit ids strings of digits.
 */
export function* streamJson(value: object): Generator<string> {
  let separator = '{';
  for (const [name, member] of Object.entries(value)) {
    yield `${separator}\n  ${escapeJson(JSON.stringify(name))}: `;
    separator = ',';
    if (isIterable(member)) yield* renderRows(member);
    else yield escapeJson(indented(member, '  '));
  }
  yield '\n}\n';
}

function* renderRows(rows: Iterable<unknown>): Generator<string> {
  let separator = '[';
  for (const row of rows) {
    yield escapeJson(`${separator}\n    ${indented(row, '    ')}`);
    separator = ',';
  }
  yield separator === '[' ? '[]' : '\n  ]';
}

/** Line feeds inside strings are escaped already. */
function indented(value: unknown, indent: string): string {
  return JSON.stringify(value, digitsOfId, 2).replaceAll('\n', `\n${indent}`);
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

/** Groups items by a key, in the order in which the keys come up. */
export function groupBy<T, K>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) append(groups, keyOf(item), item);
  return groups;
}

/** Adds a value to the list of a key. */
export function append<K, T>(lists: Map<K, T[]>, key: K, value: T): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [value]);
  else known.push(value);
}

/** Compares for sorting, strings by their UTF-16 units. */
export function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
