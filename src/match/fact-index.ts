import { compareFieldDigests, splitFieldDigests } from '../api/field-digests.js';

/** A record as far as it is compared with others of its key. */
export interface FactHolder {
  readonly company: number;
  readonly facts: string;
}

/** Records of one value of one field among records that carry the same fields. */
export type Bucket = readonly FactHolder[];

export interface Agreeing {
  readonly companies: ReadonlySet<number>;
  readonly crowds: readonly Bucket[];
}

/** Records that carry the same fields. */
interface Shape {
  readonly codes: ReadonlySet<string>;
  /** By field with its value. */
  readonly buckets: ReadonlyMap<string, Bucket>;
}

/** Records that one is compared with at most, and shapes that are looked through: all others are a crowd. */
const MOST_COMPARED = 64;
const MOST_SHAPES = 64;

/**
 * Finds the records of one key that agree with a given one without comparing each with each.
 *
 * Records agree when more than half of the fields that both carry are equal, so that among any half of these fields at
 * least one is equal: only records that share one of the half with the rarest values are compared. Where even these
 * are many, they are a crowd, and which of them agree stays unknown.
 */
export class FactIndex {
  readonly #shapes: ReadonlyMap<string, Shape>;
  readonly #holders: readonly FactHolder[];

  constructor(holders: readonly FactHolder[]) {
    this.#holders = distinct(holders);
    this.#shapes = shapesOf(this.#holders);
  }

  /** The companies with a record that agrees with `facts`, and the crowds in which there may be more. */
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

/** Records of a company with the same facts are one. */
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
