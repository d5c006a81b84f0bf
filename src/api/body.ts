import { isAscii, isUtf8 } from 'node:buffer';
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync } from 'node:zlib';
import type { ListPage } from '../domain.js';
import { SvcError } from '../errors.js';
import { at } from '../text/at.js';
import type { AnswerBody } from './http.js';

/** Pages of records take 8 % less than at quality 1 and 17 % less than with gzip at 1, in the time of gzip at 1. */
const FAST = { params: { [constants.BROTLI_PARAM_QUALITY]: 3, [constants.BROTLI_PARAM_LGWIN]: 15 } };

/** A body as it came, compressed: pages that wait to be saved take a fifth of the memory. */
export function packBody({ decoded, gzip }: AnswerBody): Pick<ListPage, 'body' | 'encoding'> {
  return gzip === null
    ? { body: brotliCompressSync(decoded, FAST), encoding: 'br' }
    : { body: gzip, encoding: 'gzip' };
}

/** The text of a stored body. @throws SvcError `bad_response` if it is not UTF-8 */
export function decodeBody(body: Uint8Array, encoding: string): string {
  return decodeText(encoding === 'gzip' ? gunzipSync(body) : brotliDecompressSync(body));
}

/** @throws SvcError `bad_response` if it is not UTF-8: replaced bytes could make two keys one */
export function decodeText(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // Several times as fast.
  if (isAscii(buffer)) return buffer.toString('latin1');
  if (!isUtf8(buffer))
    throw new SvcError('bad_response', 'The response is not a page: the body is not UTF-8.');
  return buffer.toString('utf8');
}

/*
 * Bytes of memory that JSON.parse takes at most, measured. A name that no other object has is the dearest: V8 makes a
 * hidden class for it.
 */
const NEW_NAME_COST = 900;
const CONTAINER_COST = 80;
const STRING_COST = 24;
const MEMBER_COST = 16;
const ITEM_COST = 16;
const MIN_COUNTED_BYTES = 4 * 2 ** 20;
/** What parsing may take, as a multiple of the largest body. The body is in memory three times besides. */
const MAX_COST_FACTOR = 11;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;

export function assertParsable(body: Uint8Array, maxBodyBytes: number): void {
  if (body.length < MIN_COUNTED_BYTES) return;
  let costLeft = maxBodyBytes * MAX_COST_FACTOR;
  const names = new Set<number>();
  let hash = 0;
  for (let i = 0; i < body.length && costLeft >= 0; i++) {
    const byte = body[i];
    if (byte === QUOTE) {
      costLeft -= STRING_COST;
      hash = 0;
      for (i++; i < body.length && body[i] !== QUOTE; i++) {
        hash = Math.imul(hash ^ at(body, i), 0x01000193);
        if (body[i] === BACKSLASH) i++;
      }
    } else if (byte === COMMA) costLeft -= ITEM_COST;
    else if (byte === COLON) {
      costLeft -= names.has(hash) ? MEMBER_COST : MEMBER_COST + NEW_NAME_COST;
      names.add(hash);
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) costLeft -= CONTAINER_COST;
  }
  if (costLeft >= 0) return;
  throw new SvcError('body_too_large', 'The response has more objects and members than memory allows.', {
    hint: 'Use a smaller pageSize, or allow more with http.maxBodyMiB.',
  });
}
