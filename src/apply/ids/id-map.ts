import { formatModelRef, type ModelRef } from '../../config/model-ref.js';
import type { Db } from '../../store/open.js';
import { bigHiOf, bigLoOf, hiOf, loOf } from './int64.js';

/** What the remap says of one V3 id, as a small integer; further ones are indexes into `IdMap.verdicts`. */
const NONE = 0;
export const MAPPED = 1;
/** Several rows hold this id and do not agree (or, in a scoped map: which one counts depends on the row). */
export const SEVERAL = 2;
const FIRST_MISSING = 3;

/** Why an id has no twin. */
export interface Missing {
  readonly status: string;
  readonly reason: string;
}

/** Region and company of remap rows. */
export interface RemapScope {
  readonly region: string | null;
  /** Digits. */
  readonly company: string | null;
}

/** One remap row, as the map takes it. */
interface Entry {
  readonly hi: number;
  readonly lo: number;
  readonly newHi: number;
  readonly newLo: number;
  readonly verdict: number;
  readonly scope: number;
}

/**
 * The V3 ids of one model with what became of them: an open-addressing hash table over typed arrays, about
 * 40 bytes per id. Slots are stable, so that a bit per slot can count distinct ids.
 */
export class IdMap {
  readonly name: string;
  readonly capacity: number;
  readonly missing: Missing[] = [];
  readonly scopes: RemapScope[] = [];
  readonly newHi: Uint32Array;
  readonly newLo: Uint32Array;
  /** `NONE` where a slot is free. */
  readonly verdict: Uint8Array;
  /** Index into `scopes`; all 0 in a map without scopes. */
  readonly scope: Uint32Array;
  readonly isScoped: boolean;
  readonly #keyHi: Uint32Array;
  readonly #keyLo: Uint32Array;
  readonly #mask: number;

  constructor(name: string, rows: number, isScoped: boolean) {
    this.name = name;
    this.isScoped = isScoped;
    this.capacity = 2 ** Math.max(4, Math.ceil(Math.log2(rows * 1.5 + 1)));
    this.#mask = this.capacity - 1;
    this.#keyHi = new Uint32Array(this.capacity);
    this.#keyLo = new Uint32Array(this.capacity);
    this.newHi = new Uint32Array(this.capacity);
    this.newLo = new Uint32Array(this.capacity);
    this.verdict = new Uint8Array(this.capacity);
    this.scope = new Uint32Array(isScoped ? this.capacity : 0);
  }

  /** The slot of an id, or -1. */
  find(hi: number, lo: number): number {
    const slot = this.#probe(hi, lo);
    return this.verdict[slot] === NONE ? -1 : slot;
  }

  /** Takes a row in; a second row of the same id must say the same or makes it `SEVERAL`. */
  add(entry: Entry): void {
    const slot = this.#probe(entry.hi, entry.lo);
    if (this.verdict[slot] === NONE) {
      this.#keyHi[slot] = entry.hi;
      this.#keyLo[slot] = entry.lo;
      this.newHi[slot] = entry.newHi;
      this.newLo[slot] = entry.newLo;
      this.verdict[slot] = entry.verdict;
      if (this.isScoped) this.scope[slot] = entry.scope;
    } else if (this.isScoped || !this.#agrees(slot, entry)) {
      this.verdict[slot] = SEVERAL;
    }
  }

  /** The verdict that stands for a status and reason. */
  verdictOf(status: string, reason: string): number {
    const at = this.missing.findIndex((one) => one.status === status && one.reason === reason);
    return FIRST_MISSING + (at >= 0 ? at : this.missing.push({ status, reason }) - 1);
  }

  missingOf(verdict: number): Missing | undefined {
    return this.missing[verdict - FIRST_MISSING];
  }

  #agrees(slot: number, entry: Entry): boolean {
    return (
      this.verdict[slot] === entry.verdict &&
      (entry.verdict !== MAPPED || (this.newHi[slot] === entry.newHi && this.newLo[slot] === entry.newLo))
    );
  }

  #probe(hi: number, lo: number): number {
    let slot = mix(hi, lo) & this.#mask;
    while (this.verdict[slot] !== NONE && (this.#keyLo[slot] !== lo || this.#keyHi[slot] !== hi)) {
      slot = (slot + 1) & this.#mask;
    }
    return slot;
  }
}

/** A 32-bit hash of an id (the finaliser of MurmurHash3). */
export function mix(hi: number, lo: number): number {
  let h = lo ^ Math.imul(hi, 0x9e37_79b1);
  h = Math.imul(h ^ (h >>> 16), 0x85eb_ca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2_ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

export interface LoadOptions {
  readonly ref: ModelRef;
  /** Keep region and company of each id, for targets that name them. */
  readonly isScoped: boolean;
  /** Take a deleted record's V4 id as its twin. */
  readonly mapDeleted: boolean;
}

const OF_MODEL = 'FROM remap WHERE model = ? AND path = ? AND v3_svc_id IS NOT NULL';

/** Reads the V3 ids of one model. */
export function loadIdMap(db: Db, options: LoadOptions): IdMap {
  const { ref, isScoped } = options;
  const count = db.prepare<[string, string], bigint>(`SELECT count(*) ${OF_MODEL}`).pluck();
  const map = new IdMap(formatModelRef(ref), Number(count.get(ref.model, ref.path)), isScoped);
  if (isScoped) loadScoped(db, options, map);
  else loadPlain(db, options, map);
  return map;
}

/** Most rows are pairs: they are read as two integers each, the others with their words. */
function loadPlain(db: Db, { ref, mapDeleted }: LoadOptions, map: IdMap): void {
  const isPair = pairCondition(mapDeleted);
  const pairs = db
    .prepare<[string, string], [number, number]>(
      `SELECT v3_svc_id, v4_svc_id ${OF_MODEL} AND ${isPair} AND ${IS_SAFE}`,
    )
    .safeIntegers(false)
    .raw();
  for (const [old, now] of pairs.iterate(ref.model, ref.path)) {
    const at = { hi: hiOf(old), lo: loOf(old), newHi: hiOf(now), newLo: loOf(now) };
    map.add({ ...at, verdict: MAPPED, scope: 0 });
  }
  const others = db
    .prepare<[string, string], RemapCells>(
      `SELECT v3_svc_id, v4_svc_id, status, ifnull(reason, '') ${OF_MODEL}
       AND NOT (${isPair} AND ${IS_SAFE})`,
    )
    .raw();
  for (const cells of others.iterate(ref.model, ref.path)) map.add(entryOf(map, mapDeleted, cells, 0));
}

/** Both ids are exact as JavaScript numbers. */
const IS_SAFE = `(v3_svc_id BETWEEN -9007199254740991 AND 9007199254740991
  AND +v4_svc_id BETWEEN -9007199254740991 AND 9007199254740991)`;

type RemapCells = [bigint, bigint | null, string, string];

function loadScoped(db: Db, { ref, mapDeleted }: LoadOptions, map: IdMap): void {
  const rows = db
    .prepare<[string, string], [...RemapCells, string | null, bigint | null]>(
      `SELECT v3_svc_id, v4_svc_id, status, ifnull(reason, ''), region, v3_company_id ${OF_MODEL}`,
    )
    .raw();
  const known = new Map<string, number>();
  for (const [old, now, status, reason, region, company] of rows.iterate(ref.model, ref.path)) {
    const key = `${region ?? ''}\0${company ?? ''}`;
    let scope = known.get(key);
    if (scope === undefined) {
      scope = map.scopes.push({ region, company: company === null ? null : String(company) }) - 1;
      known.set(key, scope);
    }
    map.add(entryOf(map, mapDeleted, [old, now, status, reason], scope));
  }
}

function entryOf(map: IdMap, mapDeleted: boolean, cells: RemapCells, scope: number): Entry {
  const [old, now, status, reason] = cells;
  const key = { hi: bigHiOf(old), lo: bigLoOf(old), scope };
  if (now !== null && (status === 'matched' || (mapDeleted && status === 'deleted'))) {
    return { ...key, newHi: bigHiOf(now), newLo: bigLoOf(now), verdict: MAPPED };
  }
  return { ...key, newHi: 0, newLo: 0, verdict: map.verdictOf(status, reason) };
}

/** Which remap rows map an id, as SQL. The `+` keeps SQLite from the index on V4 ids, which reads rows in no order. */
export function pairCondition(mapDeleted: boolean): string {
  const statuses = mapDeleted ? "('matched', 'deleted')" : "('matched')";
  return `(+v4_svc_id IS NOT NULL AND status IN ${statuses})`;
}
