import { badParameter, passes, type Query } from './list-query.js';
import type { Table, TableMember } from './record-tables.js';
import { mix, mixText } from './seeded-random.js';
import { recordAt, type StoredRecord } from './stored-records.js';
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

/** Records in the order of creation, numbered from 0; the numbers never change. */
export interface RecordList {
  readonly table: Table;
  readonly size: number;
  /** Number of live records; null if they would have to be counted. */
  readonly live: number | null;
  at(ordinal: number): StoredRecord;
  /** The ordinal of the record with an id; null if the list has none. */
  ordinalOf(svcId: bigint): number | null;
}

/** The records of a table, or those of one company; during a backfill, only a `share` of them (0 to 1). */
export function listRecords(
  world: World,
  table: Table,
  member: TableMember | null = null,
  share = 1,
): RecordList {
  const sides = (member === null ? table.members : [member]).map(({ block }) => block[table.generation]);
  const index = member === null ? -1 : table.members.indexOf(member);
  const isListed = (position: number) => member === null || table.memberOf[position] === index;
  let size = 0;
  let live = 0;
  for (const { present, deleted } of sides) {
    size += present;
    live += present - deleted;
  }
  for (const [position, { deleted }] of table.changes) {
    if (!isListed(position)) continue;
    const isNew = position >= table.present;
    if (isNew) size++;
    if (isNew !== deleted) live += isNew ? 1 : -1;
  }
  size = Math.floor(size * share);
  return {
    table,
    size,
    live: share < 1 ? null : live,
    at: (ordinal) => recordAt(world, table, member === null ? ordinal : (member.positions[ordinal] ?? 0)),
    ordinalOf: (svcId) => {
      const position = table.ids.indexOf(svcId);
      if (position === null || !isListed(position)) return null;
      const ordinal = member === null ? position : (table.placeOf[position] ?? size);
      return ordinal < size ? ordinal : null;
    },
  };
}

/** An empty list. */
export function listNothing(table: Table): RecordList {
  const at = (): never => {
    throw new RangeError('The list is empty.');
  };
  return { table, size: 0, live: 0, at, ordinalOf: () => null };
}

interface OrderKey {
  readonly ordinal: number;
  readonly updatedMs: number;
}

/** The records of a list in the order of a query. */
export interface Order {
  readonly size: number;
  /** The ordinal at an index. */
  at(index: number): number;
  /** The index of the first record that is not before the key. */
  indexOf(key: OrderKey): number;
}

/** Creates the order of a query. Order by creation needs no memory; order by update is sorted for each page. */
function createOrder(list: RecordList, query: Query): Order {
  const { field, descending } = query.sort;
  const wanted = query.filters.find(
    ({ field: name, operator }) => name === 'svc_id' && (operator === 'eq' || operator === 'in'),
  );
  if (wanted !== undefined) {
    const ordinals = wanted.operands.map((id) => (typeof id === 'bigint' ? list.ordinalOf(id) : null));
    const found = Uint32Array.from(new Set(ordinals.filter((ordinal) => ordinal !== null)));
    if (field === 'svc_updated_at') return byUpdate(list, sortByUpdate(list, found), descending);
    return searchable(found.sort(), descending, (ordinal, key) => ordinal - key.ordinal);
  }
  if (field === 'svc_updated_at') {
    const all = Uint32Array.from({ length: list.size }, (_, ordinal) => ordinal);
    return byUpdate(list, sortByUpdate(list, all), descending);
  }
  const { size } = list;
  const flip = (value: number): number => (descending ? size - 1 - value : value);
  return { size, at: flip, indexOf: ({ ordinal }) => flip(ordinal) };
}

function byUpdate(list: RecordList, sorted: Uint32Array, descending: boolean): Order {
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

function sortByUpdate(list: RecordList, ordinals: Uint32Array): Uint32Array {
  const times = Float64Array.from(ordinals, (ordinal) => list.at(ordinal).dates.updatedMs);
  const places = Uint32Array.from(ordinals.keys());
  places.sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0) || (ordinals[a] ?? 0) - (ordinals[b] ?? 0));
  return places.map((place) => ordinals[place] ?? 0);
}
