import type { PlanCount } from '../plan.js';
import type { Category } from './id-form.js';
import type { Id, ModelIds } from './model-ids.js';
import type { CellResolver, RowScope } from './resolver.js';

/** The most distinct values of one category, not in the remap, that are counted exactly. */
const COUNTED_UNKNOWNS = 1_000_000;
const SAMPLES = 5;
const SAMPLE_CHARS = 64;

/** The counts of a column, independent of the order of its values. */
export interface Tallied {
  readonly counts: readonly PlanCount[];
  /** A hash of all values, their scopes and their frequencies: changes when the data do. */
  readonly digest: string;
}

interface Counter {
  rows: number;
  ids: number;
  readonly bits: Map<ModelIds, Uint8Array>;
  readonly texts: Set<string>;
  /** The smallest few values. */
  readonly samples: string[];
}

/** Counts values by the category that a resolver gives them. */
export class ColumnTally {
  readonly #resolver: CellResolver;
  readonly #counters = new Map<Category, Counter>();
  #digestA = 0;
  #digestB = 0;

  constructor(resolver: CellResolver) {
    this.#resolver = resolver;
  }

  /**
   * Counts the value that the resolver looked up last. `text` is called only if the value itself is needed: for ids
   * that are not in the remap, and for samples. Returns whether the value is new in its category.
   */
  add(category: Category, text: () => string, scope: RowScope, rows = 1): boolean {
    const { ids, slot, id } = this.#resolver;
    const counter = this.#counterOf(category);
    counter.rows += rows;
    if (ids === null || id === null || slot < 0) return this.#addText(counter, category, text(), scope, rows);
    this.#digest(hashId(id), scope, rows);
    if (!setBit(bitsOf(counter, ids), slot)) return false;
    counter.ids += 1;
    if (category !== 'mapped') keepSmallest(counter.samples, text());
    return true;
  }

  result(): Tallied {
    const counts = [...this.#counters].map(([name, { rows, ids, texts, samples }]) => ({
      ...{ name, rows, ids, samples },
      atLeast: texts.size >= COUNTED_UNKNOWNS,
    }));
    return {
      counts: counts.sort((a, b) => (a.name < b.name ? -1 : 1)),
      digest: hex(this.#digestA) + hex(this.#digestB),
    };
  }

  #addText(counter: Counter, category: Category, text: string, scope: RowScope, rows: number): boolean {
    this.#digest(hashText(text), scope, rows);
    const known = counter.texts.size;
    if (text === '' || known >= COUNTED_UNKNOWNS || counter.texts.add(text).size === known) return false;
    counter.ids += 1;
    if (category !== 'mapped') keepSmallest(counter.samples, text);
    return true;
  }

  #counterOf(category: Category): Counter {
    let counter = this.#counters.get(category);
    if (counter === undefined) {
      counter = { rows: 0, ids: 0, bits: new Map(), texts: new Set(), samples: [] };
      this.#counters.set(category, counter);
    }
    return counter;
  }

  /** Adds to two independent sums, which do not depend on the order of values. */
  #digest(hash: number, scope: RowScope, rows: number): void {
    let h = hash;
    if (scope.model !== null) h = mix(h, hashText(scope.model));
    if (scope.region !== null) h = mix(h, hashText(scope.region) ^ 1);
    if (scope.company !== null) h = mix(h, hashText(scope.company) ^ 2);
    this.#digestA = (this.#digestA + Math.imul(h, rows)) >>> 0;
    this.#digestB = (this.#digestB + Math.imul(mix(h, 0x5bd1_e995), rows)) >>> 0;
  }
}

function bitsOf(counter: Counter, ids: ModelIds): Uint8Array {
  let bits = counter.bits.get(ids);
  if (bits === undefined) {
    bits = new Uint8Array(Math.ceil(ids.answers.length / 8));
    counter.bits.set(ids, bits);
  }
  return bits;
}

/** Sets a bit; returns whether it was unset. */
function setBit(bits: Uint8Array, at: number): boolean {
  const byte = bits[at >>> 3] ?? 0;
  const mask = 1 << (at & 7);
  if ((byte & mask) !== 0) return false;
  bits[at >>> 3] = byte | mask;
  return true;
}

/** Orders by length, then by text, which sorts digits by number. */
function keepSmallest(samples: string[], text: string): void {
  const value = text.slice(0, SAMPLE_CHARS);
  const last = samples.at(-1);
  if (samples.length === SAMPLES && last !== undefined && !isSmaller(value, last)) return;
  samples.push(value);
  samples.sort((a, b) => (isSmaller(a, b) ? -1 : 1));
  if (samples.length > SAMPLES) samples.pop();
}

function isSmaller(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}

/** A 32-bit hash of the two halves of an id. */
function hashId(id: Id): number {
  if (typeof id === 'number') return mix(Math.floor(id / 2 ** 32), id);
  return mix(Number(BigInt.asIntN(32, id >> 32n)), Number(BigInt.asIntN(32, id)));
}

/** The finaliser of MurmurHash3 over the lowest 32 bits of two integers. */
function mix(hi: number, lo: number): number {
  let h = lo ^ Math.imul(hi, 0x9e37_79b1);
  h = Math.imul(h ^ (h >>> 16), 0x85eb_ca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2_ae35);
  return (h ^ (h >>> 16)) >>> 0;
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
