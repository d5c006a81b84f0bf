import type { Db } from '../store/open.js';
import type { GroupVerdict, Member } from './judge-group.js';
import { SpilledNumbers } from './spilled-numbers.js';

/** A record as a pair needs it. */
interface Paired extends Member {
  /** Its row id. */
  readonly id: number;
}

/** Which V4 record each V3 record became, by the row ids of both. */
export class Pairs {
  /** Per V3 record: its twin × 4 + by unique id × 2 + shared. Per V4 record: 1 where a V3 record points at it. */
  readonly #found;
  readonly #live = new Map<number, number>();
  /** Distinct V4 records that a V3 record points at. */
  claimed = 0;
  /** Whether several V3 records share a twin anywhere: deleted ones under one key. */
  hasShared = false;

  /** `folder`: of its temporary file. */
  constructor(folder: string) {
    this.#found = new SpilledNumbers(folder);
  }

  /** Takes those of a group that became a V4 record; `verdicts` in the order of its `members`. */
  add(members: readonly Paired[], verdicts: readonly GroupVerdict<Paired>[], pairedModel: number): void {
    const pairsOf = members.length > 2 ? countPairs(verdicts) : null;
    for (let at = 0; at < members.length; at++) {
      const one = members[at];
      const verdict = verdicts[at];
      if (one === undefined || verdict === undefined) continue;
      if (verdict.kind === 'claimed') {
        this.#found.set(one.id, 1);
        this.claimed += 1;
      } else if (verdict.kind === 'pair') {
        const isShared = pairsOf !== null && (pairsOf.get(verdict.twin) ?? 0) > 1;
        if (isShared) this.hasShared = true;
        const flags = (verdict.by === 'platform_unique_id' ? 2 : 0) + (isShared ? 1 : 0);
        this.#found.set(one.id, verdict.twin.id * 4 + flags);
        if (!one.deleted && !verdict.twin.deleted)
          this.#live.set(pairedModel, (this.#live.get(pairedModel) ?? 0) + 1);
      }
    }
  }

  /** Takes a pair of live records that a decision makes. */
  addDecided(v3: number, v4: number, pairedModel: number): void {
    this.#found.set(v3, v4 * 4);
    this.#found.set(v4, 1);
    this.claimed += 1;
    this.#live.set(pairedModel, (this.#live.get(pairedModel) ?? 0) + 1);
  }

  /** How many pairs of live records each paired model has. */
  get live(): ReadonlyMap<number, number> {
    return this.#live;
  }

  /** The V4 record that a V3 record became, or null. */
  twinOf(v3: number): number | null {
    const found = this.#found.get(v3);
    return found < 4 ? null : Math.floor(found / 4);
  }

  byOf(v3: number): 'platform_id' | 'platform_unique_id' | null {
    const found = this.#found.get(v3);
    if (found < 4) return null;
    return found % 4 >= 2 ? 'platform_unique_id' : 'platform_id';
  }

  /** Whether other V3 records became the same V4 record. */
  sharesTwin(v3: number): boolean {
    return this.#found.get(v3) % 2 === 1;
  }

  isClaimed(v4: number): boolean {
    return this.#found.get(v4) !== 0;
  }

  close(): void {
    this.#found.close();
  }
}

/** How many pairs each twin is in. */
function countPairs(verdicts: readonly GroupVerdict<Paired>[]): ReadonlyMap<Paired, number> {
  const times = new Map<Paired, number>();
  for (const one of verdicts) if (one.kind === 'pair') times.set(one.twin, (times.get(one.twin) ?? 0) + 1);
  return times;
}

/**
 * Makes the pairs known to SQL by row id: `twin_of(v3 id)`, `matched_by(v3 id)`, `shares_twin(v3 id)`, `is_claimed(v4 id)`.
 * Statements ask in rising order of the ids. `assertGoing` is asked whenever SQL asks for a twin.
 */
export function registerPairs(db: Db, pairs: Pairs, assertGoing: () => void): void {
  const options = { deterministic: true, safeIntegers: false };
  db.function('twin_of', options, (id: unknown) => {
    assertGoing();
    return toSql(pairs.twinOf(Number(id)));
  });
  db.function('matched_by', options, (id: unknown) => pairs.byOf(Number(id)));
  db.function('shares_twin', options, (id: unknown) => (pairs.sharesTwin(Number(id)) ? 1n : 0n));
  db.function('is_claimed', options, (id: unknown) => (pairs.isClaimed(Number(id)) ? 1n : 0n));
}

/** A number would arrive as REAL. */
function toSql(id: number | null): bigint | null {
  return id === null ? null : BigInt(id);
}
