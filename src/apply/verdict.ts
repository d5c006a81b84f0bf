import { at } from '../text/at.js';
import type { Value } from './db/database.js';

export interface RowScope {
  readonly model: string | null;
  readonly region: string | null;
}

/** A JSON document in which the paths select nothing. */
export const NO_ID_AT_PATH = 'no_id_at_path';

/**
 * What becomes of a value: the new value, or why there is none. `empty`, `not_ours` and `no_id_at_path` are not ids of the
 * service; their cells stay as they are. Other reasons are `status/reason` of the remap or `unknown/…`.
 */
export interface Verdict {
  readonly new: Value;
  readonly reason: string | null;
  /** Whether the limits of the gate accept that there is no V4 id. */
  readonly isAccepted: boolean;
  /** Positions of the paths that select nothing in this JSON document. */
  readonly nothingAt?: readonly number[];
}

/** Whether a value with this reason is an id without a V4 id, or cannot be known not to be one. */
export function isUnmapped(reason: string | null): boolean {
  return reason !== null && !['empty', 'not_ours', NO_ID_AT_PATH].includes(reason);
}

export function unknown(why: string): Verdict {
  return { new: null, reason: `unknown/${why}`, isAccepted: false };
}

/** A distinct value with what its row says of model and region. */
export interface StoredValue {
  readonly key: readonly Value[];
  readonly verdict: Verdict;
  readonly rows: number;
}

export interface OutcomeCount {
  /** `mapped`, `empty`, `not_ours`, `no_id_at_path`, `status/reason` or `unknown/…`. */
  readonly name: string;
  readonly rows: number;
  readonly ids: number;
  /** Whether the limits of the gate accept values without a V4 id. */
  readonly isAccepted: boolean;
  readonly samples: readonly string[];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
const MOST_SAMPLES = 3;

export class Tally {
  readonly #counts = new Map<string, Mutable<Omit<OutcomeCount, 'samples'>> & { samples: string[] }>();

  /** Positions of the paths that selected nothing in any document so far, with the first one; null: no document yet. */
  #emptyPaths: ReadonlyMap<number, string> | null = null;

  add(value: Value, verdict: Verdict, rows: number): void {
    const { nothingAt } = verdict;
    if (nothingAt !== undefined) {
      const before = [...(this.#emptyPaths ?? nothingAt.map((at): [number, string] => [at, String(value)]))];
      this.#emptyPaths = new Map(before.filter(([at]) => nothingAt.includes(at)));
    }
    const name = verdict.reason ?? 'mapped';
    const key = `${name} ${verdict.isAccepted}`;
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = { name, rows: 0, ids: 0, isAccepted: verdict.isAccepted, samples: [] };
      this.#counts.set(key, count);
    }
    count.rows += rows;
    count.ids += 1;
    if ((isUnmapped(verdict.reason) || name === NO_ID_AT_PATH) && count.samples.length < MOST_SAMPLES)
      count.samples.push(String(value).slice(0, 60));
  }

  addAll(values: readonly StoredValue[]): void {
    for (const { key, verdict, rows } of values) this.add(at(key, 0), verdict, rows);
  }

  emptyPaths(): ReadonlyMap<number, string> {
    return this.#emptyPaths ?? new Map();
  }

  list(): OutcomeCount[] {
    const isLast = ({ name }: OutcomeCount) => Number(name !== 'mapped');
    return [...this.#counts.values()].sort(
      (a, b) => isLast(a) - isLast(b) || b.rows - a.rows || (a.name < b.name ? -1 : 1),
    );
  }
}

export function unmappedOf(counts: readonly OutcomeCount[]): OutcomeCount[] {
  return counts.filter(({ name }) => name !== 'mapped' && isUnmapped(name));
}

export function sumOf(counts: readonly OutcomeCount[], what: 'rows' | 'ids'): number {
  return counts.reduce((sum, count) => sum + count[what], 0);
}
