import { damaged } from '../store/checksum.js';

/** Ends a number; `char(31)` in SQL. */
const SEPARATOR = 0x1f;
const MINUS = 0x2d;
const ZERO = 0x30;

/**
 * Reads the values of many records from one blob, in which SQL put them one after another: to read them one by one takes five
 * times as long. Every number ends with a separator, and says how long the texts after it are.
 */
export class RecordBytes {
  bytes: Buffer = Buffer.alloc(0);
  /** The next byte. */
  at = 0;
  /** The digits of the number read last. */
  start = 0;
  end = 0;

  /** `bytes`: null for none. */
  open(bytes: Buffer | null): void {
    this.bytes = bytes ?? Buffer.alloc(0);
    this.at = 0;
  }

  get hasMore(): boolean {
    return this.at < this.bytes.length;
  }

  /**
   * Reads an integer; NaN if there is none. Beyond 2^53 it is rounded.
   *
   * @throws SvcError `corrupt_database` for any other value
   */
  number(): number {
    const { bytes } = this;
    this.start = this.at;
    const first = bytes[this.at] === MINUS ? this.at + 1 : this.at;
    let value = 0;
    let at = first;
    for (; at < bytes.length; at++) {
      const digit = (bytes[at] ?? 0) - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    if (bytes[at] !== SEPARATOR) throw damaged('A stored record');
    this.end = at;
    this.at = at + 1;
    if (at === first) return Number.NaN;
    return first === this.start ? value : -value;
  }

  /** The number read last as text. */
  digits(): string {
    return this.bytes.toString('latin1', this.start, this.end);
  }

  /** Passes over a text and returns where it begins. */
  skip(length: number): number {
    const start = this.at;
    this.at += length;
    if (!(length >= 0 && this.at <= this.bytes.length)) throw damaged('A stored record');
    return start;
  }
}

/** SQL that joins numbers, each with a separator, and then texts without any. */
export function bytesOf(numbers: readonly string[], texts: readonly string[]): string {
  const values = [...numbers.map((number) => `ifnull(${number}, '')`), texts.join(' || ')];
  return `CAST(group_concat(concat_ws(char(31), ${values.join(', ')}), '') AS BLOB)`;
}

/** SQL for the bytes of a text or blob; 0 for null. */
export const lengthOf = (value: string): string => `ifnull(octet_length(${value}), 0)`;

/** Hashes bytes; with another odd `factor`, the hashes are independent. */
export function hashBytes(bytes: Uint8Array, start: number, end: number, factor = 0x01000193): number {
  let hash = factor;
  for (let at = start; at < end; at++) {
    hash = Math.imul(hash ^ (bytes[at] ?? 0), factor);
    hash ^= hash >>> 13;
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
