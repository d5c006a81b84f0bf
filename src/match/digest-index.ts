import { compareFieldDigests, splitFieldDigests } from '../api/field-digests.js';
import { append } from '../text/rows.js';

/** The part of a record that is compared with other records of its key. */
export interface DigestedRecord {
  readonly company: number;
  /** Null: unknown. */
  readonly fieldDigests: string | null;
}

/** Records of one shape that have the same value in one field. */
export type Bucket = readonly DigestedRecord[];

/** `uncompared`: records of which it is unknown whether they agree. */
export interface Agreeing {
  readonly companies: ReadonlySet<number>;
  readonly uncompared: readonly Bucket[];
}

/** Records that have the same fields. */
interface Shape {
  readonly fields: ReadonlySet<number>;
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
  /** Those whose digests are unknown. */
  readonly #unknown: Bucket;

  constructor(records: readonly DigestedRecord[]) {
    this.#records = distinct(records);
    this.#shapes = shapesOf(this.#records);
    this.#unknown = this.#records.filter(({ fieldDigests }) => fieldDigests === null);
  }

  /** The companies with a record that agrees with `fieldDigests`. */
  findAgreeing(fieldDigests: string | null): Agreeing {
    const found = {
      companies: new Set<number>(),
      uncompared: this.#unknown.length > 0 ? [this.#unknown] : [],
    };
    if (fieldDigests === null || this.#shapes.size > MAX_SHAPES)
      return { ...found, uncompared: [this.#records] };
    const own = splitFieldDigests(fieldDigests);
    for (const { fields, buckets } of this.#shapes.values()) {
      const common = own
        .filter(({ field }) => fields.has(field))
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
    if (!found.has(company) && compareFieldDigests(fieldDigests, other ?? '') === 'agrees')
      found.add(company);
  }
}

/** Keeps one of several records of a company with equal `fieldDigests`. */
function distinct(records: readonly DigestedRecord[]): DigestedRecord[] {
  return [...new Map(records.map((one) => [`${one.company} ${one.fieldDigests}`, one])).values()];
}

function shapesOf(records: readonly DigestedRecord[]): Map<string, Shape> {
  const shapes = new Map<string, { fields: Set<number>; buckets: Map<string, DigestedRecord[]> }>();
  for (const record of records) {
    const own = splitFieldDigests(record.fieldDigests ?? '');
    const fields = own.map(({ field }) => field);
    const shape = shapes.get(fields.join()) ?? { fields: new Set(fields), buckets: new Map() };
    shapes.set(fields.join(), shape);
    for (const { digest } of own) append(shape.buckets, digest, record);
  }
  return shapes;
}
