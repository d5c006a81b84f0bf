import { type Cursor, readCursor, writeCursor } from './cursors.js';
import { passes } from './filters.js';
import type { List } from './lists.js';
import { createOrder, type Order, type OrderCache } from './orders.js';
import type { Query } from './query.js';
import type { Stored } from './records.js';
import type { World } from './world.js';

/** One page of a list. */
export interface Page {
  readonly records: readonly Stored[];
  readonly prev: string | null;
  readonly next: string | null;
  readonly totalCount: number | null;
  /** A cursor that gives this page once more; null where it is empty, or already such a copy. */
  readonly again: string | null;
}

/**
 * Reads the page that a query asks for. The cost is that of the records looked at: those of the page, and where
 * filters leave records out, those up to the next one that passes.
 *
 * @throws RequestError for a bad cursor
 */
export function readPage(world: World, list: List, query: Query, cache: OrderCache): Page {
  const { fingerprint } = query;
  const order = createOrder(list, query, cache);
  const cursor =
    query.prev !== null
      ? readCursor('prev', query.prev, fingerprint)
      : query.next !== null
        ? readCursor('next', query.next, fingerprint)
        : null;
  const accepts = (stored: Stored): boolean =>
    (query.includeDeleted || !stored.deleted) &&
    query.filters.every((filter) => passes(world, stored, filter));
  const totalCount = query.returnCount ? countOf(list, order, query, cursor, accepts) : null;
  const found = walk(list, order, query.limit, cursor, accepts);
  const write = (direction: 'next' | 'prev', ordinal: number | null, copy = 0): string | null => {
    if (ordinal === null) return null;
    const { updatedMs } = list.at(ordinal).dates;
    return writeCursor({ direction, ordinal, updatedMs, totalCount, copy }, fingerprint);
  };
  return {
    records: found.ordinals.map((ordinal) => list.at(ordinal)),
    prev: write('prev', found.before),
    next: write('next', found.after),
    totalCount,
    again: cursor?.copy ? null : write('next', found.ordinals[0] ?? null, 1),
  };
}

interface Found {
  readonly ordinals: readonly number[];
  /** The record that the page before ends before; null where there is no such page. */
  readonly before: number | null;
  /** The record that the next page begins with. */
  readonly after: number | null;
}

type Accepts = (stored: Stored) => boolean;

function walk(list: List, order: Order, limit: number, cursor: Cursor | null, accepts: Accepts): Found {
  const start = cursor === null ? 0 : order.indexOf(cursor);
  const backward = cursor?.direction === 'prev';
  const taken = collect(list, order, limit, backward ? start - 1 : start, backward ? -1 : 1, accepts);
  if (!backward) {
    const first = taken.ordinals[0] ?? cursor?.ordinal ?? null;
    return { ...taken, before: cursor === null ? null : first };
  }
  const ordinals = [...taken.ordinals].reverse();
  const first = ordinals[0] ?? null;
  return { ordinals, before: taken.after === null ? null : first, after: cursor?.ordinal ?? null };
}

function collect(
  list: List,
  order: Order,
  limit: number,
  start: number,
  step: 1 | -1,
  accepts: Accepts,
): Pick<Found, 'ordinals' | 'after'> {
  const ordinals: number[] = [];
  for (let index = start; index >= 0 && index < order.size; index += step) {
    const ordinal = order.at(index);
    if (!accepts(list.at(ordinal))) continue;
    if (ordinals.length === limit) return { ordinals, after: ordinal };
    ordinals.push(ordinal);
  }
  return { ordinals, after: null };
}

/** Filtered lists are counted once, with the first page. */
function countOf(list: List, order: Order, query: Query, cursor: Cursor | null, accepts: Accepts): number {
  if (query.filters.length === 0) {
    if (query.includeDeleted) return list.size;
    if (list.live !== null) return list.live;
  }
  if (cursor?.totalCount != null) return cursor.totalCount;
  let count = 0;
  for (let index = 0; index < order.size; index++) if (accepts(list.at(order.at(index)))) count++;
  return count;
}
