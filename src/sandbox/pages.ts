import { badParameter, passes, type Query } from './list-query.js';
import { createOrder, type Order, type RecordList } from './lists.js';
import { mix, mixText } from './seeded-random.js';
import type { StoredRecord } from './stored-records.js';
import type { World } from './world.js';

/** Where a page begins (`next`) or ends (`prev`) in a list; opaque to the client. */
export interface Cursor {
  readonly direction: 'next' | 'prev';
  /** The first record of the page, or the one after its last. */
  readonly ordinal: number;
  /** Its `svc_updated_at`, for lists in that order. */
  readonly updatedMs: number;
  /** The count from the first page, so that it is not counted again. */
  readonly totalCount: number | null;
  /** Distinguishes cursors of the same position. */
  readonly copy: number;
}

/** Writes a cursor that is valid for one query only. It is plain base64, so it must be escaped in a URL. */
export function writeCursor(cursor: Cursor, fingerprint: number): string {
  const { direction, ordinal, updatedMs, totalCount, copy } = cursor;
  const text = [direction === 'next' ? 1 : 0, ordinal, updatedMs, totalCount ?? '', copy, fingerprint].join(
    ' ',
  );
  return scramble(Buffer.from(`${text} ${checksum(text)}`, 'latin1')).toString('base64');
}

/**
 * Parses a cursor.
 *
 * @throws RequestError 400 if it is not a cursor of this service and query
 */
export function readCursor(parameter: 'next' | 'prev', written: string, fingerprint: number): Cursor {
  const text = scramble(Buffer.from(written, 'base64')).toString('latin1');
  const parts = text.split(' ');
  const sum = parts.pop();
  if (parts.length !== 6 || sum !== checksum(parts.join(' '))) throw badParameter(parameter, 'not a cursor');
  if (Number(parts[5]) !== fingerprint) throw badParameter(parameter, 'a cursor of another query');
  const direction = parts[0] === '1' ? 'next' : 'prev';
  if (direction !== parameter) throw badParameter(parameter, 'a cursor of the other direction');
  return {
    direction,
    ordinal: Number(parts[1]),
    updatedMs: Number(parts[2]),
    totalCount: parts[3] === '' ? null : Number(parts[3]),
    copy: Number(parts[4]),
  };
}

function checksum(text: string): string {
  return mixText(0xc5, text).toString(36);
}

/** Obfuscates bytes; applying it again reverses it. */
function scramble(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, at) => byte ^ (mix(0x5c, at) & 0xff)));
}

/** One page of a list. */
export interface Page {
  readonly records: readonly StoredRecord[];
  readonly prev: string | null;
  readonly next: string | null;
  readonly totalCount: number | null;
  /** A cursor of the same page; null if the page is empty, or was requested by such a cursor. */
  readonly again: string | null;
}

/**
 * Reads the page of a query. Only the records of the page are read and, with filters, those up to the next one that
 * passes.
 *
 * @throws RequestError for a bad cursor
 */
export function readPage(world: World, list: RecordList, query: Query): Page {
  const { fingerprint } = query;
  const order = createOrder(list, query);
  const direction = query.prev === null ? 'next' : 'prev';
  const written = query[direction];
  const cursor = written === null ? null : readCursor(direction, written, fingerprint);
  const accepts = (stored: StoredRecord): boolean =>
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
  /** The record before which the previous page ends; null if there is no such page. */
  readonly before: number | null;
  /** The record that the next page begins with. */
  readonly after: number | null;
}

type Accepts = (stored: StoredRecord) => boolean;

function walk(list: RecordList, order: Order, limit: number, cursor: Cursor | null, accepts: Accepts): Found {
  const start = cursor === null ? 0 : order.indexOf(cursor);
  const step = cursor?.direction === 'prev' ? -1 : 1;
  const ordinals: number[] = [];
  let beyond: number | null = null;
  for (let index = step < 0 ? start - 1 : start; index >= 0 && index < order.size; index += step) {
    const ordinal = order.at(index);
    if (!accepts(list.at(ordinal))) continue;
    if (ordinals.length === limit) {
      beyond = ordinal;
      break;
    }
    ordinals.push(ordinal);
  }
  if (cursor === null) return { ordinals, before: null, after: beyond };
  if (step > 0) return { ordinals, before: ordinals[0] ?? cursor.ordinal, after: beyond };
  ordinals.reverse();
  return { ordinals, before: beyond === null ? null : (ordinals[0] ?? null), after: cursor.ordinal };
}

/** Counts the list; a filtered list is counted only with the first page. */
function countOf(
  list: RecordList,
  order: Order,
  query: Query,
  cursor: Cursor | null,
  accepts: Accepts,
): number {
  if (query.filters.length === 0) {
    if (query.includeDeleted) return list.size;
    if (list.live !== null) return list.live;
  }
  if (cursor?.totalCount != null) return cursor.totalCount;
  let count = 0;
  for (let index = 0; index < order.size; index++) if (accepts(list.at(order.at(index)))) count++;
  return count;
}
