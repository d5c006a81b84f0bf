import { countOf } from '../../text/numbers.js';
import { NamedRows } from '../context.js';
import { type Id, IdSet } from '../ids/model-ids.js';
import { blocksOf, type Note } from '../plan.js';
import type { TableColumn } from './table-facts.js';

const SAMPLES = 5;

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
  readonly #collisions = new NamedRows();
  readonly #misfits = new NamedRows();
  #largest: Id = 0;

  /** `isUnique`: the column must not hold equal values. */
  constructor(column: CheckedColumn, isUnique: boolean) {
    this.#column = column;
    this.#seen = isUnique ? new IdSet() : null;
  }

  add(id: Id | string): void {
    if (typeof id !== 'string' && id > this.#largest) this.#largest = id;
    if (this.#seen?.add(id) === false) this.#collisions.add(String(id));
    if (!this.#fits(id)) this.#misfits.add(String(id));
  }

  /** The largest number that was added; 0 if none is positive. */
  largest(): bigint {
    return BigInt(this.#largest);
  }

  notes(): Note[] {
    const { name, type } = this.#column;
    return blocksOf({
      collision: describeCollisions(name, this.#collisions),
      does_not_fit: describe(name, this.#misfits, `would not fit into ${type}`),
    });
  }

  #fits(id: Id | string): boolean {
    const { range, maxChars, allowsNulCharacter = true } = this.#column;
    if (!allowsNulCharacter && typeof id === 'string' && id.includes('\0')) return false;
    if (maxChars !== null) return [...String(id)].length <= maxChars;
    return range === null || typeof id === 'string' || (id >= range[0] && id <= range[1]);
  }
}

function describe(name: string, { count, names }: NamedRows, what: string): string | false {
  return count > 0 && `${name}: ${countOf(count, 'value')} ${what} (${names.slice(0, SAMPLES).join(', ')}).`;
}

/** Values of a column that several rows would hold. */
export function describeCollisions(name: string, values: NamedRows): string | false {
  const text = describe(name, values, 'would occur twice, but must be unique');
  return text && `${text} A new column (without --in-place) may hold both.`;
}
