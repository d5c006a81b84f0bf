import type { RecordFacts } from '../api/record-facts.js';
import { append } from '../text/rows.js';
import { compareFacts } from './fact-reader.js';

export interface CompanyRecord {
  readonly company: number;
  readonly facts: RecordFacts;
}

type Bucket = readonly CompanyRecord[];

type Shape = ReadonlyMap<string, Bucket>;

/** Limits on the records that one record is compared with, and on shapes. Beyond them, records are not compared. */
const MAX_COMPARED = 64;
const MAX_SHAPES = 64;

/**
 * Finds the records of one key that agree with a given one, without comparing every pair.
 *
 * Two records agree if more than half of their common fields are equal. So at least one field is equal in any half of
 * the common fields, and it is enough to compare records that share a value in the half with the rarest values. If these
 * are too many, they are not compared, and it stays unknown which of them agree.
 */
export class FactIndex {
  readonly #shapes: ReadonlyMap<string, Shape>;
  readonly #records: readonly CompanyRecord[];

  constructor(records: readonly CompanyRecord[]) {
    this.#records = [
      ...new Map(records.map((record) => [`${record.company} ${record.facts}`, record])).values(),
    ];
    const shapes = new Map<string, Map<string, CompanyRecord[]>>();
    for (const record of this.#records) {
      const fields = fieldsOf(record.facts);
      const shape = shapes.get(fields.join()) ?? new Map<string, CompanyRecord[]>();
      shapes.set(fields.join(), shape);
      for (const field of fields) append(shape, `${field} ${record.facts[field]}`, record);
    }
    this.#shapes = shapes;
  }

  /** The companies with a record that agrees, and records of which it is unknown whether they do. */
  find(facts: RecordFacts): {
    readonly companies: ReadonlySet<number>;
    readonly uncompared: readonly Bucket[];
  } {
    if (this.#shapes.size > MAX_SHAPES) return { companies: new Set(), uncompared: [this.#records] };
    const companies = new Set<number>();
    const uncompared: Bucket[] = [];
    const fieldsOfRecord = fieldsOf(facts);
    for (const [fields, shape] of this.#shapes) {
      const shared = new Set(fields.split(',').map(Number));
      const buckets = fieldsOfRecord
        .filter((field) => shared.has(field))
        .map((field) => shape.get(`${field} ${facts[field]}`) ?? [])
        .sort((a, b) => a.length - b.length);
      const rarest = buckets.slice(0, Math.ceil(buckets.length / 2));
      const size = rarest.reduce((sum, { length }) => sum + length, 0);
      if (size > MAX_COMPARED) uncompared.push(...rarest);
      else
        for (const record of rarest.flat()) {
          if (compareFacts(facts, record.facts) === 'agrees') companies.add(record.company);
        }
    }
    return { companies, uncompared };
  }
}

function fieldsOf(facts: RecordFacts): number[] {
  return [...facts.keys()].filter((field) => facts[field] !== 0);
}
