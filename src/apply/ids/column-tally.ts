import { type IdMap, mix } from './id-map.js';
import { type Category, categoryKey, MAPPED_CATEGORY, type Resolver, type RowScope } from './resolver.js';

/** How many values of one category are counted exactly where the remap does not know them. */
const COUNTED_UNKNOWNS = 1_000_000;
const SAMPLES = 5;
const SAMPLE_CHARS = 64;

/** Rows and distinct ids of one category. */
export interface Count {
  readonly category: Category;
  readonly rows: number;
  readonly ids: number;
  /** True where `ids` stopped counting. */
  readonly atLeast: boolean;
  /** The smallest few values. */
  readonly samples: readonly string[];
}

/** What a column holds. The order in which values came in makes no difference. */
export interface Tallied {
  readonly rows: number;
  readonly counts: readonly Count[];
  /** Of all values with their scopes and how often they occur: changes when the data do. */
  readonly digest: string;
}

interface Counter {
  rows: number;
  ids: number;
  readonly bits: Map<IdMap, Uint8Array>;
  readonly texts: Set<string>;
  readonly samples: string[];
}

/** Counts what a resolver says of each value. */
export class ColumnTally {
  readonly #resolver: Resolver;
  readonly #counters: Counter[] = [];
  #rows = 0;
  #digestA = 0;
  #digestB = 0;

  constructor(resolver: Resolver) {
    this.#resolver = resolver;
  }

  /**
   * Counts the value that the resolver looked up last. `text` is called where the value itself is needed:
   * for ids that are not in the map, and for samples. True where the value is a new one in its category.
   */
  add(place: number, text: () => string, scope: RowScope, rows = 1): boolean {
    const { map, slot } = this.#resolver;
    const counter = this.#counterOf(place);
    counter.rows += rows;
    this.#rows += rows;
    if (map !== null && slot >= 0) {
      this.#digest(mix(this.#resolver.hi, this.#resolver.lo), scope, rows);
      if (!setBit(bitsOf(counter, map), slot)) return false;
      counter.ids += 1;
      if (place !== MAPPED_CATEGORY) keepSmallest(counter.samples, text);
      return true;
    }
    return this.#addUnmapped(counter, text(), scope, rows);
  }

  result(): Tallied {
    const counts = this.#counters.map((counter, place) => this.#countOf(counter, place));
    const present = counts.filter((count) => count.rows > 0);
    return {
      rows: this.#rows,
      counts: present.sort((a, b) => (categoryKey(a.category) < categoryKey(b.category) ? -1 : 1)),
      digest: hex(this.#digestA) + hex(this.#digestB),
    };
  }

  #countOf(counter: Counter, place: number): Count {
    const { rows, ids, texts, samples } = counter;
    const category = this.#resolver.categories[place] ?? { kind: 'empty' };
    return { category, rows, ids, atLeast: texts.size >= COUNTED_UNKNOWNS, samples };
  }

  #addUnmapped(counter: Counter, text: string, scope: RowScope, rows: number): boolean {
    this.#digest(hashText(text), scope, rows);
    if (text === '' || counter.texts.size >= COUNTED_UNKNOWNS || counter.texts.has(text)) return false;
    counter.texts.add(text);
    counter.ids += 1;
    keepSmallest(counter.samples, () => text);
    return true;
  }

  #counterOf(place: number): Counter {
    let counter = this.#counters[place];
    while (counter === undefined) {
      this.#counters.push({ rows: 0, ids: 0, bits: new Map(), texts: new Set(), samples: [] });
      counter = this.#counters[place];
    }
    return counter;
  }

  /** Two independent sums, so that values may come in any order. */
  #digest(hash: number, scope: RowScope, rows: number): void {
    let h = hash;
    if (scope.model !== null) h = mix(h, hashText(scope.model));
    if (scope.region !== null) h = mix(h, hashText(scope.region) ^ 1);
    if (scope.company !== null) h = mix(h, hashText(scope.company) ^ 2);
    this.#digestA = (this.#digestA + Math.imul(h, rows)) >>> 0;
    this.#digestB = (this.#digestB + Math.imul(mix(h, 0x5bd1_e995), rows)) >>> 0;
  }
}

function bitsOf(counter: Counter, map: IdMap): Uint8Array {
  let bits = counter.bits.get(map);
  if (bits === undefined) {
    bits = new Uint8Array(Math.ceil(map.capacity / 8));
    counter.bits.set(map, bits);
  }
  return bits;
}

/** True where the bit was not set yet. */
function setBit(bits: Uint8Array, at: number): boolean {
  const byte = bits[at >>> 3] ?? 0;
  const mask = 1 << (at & 7);
  if ((byte & mask) !== 0) return false;
  bits[at >>> 3] = byte | mask;
  return true;
}

/** Shorter first, then by text: digits in the order of their numbers. */
function keepSmallest(samples: string[], text: () => string): void {
  const value = text().slice(0, SAMPLE_CHARS);
  const last = samples.at(-1);
  if (samples.length === SAMPLES && last !== undefined && !isSmaller(value, last)) return;
  samples.push(value);
  samples.sort((a, b) => (isSmaller(a, b) ? -1 : 1));
  if (samples.length > SAMPLES) samples.pop();
}

function isSmaller(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}

/** FNV-1a over UTF-16 units. */
function hashText(text: string): number {
  let h = 0x811c_9dc5;
  for (let at = 0; at < text.length; at += 1) h = Math.imul(h ^ text.charCodeAt(at), 0x0100_0193);
  return h >>> 0;
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}
