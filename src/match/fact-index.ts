import { compareFieldDigests, splitFieldDigests } from '../api/field-digests.js';

/** The part of a record that is compared with other records of its key. */
export interface FactHolder {
  readonly company: number;
  readonly facts: string;
}

/** Records of one shape that have the same value in one field. */
export type Bucket = readonly FactHolder[];

export interface Agreeing {
  readonly companies: ReadonlySet<number>;
  readonly crowds: readonly Bucket[];
}

/** Records that have the same fields. */
interface Shape {
  readonly codes: ReadonlySet<string>;
  /** By field with its value. */
  readonly buckets: ReadonlyMap<string, Bucket>;
}

/** Limits on the records that one record is compared with, and on shapes. Beyond them, records are a crowd. */
const MOST_COMPARED = 64;
const MOST_SHAPES = 64;

/**
 * Finds the records of one key that agree with a given one, without comparing every pair.
 *
 * Two records agree if more than half of their common fields are equal. So at least one field is equal in any half of
 * the common fields, and it is enough to compare records that share a value in the half with the rarest values. If these
 * are too many, they are a crowd: it stays unknown which of them agree.
 */
export class FactIndex {
  readonly #shapes: ReadonlyMap<string, Shape>;
  readonly #holders: readonly FactHolder[];

  constructor(holders: readonly FactHolder[]) {
    this.#holders = distinct(holders);
    this.#shapes = shapesOf(this.#holders);
  }

  /** The companies with a record that agrees with `facts`, and the crowds that may contain more. */
  findAgreeing(facts: string): Agreeing {
    const found = { companies: new Set<number>(), crowds: [] as Bucket[] };
    if (this.#shapes.size > MOST_SHAPES) return { ...found, crowds: [this.#holders] };
    const fields = splitFieldDigests(facts);
    for (const { codes, buckets } of this.#shapes.values()) {
      const common = fields
        .filter(({ code }) => codes.has(code))
        .map(({ digest }) => buckets.get(digest) ?? [])
        .sort((a, b) => a.length - b.length);
      const rarest = common.slice(0, Math.ceil(common.length / 2));
      const isCrowd = rarest.reduce((sum, { length }) => sum + length, 0) > MOST_COMPARED;
      for (const bucket of rarest) {
        if (isCrowd) found.crowds.push(bucket);
        else addAgreeing(found.companies, bucket, facts);
      }
    }
    return found;
  }
}

function addAgreeing(found: Set<number>, bucket: Bucket, facts: string): void {
  for (const { company, facts: other } of bucket) {
    if (!found.has(company) && compareFieldDigests(facts, other) === 'agrees') found.add(company);
  }
}

/** Keeps one of several records of a company with equal `facts`. */
function distinct(holders: readonly FactHolder[]): FactHolder[] {
  return [...new Map(holders.map((one) => [`${one.company} ${one.facts}`, one])).values()];
}

function shapesOf(holders: readonly FactHolder[]): Map<string, Shape> {
  const shapes = new Map<string, { codes: Set<string>; buckets: Map<string, FactHolder[]> }>();
  for (const holder of holders) {
    const fields = splitFieldDigests(holder.facts);
    const codes = fields.map(({ code }) => code);
    const shape = shapes.get(codes.join('')) ?? { codes: new Set(codes), buckets: new Map() };
    shapes.set(codes.join(''), shape);
    for (const { digest: fact } of fields) {
      const bucket = shape.buckets.get(fact);
      if (bucket === undefined) shape.buckets.set(fact, [holder]);
      else bucket.push(holder);
    }
  }
  return shapes;
}
