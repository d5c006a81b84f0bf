import type { Db } from '../store/open.js';

const BY = [null, 'platform_id', 'platform_unique_id'] as const;

/** A record as a pair needs it. */
interface Paired {
  /** Its row id. */
  readonly id: number;
  readonly deleted: boolean;
}

/**
 * Which V4 record each V3 record became, by the row ids of both: four bytes for each V3 record and one for each
 * record of either, where a table with its index would cost ten times the time.
 */
export class Pairs {
  readonly #twins: Uint32Array | Float64Array;
  /** Per V3 record: place in `BY`. Per V4 record: how many V3 records point at it, 2 for more. */
  readonly #marks: Uint8Array;
  #hasShared = false;
  readonly #live = new Map<number, number>();
  /** Distinct V4 records that a V3 record points at. */
  pointed = 0;

  /** `lastV3Id`, `lastId`: the highest row ids, of V3 records and of all. */
  constructor(lastV3Id: number, lastId: number) {
    this.#twins = lastId < 2 ** 32 ? new Uint32Array(lastV3Id + 1) : new Float64Array(lastV3Id + 1);
    this.#marks = new Uint8Array(lastId + 1);
  }

  add(v3: Paired, v4: Paired, by: 'platform_id' | 'platform_unique_id', place: number): void {
    if (v3.id >= this.#twins.length) throw new Error(`V3 record ${v3.id} is beyond the last one.`);
    this.#twins[v3.id] = v4.id;
    this.#marks[v3.id] = by === 'platform_id' ? 1 : 2;
    if (this.isPointed(v4.id)) this.#hasShared = true;
    else this.pointed += 1;
    this.#marks[v4.id] = Math.min(2, this.#mark(v4.id) + 1);
    if (!v3.deleted && !v4.deleted) this.#live.set(place, (this.#live.get(place) ?? 0) + 1);
  }

  /** Pairs of live records, by place. */
  get live(): ReadonlyMap<number, number> {
    return this.#live;
  }

  /** The V4 record that a V3 record became, or null. */
  twinOf(v3: number): number | null {
    const twin = this.#twins[v3] ?? 0;
    return twin === 0 ? null : twin;
  }

  byOf(v3: number): 'platform_id' | 'platform_unique_id' | null {
    return BY[this.#mark(v3)] ?? null;
  }

  isPointed(v4: number): boolean {
    return this.#mark(v4) > 0;
  }

  /** Whether several V3 records point at a V4 record: deleted ones under one key. */
  isShared(v4: number): boolean {
    return this.#mark(v4) > 1;
  }

  /** Whether any V4 record is shared. */
  get hasShared(): boolean {
    return this.#hasShared;
  }

  #mark(id: number): number {
    return this.#marks[id] ?? 0;
  }
}

/** Makes the pairs known to SQL by row id: `twin_of(v3 id)`, `pair_by(v3 id)`, `is_pointed(v4 id)`, `is_shared(v4 id)`. */
export function registerPairs(db: Db, pairs: Pairs): void {
  const options = { deterministic: true, safeIntegers: false };
  db.function('twin_of', options, (id: unknown) => toSql(pairs.twinOf(Number(id))));
  db.function('pair_by', options, (id: unknown) => pairs.byOf(Number(id)));
  db.function('is_pointed', options, (id: unknown) => (pairs.isPointed(Number(id)) ? 1n : 0n));
  db.function('is_shared', options, (id: unknown) => (pairs.isShared(Number(id)) ? 1n : 0n));
}

/** A number would arrive as REAL. */
function toSql(id: number | null): bigint | null {
  return id === null ? null : BigInt(id);
}
