import type { ModelRef } from '../../config/apply-targets.js';
import { MAX_INT64, MIN_INT64 } from '../../domain.js';

/** A 64-bit integer that works as a key of a `Map`: a number where that is exact, otherwise a bigint. */
export type Id = number | bigint;

/** Converts a bigint or decimal digits. */
export function toId(value: bigint | string): Id {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}

/** A `Map` or `Set` holds at most 2^24 entries, so several are used; the lowest bits of an id choose one. */
const SHARDS = 16;

function shardOf(id: Id | string): number {
  if (typeof id === 'string') return (id.charCodeAt(id.length - 1) + id.length) & (SHARDS - 1);
  return typeof id === 'number' ? id & (SHARDS - 1) : Number(id & BigInt(SHARDS - 1));
}

/** A set of any number of ids, or of strings with ids. */
export class IdSet {
  readonly #shards = Array.from({ length: SHARDS }, () => new Set<Id | string>());

  /** Returns false if it was there already. */
  add(id: Id | string): boolean {
    const shard = this.#shards[shardOf(id)];
    if (shard === undefined || shard.has(id)) return false;
    shard.add(id);
    return true;
  }

  has(id: Id | string): boolean {
    return this.#shards[shardOf(id)]?.has(id) === true;
  }
}

/** The high half of a 64-bit integer, as a 32-bit integer. */
function highOf(id: Id): number {
  return typeof id === 'number' ? Math.floor(id / 2 ** 32) | 0 : Number(BigInt.asIntN(32, id >> 32n));
}

function lowOf(id: Id): number {
  return typeof id === 'number' ? id | 0 : Number(BigInt.asIntN(32, id));
}

/** A 32-bit hash of an id. */
export function hashId(id: Id): number {
  return mix(highOf(id), lowOf(id));
}

/** The finaliser of MurmurHash3 over the lowest 32 bits of two integers. */
export function mix(hi: number, lo: number): number {
  let h = lo ^ Math.imul(hi, 0x9e37_79b1);
  h = Math.imul(h ^ (h >>> 16), 0x85eb_ca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2_ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** What a row of the remap says of its V3 id, apart from the V4 id. */
export interface IdAnswer {
  readonly category: Category;
  /** Null where scopes are not used. */
  readonly region: string | null;
  /** Digits. */
  readonly company: string | null;
}

/** The category of an id whose rows do not agree or, with scopes, of one that has several rows. */
export const SEVERAL = 'unknown/several_scopes';

/** With more of the slots in use, finding out that an id is absent takes long. */
const MOST_IN_USE = 0.9;

/** A list of ids that takes 4 bytes for each; 8 once one of them has more than 32 bits. */
class IdList {
  readonly #low: Int32Array;
  #high: Int32Array | null = null;

  constructor(length: number) {
    this.#low = new Int32Array(length);
  }

  get(at: number): Id {
    const [high, low] = [this.#high?.[at] ?? 0, (this.#low[at] ?? 0) >>> 0];
    const number = high * 2 ** 32 + low;
    return Number.isSafeInteger(number) ? number : (BigInt(high) << 32n) | BigInt(low);
  }

  set(at: number, id: Id): void {
    const high = highOf(id);
    if (high !== 0) this.#high ??= new Int32Array(this.#low.length);
    if (this.#high !== null) this.#high[at] = high;
    this.#low[at] = lowOf(id);
  }

  /** Whether the id there has these halves. */
  isAt(at: number, high: number, low: number): boolean {
    return this.#low[at] === low && (this.#high?.[at] ?? 0) === high;
  }
}

/**
 * The V3 ids of one model with their answers, for tens of millions of them: a hash table of a fixed size with linear probing,
 * which takes 10 to 19 bytes for each id. An id keeps its slot, so that one bit per slot can count distinct ids.
 */
export class ModelIds {
  readonly ref: ModelRef;
  /** Slots are below it; some hold no id. */
  readonly slots: number;
  /** The platform_id of each slot, undefined if the rows of the id differ; null until they are loaded. */
  platformIds: readonly (string | null | undefined)[] | null = null;
  /** The ids, by slot. */
  readonly #v3: IdList;
  readonly #v4: IdList;
  /** By slot, the number of its answer, from 1; 0: the slot is free. */
  readonly #numbers: Uint8Array | Uint32Array;
  readonly #answers: IdAnswer[] = [];
  readonly #numberOf = new Map<string, number>();
  readonly #isScoped: boolean;

  /** `size`: the most ids that are added. */
  constructor(ref: ModelRef, size: number, isScoped: boolean) {
    this.ref = ref;
    this.slots = Math.ceil(size / MOST_IN_USE) + 1;
    this.#v3 = new IdList(this.slots);
    this.#v4 = new IdList(this.slots);
    this.#numbers = isScoped ? new Uint32Array(this.slots) : new Uint8Array(this.slots);
    this.#isScoped = isScoped;
  }

  /** The slot of an id, or -1. */
  find(id: Id): number {
    const slot = this.#slotFor(id);
    return this.#numbers[slot] === 0 ? -1 : slot;
  }

  /** Null if the slot is free. */
  answerAt(slot: number): IdAnswer | null {
    return this.#answers[(this.#numbers[slot] ?? 0) - 1] ?? null;
  }

  /** The V4 id in a slot; 0 if none was added. */
  v4At(slot: number): Id {
    return this.#v4.get(slot);
  }

  /** Adds a row. An id with several rows becomes `SEVERAL`, unless scopes are not used and all its rows agree. */
  add(v3: Id, answer: IdAnswer, v4: Id): void {
    const slot = this.#slotFor(v3);
    const number = this.#number(answer);
    if (this.#numbers[slot] === 0) {
      this.#numbers[slot] = number;
      this.#v3.set(slot, v3);
      this.#v4.set(slot, v4);
    } else if (this.#isScoped || this.#numbers[slot] !== number || this.v4At(slot) !== v4) {
      this.#numbers[slot] = this.#number({ ...answer, category: SEVERAL });
    }
  }

  /** Where an id is, or the free slot for it. */
  #slotFor(id: Id): number {
    const [high, low] = [highOf(id), lowOf(id)];
    let slot = Math.floor((mix(high, low) * this.slots) / 2 ** 32);
    while (this.#numbers[slot] !== 0 && !this.#v3.isAt(slot, high, low))
      slot = slot + 1 === this.slots ? 0 : slot + 1;
    return slot;
  }

  #number(answer: IdAnswer): number {
    const { category, region, company } = answer;
    const key = this.#isScoped ? [category, region, company].join('\0') : category;
    const known = this.#numberOf.get(key) ?? this.#answers.push(answer);
    this.#numberOf.set(key, known);
    return known;
  }
}

/** The form of a stored value that is not a plain id. Plans list such values; they are never converted into ids. */
export type InvalidForm =
  | 'decimal'
  | 'exponent'
  | 'leading_zeros'
  | 'spaces_around'
  | 'hex'
  | 'signed'
  | 'grouped_digits'
  | 'beyond_64_bits'
  | 'escaped'
  | 'not_utf8'
  | 'not_json'
  | 'not_a_number'
  | 'not_a_value';

const CANONICAL = /^(?:0|-?[1-9][0-9]{0,18})$/;

const FORMS: readonly (readonly [RegExp, InvalidForm])[] = [
  [/^[+-]?\d+\.\d*$/, 'decimal'],
  [/^[+-]?(?:\d+\.?\d*|\.\d+)e[+-]?\d+$/i, 'exponent'],
  [/^-?0+\d+$/, 'leading_zeros'],
  [/^(?:\+\d+|-0)$/, 'signed'],
  [/^[+-]?0x[0-9a-f]+$/i, 'hex'],
  [/^-?\d{1,3}(?:[,.'_ \u00a0\u202f]\d{3})+$/, 'grouped_digits'],
  [/^-?\d{19,}$/, 'beyond_64_bits'],
];

/** Whether a text is a 64-bit integer in canonical form: no `+`, no leading zeros, nothing around it. */
export function isIdText(text: string): boolean {
  if (!CANONICAL.test(text)) return false;
  if (text.length < 19) return true;
  const value = BigInt(text);
  return value >= MIN_INT64 && value <= MAX_INT64;
}

/** The form of a `text` for which `isIdText` is false. */
export function invalidFormOf(text: string): InvalidForm {
  for (const [pattern, form] of FORMS) if (pattern.test(text)) return form;
  const inner = text.trim();
  return inner !== text && isIdText(inner) ? 'spaces_around' : 'not_a_number';
}

/**
 * The category of a value: `mapped`, `empty`, `not_ours` (the target maps the row's model to null),
 * `unknown/` with one of `UnknownReason`, `NO_PLATFORM_ID`, or the status and reason of an id without a twin, such as
 * `unmatched/unexplained`.
 */
export type Category = string;
