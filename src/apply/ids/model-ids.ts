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
}

const FREE = -1;

/**
 * The slots of ids that are numbers: a hash table with linear probing, at most half full. A `Map` allocates an object for
 * every number beyond 2^31 and takes two to six times as long.
 */
class NumberIndex {
  #keys = new Float64Array(1024);
  #slots = new Int32Array(1024).fill(FREE);
  #count = 0;

  /** The slot of an id, or -1. */
  get(id: number): number {
    return this.#slots[this.#placeOf(id)] ?? FREE;
  }

  /** Adds an id that is not there yet. */
  add(id: number, slot: number): void {
    this.#count += 1;
    if (2 * this.#count > this.#keys.length) this.#grow();
    this.#put(id, slot);
  }

  #put(id: number, slot: number): void {
    const place = this.#placeOf(id);
    this.#keys[place] = id;
    this.#slots[place] = slot;
  }

  /** Where an id is, or the free place for it. */
  #placeOf(id: number): number {
    const last = this.#keys.length - 1;
    let place = hashOf(id) & last;
    while (this.#slots[place] !== FREE && this.#keys[place] !== id) place = (place + 1) & last;
    return place;
  }

  #grow(): void {
    const [keys, slots] = [this.#keys, this.#slots];
    this.#keys = new Float64Array(2 * keys.length);
    this.#slots = new Int32Array(2 * keys.length).fill(FREE);
    for (const [place, slot] of slots.entries()) {
      if (slot !== FREE) this.#put(keys[place] ?? 0, slot);
    }
  }
}

/** Mixes both halves of a 53-bit integer; the constants are those of the golden ratio and of MurmurHash3's finalizer. */
function hashOf(id: number): number {
  const mixed = Math.imul(id ^ Math.imul(id / 2 ** 32, 0x9e3779b1), 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

/** Region and company of a remap row. */
export interface RemapScope {
  readonly region: string | null;
  /** Digits. */
  readonly company: string | null;
}

/** What a V3 id maps to: the new id or, if it is not mapped, its category. */
type Answer = Id | Category;

/** The category of an id whose rows do not agree or, with scopes, of one that has several rows. */
export const SEVERAL = 'unknown/several_scopes';

/** The V3 ids of one model with their answers. An id keeps its slot, so that one bit per slot can count distinct ids. */
export class ModelIds {
  readonly ref: ModelRef;
  /** By slot. */
  readonly answers: Answer[] = [];
  /** By slot; empty without scopes. */
  readonly scopes: RemapScope[] = [];
  /** The platform_id of each slot, undefined if the rows of the id differ; null until they are loaded. */
  platformIds: readonly (string | null | undefined)[] | null = null;
  readonly #numbers = new NumberIndex();
  readonly #bigints = Array.from({ length: SHARDS }, () => new Map<bigint, number>());

  constructor(ref: ModelRef) {
    this.ref = ref;
  }

  /** The slot of an id, or -1. */
  find(id: Id): number {
    return typeof id === 'number' ? this.#numbers.get(id) : (this.#bigints[shardOf(id)]?.get(id) ?? -1);
  }

  /** Adds a row. An id with several rows becomes `SEVERAL`, unless scopes are not used and all its rows agree. */
  add(id: Id, answer: Answer, scope: RemapScope | null): void {
    const slot = this.find(id);
    if (slot < 0) {
      const added = this.answers.push(answer) - 1;
      if (typeof id === 'number') this.#numbers.add(id, added);
      else this.#bigints[shardOf(id)]?.set(id, added);
      if (scope !== null) this.scopes.push(scope);
    } else if (scope !== null || this.answers[slot] !== answer) {
      this.answers[slot] = SEVERAL;
    }
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
