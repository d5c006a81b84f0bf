import { badParameter, passes, type Query } from './list-query.js';
import { recordAt, type StoredRecord } from './record-at.js';
import { mix, mixText } from './seeded-random.js';
import type { Table, TableMember } from './tables.js';
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
  const { fingerprint, limit } = query;
  const ordinals = orderOf(list, query);
  const direction = query.prev === null ? 'next' : 'prev';
  const written = query[direction];
  const cursor = written === null ? null : readCursor(direction, written, fingerprint);
  const accepts = (ordinal: number): boolean => {
    const stored = list.at(ordinal);
    return (
      (query.includeDeleted || !stored.deleted) &&
      query.filters.every((filter) => passes(world, stored, filter))
    );
  };
  const count = (): number => {
    if (query.includeDeleted && query.filters.length === 0) return list.size;
    return cursor?.totalCount ?? ordinals.filter(accepts).length;
  };
  const totalCount = query.returnCount ? count() : null;
  const start = cursor === null ? 0 : placeOf(cursor, ordinals, list, query.sort);
  const found = take(ordinals, start, direction, limit + 1, accepts);
  const beyond = found[limit] ?? null;
  const shown = found.slice(0, limit);
  if (direction === 'prev') shown.reverse();
  const write = (direction: 'next' | 'prev', ordinal: number | null, copy = 0): string | null => {
    if (ordinal === null) return null;
    const { updatedMs } = list.at(ordinal).dates;
    return writeCursor({ direction, ordinal, updatedMs, totalCount, copy }, fingerprint);
  };
  const first = shown[0] ?? null;
  const [before, after] =
    direction === 'prev'
      ? [beyond === null ? null : first, cursor?.ordinal ?? null]
      : [cursor === null ? null : (first ?? cursor.ordinal), beyond];
  return {
    records: shown.map((ordinal) => list.at(ordinal)),
    prev: write('prev', before),
    next: write('next', after),
    totalCount,
    again: cursor?.copy ? null : write('next', first, 1),
  };
}

/** The first accepted ordinals from a place on, or before it. */
function take(
  ordinals: Uint32Array,
  start: number,
  direction: 'next' | 'prev',
  count: number,
  accepts: (ordinal: number) => boolean,
): number[] {
  const found: number[] = [];
  const step = direction === 'next' ? 1 : -1;
  for (let at = step > 0 ? start : start - 1; found.length < count; at += step) {
    const ordinal = ordinals[at];
    if (ordinal === undefined) break;
    if (accepts(ordinal)) found.push(ordinal);
  }
  return found;
}

/** Records in the order of creation, numbered from 0; the numbers never change. */
export interface RecordList {
  readonly size: number;
  at(ordinal: number): StoredRecord;
  /** The ordinal of the record with an id; null if the list has none. */
  ordinalOf(svcId: bigint): number | null;
}

/** The records of a table, or those of one company; during a backfill, only a `share` of them (0 to 1). */
export function listRecords(
  world: World,
  table: Table,
  member: Pick<TableMember, 'positions'> | null = null,
  share = 1,
): RecordList {
  const positions = member?.positions.filter((position) => position < table.size) ?? null;
  const size = Math.floor((positions?.length ?? table.size) * share);
  return {
    size,
    at: (ordinal) => recordAt(world, table, positions === null ? ordinal : (positions[ordinal] ?? -1)),
    ordinalOf: (svcId) => {
      const position = table.ids.positionOf(svcId) ?? -1;
      const ordinal = positions === null ? position : positions.indexOf(position);
      return ordinal >= 0 && ordinal < size ? ordinal : null;
    },
  };
}

/** The ordinals that a query may return, in its order. */
function orderOf(list: RecordList, { filters, sort }: Query): Uint32Array {
  const byId = filters.find(({ field, operator }) => field === 'svc_id' && /^(eq|in)$/.test(operator));
  const wanted = byId?.operands.map((id) => (typeof id === 'bigint' ? list.ordinalOf(id) : null));
  const ordinals =
    wanted === undefined
      ? new Uint32Array(list.size).map((_, ordinal) => ordinal)
      : Uint32Array.from(new Set(wanted.filter((ordinal) => ordinal !== null))).sort();
  if (sort.field === 'svc_updated_at') {
    const times = new Map(Array.from(ordinals, (ordinal) => [ordinal, list.at(ordinal).dates.updatedMs]));
    ordinals.sort((a, b) => (times.get(a) ?? 0) - (times.get(b) ?? 0) || a - b);
  }
  return sort.descending ? ordinals.reverse() : ordinals;
}

/** The index of the first of these ordinals that is not before the cursor. */
function placeOf(
  cursor: Cursor,
  ordinals: Uint32Array,
  list: RecordList,
  { field, descending }: Query['sort'],
) {
  const compare = (ordinal: number): number => {
    const later = field === 'svc_updated_at' ? list.at(ordinal).dates.updatedMs - cursor.updatedMs : 0;
    return (later || ordinal - cursor.ordinal) * (descending ? -1 : 1);
  };
  let [from, to] = [0, ordinals.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (compare(ordinals[middle] ?? 0) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
