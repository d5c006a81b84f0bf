import { type Id, IdSet } from '../ids/model-ids.js';
import { blocks, type Note } from '../plan.js';
import type { TableColumn } from './table-facts.js';

const SAMPLES = 5;

/** The number of faulty values, and the first few. */
interface Faults {
  count: number;
  readonly samples: string[];
}

function addFault(faults: Faults, id: Id | string): void {
  faults.count += 1;
  if (faults.samples.length < SAMPLES) faults.samples.push(String(id));
}

type CheckedColumn = Pick<TableColumn, 'name' | 'type' | 'range' | 'maxChars'> & {
  /** Whether the type can store the character U+0000; by default it can. */
  readonly allowsNulCharacter?: boolean;
};

/**
 * Checks the values that a column will hold, which are ids or texts with ids inside: whether each fits the type, and
 * whether different old values become the same value of a unique column. Call `add` once for each distinct old value.
 */
export class FinalIds {
  readonly #column: CheckedColumn;
  readonly #seen: IdSet | null;
  readonly #collisions: Faults = { count: 0, samples: [] };
  readonly #misfits: Faults = { count: 0, samples: [] };
  #largest: Id = 0;

  /** `isUnique`: the column must not hold equal values. */
  constructor(column: CheckedColumn, isUnique: boolean) {
    this.#column = column;
    this.#seen = isUnique ? new IdSet() : null;
  }

  add(id: Id | string): void {
    if (typeof id !== 'string' && id > this.#largest) this.#largest = id;
    if (this.#seen?.add(id) === false) addFault(this.#collisions, id);
    if (!this.#fits(id)) addFault(this.#misfits, id);
  }

  /** The largest number that was added; 0 if none is positive. */
  largest(): bigint {
    return BigInt(this.#largest);
  }

  notes(): Note[] {
    const { name, type } = this.#column;
    const [collisions, misfits] = [this.#collisions, this.#misfits];
    const found: Note[] = [];
    if (collisions.count > 0) {
      const text = `${name}: ${collisions.count} values would occur twice, but must be unique (${collisions.samples.join(', ')}).`;
      found.push(blocks('collision', text));
    }
    if (misfits.count > 0) {
      const text = `${name}: ${misfits.count} new ids do not fit into ${type} (${misfits.samples.join(', ')}).`;
      found.push(blocks('does_not_fit', text));
    }
    return found;
  }

  #fits(id: Id | string): boolean {
    const { range, maxChars, allowsNulCharacter = true } = this.#column;
    if (!allowsNulCharacter && typeof id === 'string' && id.includes('\0')) return false;
    if (maxChars !== null) return [...String(id)].length <= maxChars;
    return range === null || typeof id === 'string' || (id >= range[0] && id <= range[1]);
  }
}
