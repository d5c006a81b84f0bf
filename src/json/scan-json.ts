import { advance, isAtEnd, type JsonPath, type Step, startPlaces } from './json-path.js';

export type HitKind = 'number' | 'string' | 'null' | 'other';

/** A value that a path points at; `start` and `end` include a string's quotes. */
export interface Hit {
  /** Index of the path. */
  readonly path: number;
  readonly kind: HitKind;
  readonly start: number;
  readonly end: number;
}

/** Where and why bytes are no JSON. */
export class NotJson extends Error {
  readonly at: number;

  constructor(what: string, at: number) {
    super(what);
    this.name = 'NotJson';
    this.at = at;
  }
}

const MAX_DEPTH = 500;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Finds the values that paths point at in one JSON value, in the order of the text. Every byte is checked
 * against the JSON grammar.
 *
 * @throws NotJson
 */
export function scanJson(bytes: Uint8Array, start: number, end: number, paths: readonly JsonPath[]): Hit[] {
  const scan = new Scan(bytes, end, paths);
  scan.at = start;
  scan.skipSpace();
  scan.value(paths.map(startPlaces), 0);
  scan.skipSpace();
  if (scan.at < end) throw new NotJson('has more than one value', scan.at);
  return scan.hits;
}

class Scan {
  at = 0;
  readonly hits: Hit[] = [];
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #paths: readonly JsonPath[];
  readonly #nowhere: readonly number[];

  constructor(bytes: Uint8Array, end: number, paths: readonly JsonPath[]) {
    this.#bytes = bytes;
    this.#end = end;
    this.#paths = paths;
    this.#nowhere = paths.map(() => 0);
  }

  skipSpace(): void {
    for (; this.at < this.#end; this.at += 1) {
      const byte = this.#bytes[this.at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return;
    }
  }

  value(places: readonly number[], depth: number): void {
    if (depth > MAX_DEPTH) throw new NotJson(`is nested deeper than ${MAX_DEPTH}`, this.at);
    const start = this.at;
    const hit = this.hits.length;
    const kind = this.#valueOfKind(places, depth);
    const found = this.#hitsOf(places, kind, start);
    // In the order of the text: an object's own hit comes before those inside it.
    if (found.length > 0) this.hits.splice(hit, 0, ...found);
  }

  #hitsOf(places: readonly number[], kind: HitKind, start: number): Hit[] {
    if (places === this.#nowhere) return [];
    return this.#paths.flatMap((path, index) =>
      isAtEnd(path, places[index] ?? 0) ? [{ path: index, kind, start, end: this.at }] : [],
    );
  }

  #valueOfKind(places: readonly number[], depth: number): HitKind {
    switch (this.#bytes[this.at]) {
      case QUOTE:
        this.#string();
        return 'string';
      case 0x7b:
        this.#object(places, depth);
        return 'other';
      case 0x5b:
        this.#array(places, depth);
        return 'other';
      case 0x6e:
        this.#word('null');
        return 'null';
      case 0x74:
        this.#word('true');
        return 'other';
      case 0x66:
        this.#word('false');
        return 'other';
      default:
        this.#number();
        return 'number';
    }
  }

  #object(places: readonly number[], depth: number): void {
    this.at += 1;
    this.skipSpace();
    if (this.#takes(0x7d)) return;
    for (;;) {
      const start = this.at;
      if (this.#bytes[start] !== QUOTE || start >= this.#end) throw new NotJson('lacks a member name', start);
      this.#string();
      const inner = this.#inside(places, this.#keyMatcher(places, start + 1, this.at - 1));
      this.skipSpace();
      if (!this.#takes(0x3a)) throw new NotJson('lacks a colon', this.at);
      this.skipSpace();
      this.value(inner, depth + 1);
      this.skipSpace();
      if (this.#takes(0x7d)) return;
      if (!this.#takes(0x2c)) throw new NotJson('lacks a comma or }', this.at);
      this.skipSpace();
    }
  }

  #array(places: readonly number[], depth: number): void {
    this.at += 1;
    this.skipSpace();
    if (this.#takes(0x5d)) return;
    for (let index = 0; ; index += 1) {
      const matches = (step: Step) => step.kind === 'any' || (step.kind === 'index' && step.at === index);
      this.value(this.#inside(places, matches), depth + 1);
      this.skipSpace();
      if (this.#takes(0x5d)) return;
      if (!this.#takes(0x2c)) throw new NotJson('lacks a comma or ]', this.at);
      this.skipSpace();
    }
  }

  #inside(places: readonly number[], matches: (step: Step) => boolean): readonly number[] {
    if (places === this.#nowhere) return places;
    const inner = this.#paths.map((path, index) => advance(path, places[index] ?? 0, matches));
    return inner.every((one) => one === 0) ? this.#nowhere : inner;
  }

  #keyMatcher(places: readonly number[], start: number, end: number): (step: Step) => boolean {
    if (places === this.#nowhere) return () => false;
    const raw = this.#bytes.subarray(start, end);
    if (!raw.includes(BACKSLASH)) {
      return (step) => step.kind === 'any' || (step.kind === 'key' && sameBytes(step.bytes, raw));
    }
    const name: unknown = JSON.parse(new TextDecoder().decode(this.#bytes.subarray(start - 1, end + 1)));
    return (step) => step.kind === 'any' || (step.kind === 'key' && step.name === name);
  }

  #string(): void {
    const start = this.at;
    for (let at = start + 1; at < this.#end; at += 1) {
      const byte = this.#bytes[at] ?? 0;
      if (byte === QUOTE) {
        this.at = at + 1;
        return;
      }
      if (byte === BACKSLASH) at = this.#escape(at);
      else if (byte < 0x20) throw new NotJson('has a control character in a string', at);
    }
    throw new NotJson('has an unfinished string', start);
  }

  /** The last byte of the escape sequence that begins at `at`. */
  #escape(at: number): number {
    const next = this.#bytes[at + 1] ?? 0;
    if (next !== 0x75) {
      if (at + 1 < this.#end && ESCAPES.includes(next)) return at + 1;
      throw new NotJson('has an unknown escape', at);
    }
    for (let digit = at + 2; digit < at + 6; digit += 1) {
      if (digit >= this.#end || !isHex(this.#bytes[digit] ?? 0))
        throw new NotJson('has an unknown escape', at);
    }
    return at + 5;
  }

  #number(): void {
    const start = this.at;
    while (this.at < this.#end && NUMBER_BYTES.includes(this.#bytes[this.at] ?? 0)) this.at += 1;
    const text = Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + start, this.at - start);
    if (!NUMBER.test(text.toString('latin1'))) throw new NotJson('has something that is no value', start);
  }

  #word(word: string): void {
    for (let index = 0; index < word.length; index += 1) {
      const byte = this.at + index < this.#end ? this.#bytes[this.at + index] : undefined;
      if (byte !== word.charCodeAt(index)) throw new NotJson('has something that is no value', this.at);
    }
    this.at += word.length;
  }

  #takes(byte: number): boolean {
    if (this.at >= this.#end || this.#bytes[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const NUMBER_BYTES = Buffer.from('0123456789-+.eE');
const ESCAPES = Buffer.from('"\\/bfnrt');

function isHex(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
