import { MAX_INT64, MIN_INT64 } from '../domain.js';
import { type JsonScanner, MINUS, QUOTE } from '../json/json-scanner.js';
import type { Members } from '../json/members.js';

const ZERO = 0x30;
/** Every integer of so many digits is exact as a JavaScript number. */
const EXACT_DIGITS = 15;

/** The value of an integer literal within signed 64 bits, or null for every other JSON value. */
export function parseInt64(bytes: Uint8Array, start: number, end: number): bigint | null {
  if (!isIntegerLiteral(bytes, start, end)) return null;
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (end - first > EXACT_DIGITS) return parseLong(bytes, start, end);
  let value = 0;
  for (let i = first; i < end; i++) value = value * 10 + (bytes[i] ?? 0) - ZERO;
  return BigInt(first === start ? value : -value);
}

/** A non-negative integer literal of at most 15 digits as a number, or -1. */
export function parseSmallId(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > EXACT_DIGITS) return -1;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = (bytes[i] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

function parseLong(bytes: Uint8Array, start: number, end: number): bigint | null {
  // leading zeros are no JSON, so more characters are more than 64 bits
  if (end - start > 20) return null;
  const value = BigInt(Buffer.from(bytes.subarray(start, end)).toString('latin1'));
  return value < MIN_INT64 || value > MAX_INT64 ? null : value;
}

/** True where the walked JSON value is an integer without fraction and exponent. */
function isIntegerLiteral(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start;
  for (let i = first; i < end; i++) {
    const digit = (bytes[i] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return false;
  }
  return first < end;
}

/**
 * The join key of a member: a non-empty string, or an integer literal's digits as written. Null for
 * everything else: absent, null, fraction, object, a text that is not valid Unicode.
 */
export function parsePlatformKey(scanner: JsonScanner, members: Members, slot: number): string | null {
  if (!isPlatformKey(scanner, members, slot)) return null;
  if (members.kind(slot) === QUOTE) return members.text(slot);
  return scanner.ascii(members.start(slot), members.end(slot));
}

/** Whether a member can be a join key. */
export function isPlatformKey(scanner: JsonScanner, members: Members, slot: number): boolean {
  const kind = members.kind(slot);
  if (kind === 0) return false;
  if (kind !== QUOTE) return isIntegerLiteral(scanner.bytes, members.start(slot), members.end(slot));
  if (members.isEmptyText(slot)) return false;
  // only an escape can smuggle a lone surrogate into valid UTF-8
  return !members.isEscaped(slot) || !/\p{Surrogate}/u.test(members.text(slot));
}
