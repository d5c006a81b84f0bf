import { compareFieldDigests, splitFieldDigests } from '../api/field-digests.js';
import { append } from '../text/rows.js';

/** The part of a record that is compared with other records of its key. */
export interface DigestedRecord {
  readonly company: number;
  readonly fieldDigests: string;
}

/** Records of one shape that have the same value in one field. */
export type Bucket = readonly DigestedRecord[];

/** `uncompared`: buckets that were too large, so that it is unknown which of their records agree. */
export interface Agreeing {
  readonly companies: ReadonlySet<number>;
  readonly uncompared: readonly Bucket[];
}

/** Records that have the same fields. */
interface Shape {
  readonly codes: ReadonlySet<string>;
  /** By field with its value. */
  readonly buckets: ReadonlyMap<string, Bucket>;
}

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
export class DigestIndex {
  readonly #shapes: ReadonlyMap<string, Shape>;
  readonly #records: readonly DigestedRecord[];

  constructor(records: readonly DigestedRecord[]) {
    this.#records = distinct(records);
    this.#shapes = shapesOf(this.#records);
  }

  /** The companies with a record that agrees with `fieldDigests`, and the buckets that were too large to compare. */
  findAgreeing(fieldDigests: string): Agreeing {
    const found = { companies: new Set<number>(), uncompared: [] as Bucket[] };
    if (this.#shapes.size > MAX_SHAPES) return { ...found, uncompared: [this.#records] };
    const fields = splitFieldDigests(fieldDigests);
    for (const { codes, buckets } of this.#shapes.values()) {
      const common = fields
        .filter(({ code }) => codes.has(code))
        .map(({ digest }) => buckets.get(digest) ?? [])
        .sort((a, b) => a.length - b.length);
      const rarest = common.slice(0, Math.ceil(common.length / 2));
      const isTooMany = rarest.reduce((sum, { length }) => sum + length, 0) > MAX_COMPARED;
      for (const bucket of rarest) {
        if (isTooMany) found.uncompared.push(bucket);
        else addAgreeing(found.companies, bucket, fieldDigests);
      }
    }
    return found;
  }
}

function addAgreeing(found: Set<number>, bucket: Bucket, fieldDigests: string): void {
  for (const { company, fieldDigests: other } of bucket) {
    if (!found.has(company) && compareFieldDigests(fieldDigests, other) === 'agrees') found.add(company);
  }
}

/** Keeps one of several records of a company with equal `fieldDigests`. */
function distinct(records: readonly DigestedRecord[]): DigestedRecord[] {
  return [...new Map(records.map((one) => [`${one.company} ${one.fieldDigests}`, one])).values()];
}

function shapesOf(records: readonly DigestedRecord[]): Map<string, Shape> {
  const shapes = new Map<string, { codes: Set<string>; buckets: Map<string, DigestedRecord[]> }>();
  for (const record of records) {
    const fields = splitFieldDigests(record.fieldDigests);
    const codes = fields.map(({ code }) => code);
    const shape = shapes.get(codes.join('')) ?? { codes: new Set(codes), buckets: new Map() };
    shapes.set(codes.join(''), shape);
    for (const { digest } of fields) append(shape.buckets, digest, record);
  }
  return shapes;
}
