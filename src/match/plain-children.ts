import { OPEN_ARRAY, QUOTE, ZERO } from '../json/json-scanner.js';

/** Children of a record that are read; a record with more is not plain. */
const MOST = 8;
/** As many digits are below 2^53. */
const EXACT_DIGITS = 15;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const CLOSE_ARRAY = 0x5d;
const NO_UNIQUE_ID = Buffer.from(',null,0]');

/** The fields of children by number. */
export class FieldNames {
  readonly names: string[] = [];
  readonly #bytes: Buffer[] = [];

  numberOf(bytes: Uint8Array, start: number, end: number): number {
    for (let number = 0; number < this.#bytes.length; number++) {
      const known = this.#bytes[number];
      if (known !== undefined && areSame(known, 0, known.length, bytes, start, end)) return number;
    }
    const name = Buffer.from(bytes.subarray(start, end));
    this.names.push(name.toString('utf8'));
    return this.#bytes.push(name) - 1;
  }
}

/** Few live children, each with a key and without a unique id, as bytes: what most records have. See `stored-lists.ts`. */
export class PlainChildren {
  length = 0;
  readonly ids = new Float64Array(MOST);
  readonly fields = new Uint16Array(MOST);
  readonly #names: FieldNames;
  /** The keys are these ranges of `bytes`. */
  readonly keyStarts = new Uint32Array(MOST);
  readonly keyEnds = new Uint32Array(MOST);
  bytes: Buffer = Buffer.alloc(0);

  constructor(names: FieldNames) {
    this.#names = names;
  }

  /** Reads the children that are stored in these bytes; returns false if they are not plain. */
  read(bytes: Buffer, start: number, end: number): boolean {
    this.bytes = bytes;
    this.length = 0;
    for (let at = start + 1; at < end; ) {
      if (this.length === MOST || bytes[at] !== OPEN_ARRAY || bytes[at + 1] !== QUOTE) return false;
      const fieldEnd = endOfText(bytes, at + 2, end);
      if (fieldEnd === end) return false;
      this.fields[this.length] = this.#names.numberOf(bytes, at + 2, fieldEnd);
      at = fieldEnd + 3;
      const idStart = at;
      let id = 0;
      for (let digit = 0; ; at++) {
        digit = (bytes[at] ?? 0) - ZERO;
        if (digit < 0 || digit > 9) break;
        id = id * 10 + digit;
      }
      if (at - idStart > EXACT_DIGITS || bytes[at] !== QUOTE || bytes[at + 2] !== QUOTE) return false;
      this.ids[this.length] = id;
      const keyEnd = endOfText(bytes, at + 3, end);
      this.keyStarts[this.length] = at + 3;
      this.keyEnds[this.length] = keyEnd;
      at = keyEnd + 1 + NO_UNIQUE_ID.length;
      if (keyEnd === end || !areSame(NO_UNIQUE_ID, 0, NO_UNIQUE_ID.length, bytes, keyEnd + 1, at))
        return false;
      this.length += 1;
      if (bytes[at] === CLOSE_ARRAY && at === end - 1) return this.#areDistinct();
      if (bytes[at] !== COMMA) return false;
      at += 1;
    }
    return start === end;
  }

  /** Whether these have the fields and keys of others, in the same order. */
  areLike(others: PlainChildren): boolean {
    if (this.length !== others.length) return false;
    for (let at = 0; at < this.length; at++) if (!this.#isLike(at, others, at)) return false;
    return true;
  }

  #areDistinct(): boolean {
    for (let at = 1; at < this.length; at++) {
      for (let before = 0; before < at; before++) if (this.#isLike(at, this, before)) return false;
    }
    return true;
  }

  #isLike(at: number, other: PlainChildren, otherAt: number): boolean {
    return (
      this.fields[at] === other.fields[otherAt] &&
      areSame(
        this.bytes,
        this.keyStarts[at] ?? 0,
        this.keyEnds[at] ?? 0,
        other.bytes,
        other.keyStarts[otherAt] ?? 0,
        other.keyEnds[otherAt] ?? 0,
      )
    );
  }
}

/** The quote that ends a text without escapes; `end` if there is none. */
function endOfText(bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) return end;
  }
  return end;
}

function areSame(
  a: Uint8Array,
  start: number,
  end: number,
  b: Uint8Array,
  otherStart: number,
  otherEnd: number,
): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  for (let at = start; at < end; at++) if (a[at] !== b[otherStart + at - start]) return false;
  return true;
}
