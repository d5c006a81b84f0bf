import type { List } from './lists.js';
import type { Query } from './query.js';

/** A record's place in an order, also after the order changed. */
interface OrderKey {
  readonly ordinal: number;
  readonly updatedMs: number;
}

/** The records of a list in the order that a query wants. */
export interface Order {
  readonly size: number;
  /** The ordinal at an index. */
  at(index: number): number;
  /** The index of the first record that is not before the key. */
  indexOf(key: OrderKey): number;
}

/** Keeps the sorted lists of a service whose records do not change: four bytes a record. */
export type OrderCache = Map<string, Uint32Array>;

const MOST_CACHED = 32;

/** The order by creation needs no memory; the one by update is sorted once. */
export function createOrder(list: List, query: Query, cache: OrderCache): Order {
  const { field, descending } = query.sort;
  const wanted = query.filters.find(
    ({ field: name, operator }) => name === 'svc_id' && (operator === 'eq' || operator === 'in'),
  );
  if (wanted !== undefined) {
    const ordinals = wanted.operands.map((id) => (typeof id === 'bigint' ? list.ordinalOf(id) : null));
    const found = Uint32Array.from(new Set(ordinals.filter((ordinal) => ordinal !== null)));
    if (field === 'svc_updated_at') return byUpdate(list, sortByUpdate(list, found), descending);
    return byCreation(found.sort(), descending);
  }
  if (field === 'svc_updated_at') return byUpdate(list, sortedByUpdate(list, cache), descending);
  return byOrdinal(list.size, descending);
}

function byOrdinal(size: number, descending: boolean): Order {
  const flip = (value: number): number => (descending ? size - 1 - value : value);
  return { size, at: flip, indexOf: ({ ordinal }) => flip(ordinal) };
}

function byCreation(sorted: Uint32Array, descending: boolean): Order {
  return searchable(sorted, descending, (ordinal, key) => ordinal - key.ordinal);
}

function byUpdate(list: List, sorted: Uint32Array, descending: boolean): Order {
  return searchable(
    sorted,
    descending,
    (ordinal, key) => list.at(ordinal).dates.updatedMs - key.updatedMs || ordinal - key.ordinal,
  );
}

function searchable(
  sorted: Uint32Array,
  descending: boolean,
  compare: (ordinal: number, key: OrderKey) => number,
): Order {
  const at = (index: number): number => sorted[descending ? sorted.length - 1 - index : index] ?? 0;
  const sign = descending ? -1 : 1;
  return {
    size: sorted.length,
    at,
    indexOf: (key) => {
      let [from, to] = [0, sorted.length];
      while (from < to) {
        const middle = (from + to) >>> 1;
        if (sign * compare(at(middle), key) < 0) from = middle + 1;
        else to = middle;
      }
      return from;
    },
  };
}

function sortedByUpdate(list: List, cache: OrderCache): Uint32Array {
  const name = `${list.name} ${list.size}`;
  const cached = list.table.changes.size > 0 ? undefined : cache.get(name);
  if (cached !== undefined) return cached;
  const all = Uint32Array.from({ length: list.size }, (_, ordinal) => ordinal);
  const sorted = sortByUpdate(list, all);
  if (list.table.changes.size > 0) return sorted;
  const [oldest] = cache.keys();
  if (cache.size >= MOST_CACHED && oldest !== undefined) cache.delete(oldest);
  cache.set(name, sorted);
  return sorted;
}

function sortByUpdate(list: List, ordinals: Uint32Array): Uint32Array {
  const times = Float64Array.from(ordinals, (ordinal) => list.at(ordinal).dates.updatedMs);
  const places = Uint32Array.from(ordinals.keys());
  places.sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0) || (ordinals[a] ?? 0) - (ordinals[b] ?? 0));
  return places.map((place) => ordinals[place] ?? 0);
}
