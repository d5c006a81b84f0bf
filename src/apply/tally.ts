import { at } from '../text/at.js';
import type { Value } from './db/database.js';
import { isUnmapped, type Verdict } from './verdict.js';

/** A distinct value with what its row says of model and region. */
export interface StoredValue {
  readonly key: readonly Value[];
  readonly verdict: Verdict;
  readonly rows: number;
}

export interface OutcomeCount {
  /** `mapped`, `empty`, `not_ours`, `status/reason` or `unknown/…`. */
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

  add(value: Value, verdict: Verdict, rows: number): void {
    const name = verdict.reason ?? 'mapped';
    const key = `${name} ${verdict.isAccepted}`;
    let count = this.#counts.get(key);
    if (count === undefined) {
      count = { name, rows: 0, ids: 0, isAccepted: verdict.isAccepted, samples: [] };
      this.#counts.set(key, count);
    }
    count.rows += rows;
    count.ids += 1;
    if (isUnmapped(verdict.reason) && count.samples.length < MOST_SAMPLES)
      count.samples.push(String(value).slice(0, 60));
  }

  addAll(values: readonly StoredValue[]): void {
    for (const { key, verdict, rows } of values) this.add(at(key, 0), verdict, rows);
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
