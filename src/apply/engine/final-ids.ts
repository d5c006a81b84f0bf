import { blocks } from '../column-work.js';
import { mix } from '../ids/id-map.js';
import { joinHalves } from '../ids/int64.js';
import type { Note } from '../plan.js';
import type { TableColumn } from './table-facts.js';

const SAMPLES = 5;

/**
 * The values a column ends up with: whether two of them would be the same, and whether each fits. Fed once with
 * every distinct id.
 */
export class Finals {
  readonly #column: TableColumn;
  readonly #seen: Int64Set | null;
  #collisions = 0;
  readonly #collisionSamples: string[] = [];
  #misfits = 0;
  #topHi = 0;
  #topLo = 0;
  readonly #misfitSamples: string[] = [];

  /** `isUnique`: equal values would collide. */
  constructor(column: TableColumn, isUnique: boolean) {
    this.#column = column;
    this.#seen = isUnique ? new Int64Set() : null;
  }

  add(hi: number, lo: number, digits: () => string): void {
    this.#keepLargest(hi, lo);
    if (this.#seen !== null && !this.#seen.add(hi, lo)) {
      this.#collisions += 1;
      if (this.#collisionSamples.length < SAMPLES) this.#collisionSamples.push(digits());
    }
    if ((this.#column.range !== null || this.#column.maxChars !== null) && !this.#fits(digits())) {
      this.#misfits += 1;
      if (this.#misfitSamples.length < SAMPLES) this.#misfitSamples.push(digits());
    }
  }

  /** The largest of the values; 0 where all are negative. */
  largest(): bigint {
    return joinHalves(this.#topHi, this.#topLo);
  }

  notes(): Note[] {
    const { name, type } = this.#column;
    const found: Note[] = [];
    if (this.#collisions > 0) {
      const text = `${name}: ${this.#collisions} values would be there twice, but must be unique (${this.#collisionSamples.join(', ')}).`;
      found.push(blocks('collision', text));
    }
    if (this.#misfits > 0) {
      const text = `${name}: ${this.#misfits} new ids do not fit into ${type} (${this.#misfitSamples.join(', ')}).`;
      found.push(blocks('does_not_fit', text));
    }
    return found;
  }

  /** `hi` comes unsigned and says the sign in its highest bit. */
  #keepLargest(hi: number, lo: number): void {
    const signed = hi | 0;
    if (signed < this.#topHi || (signed === this.#topHi && lo <= this.#topLo)) return;
    this.#topHi = signed;
    this.#topLo = lo;
  }

  #fits(digits: string): boolean {
    const { range, maxChars } = this.#column;
    if (maxChars !== null) return digits.length <= maxChars;
    return range === null || (BigInt(digits) >= range[0] && BigInt(digits) <= range[1]);
  }
}

/** A growing set of 64-bit integers as halves. */
export class Int64Set {
  #hi = new Uint32Array(1024);
  #lo = new Uint32Array(1024);
  #used = new Uint8Array(1024);
  #size = 0;

  /** False where it was there already. */
  add(hi: number, lo: number): boolean {
    if (this.#size * 3 > this.#used.length * 2) this.#grow();
    const slot = this.#probe(hi, lo);
    if (this.#used[slot] === 1) return false;
    this.#put(slot, hi, lo);
    this.#size += 1;
    return true;
  }

  #probe(hi: number, lo: number): number {
    const mask = this.#used.length - 1;
    let slot = mix(hi, lo) & mask;
    while (this.#used[slot] === 1 && (this.#lo[slot] !== lo || this.#hi[slot] !== hi))
      slot = (slot + 1) & mask;
    return slot;
  }

  #put(slot: number, hi: number, lo: number): void {
    this.#used[slot] = 1;
    this.#hi[slot] = hi;
    this.#lo[slot] = lo;
  }

  #grow(): void {
    const [hi, lo, used] = [this.#hi, this.#lo, this.#used];
    this.#hi = new Uint32Array(hi.length * 2);
    this.#lo = new Uint32Array(lo.length * 2);
    this.#used = new Uint8Array(used.length * 2);
    for (let at = 0; at < used.length; at += 1) {
      const [h, l] = [hi[at] ?? 0, lo[at] ?? 0];
      if (used[at] === 1) this.#put(this.#probe(h, l), h, l);
    }
  }
}
