import { blocks } from '../column-work.js';
import { type Id, IdSet } from '../ids/model-ids.js';
import type { Note } from '../plan.js';
import type { TableColumn } from './table-facts.js';

const SAMPLES = 5;

/**
 * The values a column ends up with: whether two of them would be the same, and whether each fits. Fed once with
 * every distinct id.
 */
export class Finals {
  readonly #column: TableColumn;
  readonly #seen: IdSet | null;
  #collisions = 0;
  readonly #collisionSamples: string[] = [];
  #misfits = 0;
  #largest: Id = 0;
  readonly #misfitSamples: string[] = [];

  /** `isUnique`: equal values would collide. */
  constructor(column: TableColumn, isUnique: boolean) {
    this.#column = column;
    this.#seen = isUnique ? new IdSet() : null;
  }

  add(id: Id): void {
    if (id > this.#largest) this.#largest = id;
    if (this.#seen?.add(id) === false) {
      this.#collisions += 1;
      if (this.#collisionSamples.length < SAMPLES) this.#collisionSamples.push(String(id));
    }
    if (!this.#fits(id)) {
      this.#misfits += 1;
      if (this.#misfitSamples.length < SAMPLES) this.#misfitSamples.push(String(id));
    }
  }

  /** The largest of the values; 0 where all are negative. */
  largest(): bigint {
    return BigInt(this.#largest);
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

  #fits(id: Id): boolean {
    const { range, maxChars } = this.#column;
    if (maxChars !== null) return String(id).length <= maxChars;
    return range === null || (id >= range[0] && id <= range[1]);
  }
}
