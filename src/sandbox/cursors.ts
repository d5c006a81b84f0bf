import { mix, mixText } from './random.js';
import { badParameter } from './request-error.js';

/** Where a page begins (`next`) or ends (`prev`) in a list; the client sees an opaque text. */
export interface Cursor {
  readonly direction: 'next' | 'prev';
  /** The record to begin with, or the one that the page ends before. */
  readonly ordinal: number;
  /** Its `svc_updated_at`, for lists in that order. */
  readonly updatedMs: number;
  /** The count asked for with the first page, so that it is not counted again. */
  readonly totalCount: number | null;
  /** Tells cursors of one place apart. */
  readonly copy: number;
}

/** Writes a cursor that is good for one query only; plain base64, so that it must be escaped in a URL. */
export function writeCursor(cursor: Cursor, fingerprint: number): string {
  const { direction, ordinal, updatedMs, totalCount, copy } = cursor;
  const text = [direction === 'next' ? 1 : 0, ordinal, updatedMs, totalCount ?? '', copy, fingerprint].join(
    ' ',
  );
  return scramble(Buffer.from(`${text} ${checksum(text)}`, 'latin1')).toString('base64');
}

/**
 * Reads a cursor back.
 *
 * @throws RequestError 400 where it is not one of this service, or of another query
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

/** Its own inverse. */
function scramble(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, at) => byte ^ (mix(0x5c, at) & 0xff)));
}
