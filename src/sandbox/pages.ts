import { badParameter, passes, type Query } from './list-query.js';
import type { StoredRecord } from './tables.js';

/** Where a page begins (`next`) or ends (`prev`) in a list; opaque to the client. */
export interface Cursor {
  readonly direction: 'next' | 'prev';
  /** Of the first record of the page, or the one after its last. */
  readonly position: number;
  readonly updatedMs: number;
  /** Distinguishes cursors of the same position. */
  readonly copy: number;
}

/** Writes a cursor that is valid for one query only. It is plain base64, so it must be escaped in a URL. */
export function writeCursor(cursor: Cursor, fingerprint: number): string {
  const { direction, position, updatedMs, copy } = cursor;
  return Buffer.from([direction, position, updatedMs, copy, fingerprint].join('?')).toString('base64');
}

const CURSOR = /^(next|prev)\?(\d+)\?(\d+)\?(\d+)\?(\d+)$/;

export function readCursor(parameter: 'next' | 'prev', written: string, fingerprint: number): Cursor {
  const text = Buffer.from(written, 'base64').toString('latin1');
  const [, direction, position, updatedMs, copy, query] = CURSOR.exec(text) ?? [];
  if (Number(query) !== fingerprint) throw badParameter(parameter, 'not a cursor of this query');
  if (direction !== parameter) throw badParameter(parameter, 'a cursor of the other direction');
  return { direction, position: Number(position), updatedMs: Number(updatedMs), copy: Number(copy) };
}

export interface Page {
  readonly records: readonly StoredRecord[];
  readonly prev: string | null;
  readonly next: string | null;
  readonly totalCount: number | null;
  /** A cursor of the same page; null if the page is empty, or was requested by such a cursor. */
  readonly again: string | null;
}

export function readPage(list: readonly StoredRecord[], query: Query): Page {
  const { fingerprint, limit, sort } = query;
  const direction = query.prev === null ? 'next' : 'prev';
  const written = query[direction];
  const cursor = written === null ? null : readCursor(direction, written, fingerprint);
  const records = findRecords(list, query);
  const start = cursor === null ? 0 : records.findIndex((record) => compare(record, cursor, sort) >= 0);
  const at = start < 0 ? records.length : start;
  const [from, to] =
    direction === 'next' ? [at, Math.min(at + limit, records.length)] : [Math.max(0, at - limit), at];
  const write = (toward: 'next' | 'prev', place: Place | null = null, copy = 0) =>
    place &&
    writeCursor(
      { direction: toward, position: place.position, updatedMs: place.updatedMs, copy },
      fingerprint,
    );
  return {
    records: records.slice(from, to),
    prev: from > 0 ? write('prev', records[from] ?? cursor) : null,
    next: write('next', records[to]),
    totalCount: query.returnCount ? records.length : null,
    again: cursor?.copy || from === to ? null : write('next', records[from], 1),
  };
}

type Place = Pick<Cursor, 'position' | 'updatedMs'>;

function compare(a: Place, b: Place, { field, descending }: Query['sort']): number {
  const later = field === 'svc_updated_at' ? a.updatedMs - b.updatedMs : 0;
  return (later || a.position - b.position) * (descending ? -1 : 1);
}

function findRecords(list: readonly StoredRecord[], query: Query): readonly StoredRecord[] {
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
