import { ZERO } from '../json/json-scanner.js';
import { checkedValue, damaged, RECORD_COLUMNS } from '../store/checksum.js';

/** Ends a number or a checked value; `char(31)` in SQL. */
const SEPARATOR = 0x1f;
const MINUS = 0x2d;
const LETTER_P = 0x70;

/** Columns whose lengths are before the values, because they can hold any byte. */
const SIZED = ['platform_id', 'unique_id', 'children', 'members'] as const;
type Column = (typeof RECORD_COLUMNS)[number];

/**
 * SQL that joins records to one blob, in the order of their ids, for `StoredRecords`: to read them one by one takes five
 * times as long.
 *
 * @param where the condition, the order and a limit
 * @param columns others are taken as null; the checksum does not fit then
 */
export function selectRecords(where: string, columns: readonly Column[] = RECORD_COLUMNS): string {
  const lengths = SIZED.map((one) => (columns.includes(one) ? `ifnull(octet_length(${one}), '')` : "''"));
  const values = RECORD_COLUMNS.map((one) =>
    columns.includes(one) ? checkedValue(one) : checkedValue('NULL'),
  );
  return `
    SELECT CAST(group_concat(bytes, '') AS BLOB) FROM (
      SELECT concat_ws(char(31), id, checksum, ${[...lengths, ...values].join(', ')}, '') AS bytes
        FROM record NOT INDEXED WHERE ${where})`;
}

/** Bytes of a blob; none for null. */
class Range {
  start = 0;
  end = 0;
}

/** Reads the records of a blob, one after another. */
export class StoredRecords {
  bytes: Buffer = Buffer.alloc(0);
  id = 0;
  checksum = 0;
  streamId = 0;
  hasPayload = false;
  /** Rounded beyond 2^53, as `companyId`. */
  svcId = 0;
  readonly svcDigits = new Range();
  companyId = 0;
  readonly companyDigits = new Range();
  deleted = 0;
  /** ms since 1970; NaN for none. */
  latestMs = 0;
  fromPlatform = false;
  createdMs = 0;
  readonly key = new Range();
  readonly uniqueId = new Range();
  readonly children = new Range();
  readonly members = new Range();
  /** What the checksum is of. */
  readonly checked = new Range();
  /** The next byte. */
  #at = 0;

  /** `bytes`: null for none. */
  open(bytes: Buffer | null): void {
    this.bytes = bytes ?? Buffer.alloc(0);
    this.#at = 0;
  }

  /**
   * Reads the next record; returns false if there is none.
   *
   * @throws SvcError `corrupt_database`
   */
  next(): boolean {
    if (this.#at === this.bytes.length) return false;
    this.id = this.#number();
    this.checksum = this.#number();
    const [key, uniqueId, children, members] = [
      this.#number(),
      this.#number(),
      this.#number(),
      this.#number(),
    ];
    this.checked.start = this.#at;
    this.streamId = this.#number();
    this.svcId = this.#number(this.svcDigits);
    this.hasPayload = !Number.isNaN(this.#number());
    this.companyId = this.#number(this.companyDigits);
    this.#text(key, this.key);
    this.#text(uniqueId, this.uniqueId);
    this.deleted = this.#number();
    this.#number();
    this.latestMs = this.#number();
    this.#origin();
    this.createdMs = this.#number();
    this.#text(children, this.children);
    this.#text(members, this.members);
    this.checked.end = this.#at - 1;
    return true;
  }

  exactSvcId(): bigint {
    const { start, end } = this.svcDigits;
    return BigInt(Number.isSafeInteger(this.svcId) ? this.svcId : this.bytes.toString('latin1', start, end));
  }

  /** Passes over a number; NaN if there is none. */
  #number(digits?: Range): number {
    const { bytes } = this;
    const start = this.#at;
    const first = bytes[start] === MINUS ? start + 1 : start;
    let value = 0;
    let at = first;
    for (; at < bytes.length; at++) {
      const digit = (bytes[at] ?? 0) - ZERO;
      if (digit < 0) break;
      value = value * 10 + digit;
    }
    if (digits !== undefined) {
      digits.start = start;
      digits.end = at;
    }
    const isNone = at === first;
    // null is a byte 0 among checked values
    if (bytes[at] === 0) at += 1;
    this.#at = at;
    this.#separator();
    if (isNone) return Number.NaN;
    return first === start ? value : -value;
  }

  /** Passes over a text; null is a byte 0. */
  #text(length: number, range: Range): void {
    range.start = this.#at;
    this.#at += Number.isNaN(length) ? 1 : length;
    range.end = Number.isNaN(length) ? range.start : this.#at;
    this.#separator();
  }

  /** Passes over the origin of a date. */
  #origin(): void {
    const { bytes } = this;
    this.fromPlatform = bytes[this.#at] === LETTER_P;
    while (this.#at < bytes.length && bytes[this.#at] !== SEPARATOR) this.#at += 1;
    this.#separator();
  }

  #separator(): void {
    if (this.bytes[this.#at] !== SEPARATOR) throw damaged('A stored record');
    this.#at += 1;
  }
}

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
