import { compareFacts } from '../api/facts.js';
import type { Db } from '../store/open.js';
import { type Keyed, walkKeyed } from './keyed.js';
import type { CompanyEvidence } from './pair-companies.js';

/**
 * Record pairs compared before keys are sampled: where every company numbers alike, comparing all of them
 * grows with the square of the number of companies.
 */
const COMPARISONS = 10_000_000;

/**
 * Every company pair that shares a key, with its numbers; exact for each pair it lists. Saves how many keys each
 * company has. Only streams read in full count.
 */
export function readCompanyEvidence(db: Db): CompanyEvidence[] {
  const counts = new Counts();
  const keys = { v3: new Map<number, number>(), v4: new Map<number, number>() };
  let comparisons = 0;
  walkKeyed(db, { facts: true }, (group) => {
    const [v3, v4] = sidesOf(group);
    for (const [company] of v3) keys.v3.set(company, (keys.v3.get(company) ?? 0) + 1);
    for (const [company] of v4) keys.v4.set(company, (keys.v4.get(company) ?? 0) + 1);
    comparisons += sizeOf(v3) * sizeOf(v4);
    if (comparisons <= COMPARISONS) counts.add(v3, v4);
  });
  saveKeyCounts(db, 'c3', keys.v3);
  saveKeyCounts(db, 'c4', keys.v4);
  const share = Math.ceil(comparisons / COMPARISONS);
  return (share > 1 ? countSampled(db, share) : counts).list(keys);
}

/** Candidates from a share of the keys (the same ones at every run), then exact numbers for the candidates. */
function countSampled(db: Db, share: number): Counts {
  const sampled = new Counts();
  walkKeyed(db, { facts: true }, (group, _, key) => {
    if (hashText(key) % share === 0) sampled.add(...sidesOf(group));
  });
  const candidates = new Counts(sampled.agreeing());
  walkKeyed(db, { facts: true }, (group) => candidates.add(...sidesOf(group)));
  return candidates;
}

/** The records of one key, by company. */
type Side = ReadonlyMap<number, readonly Keyed[]>;

function sidesOf(group: readonly Keyed[]): [v3: Side, v4: Side] {
  const sides = [new Map<number, Keyed[]>(), new Map<number, Keyed[]>()] as const;
  for (const one of group) {
    if (!one.inFull) continue;
    const side = sides[one.gen === 3 ? 0 : 1];
    const records = side.get(one.company);
    if (records === undefined) side.set(one.company, [one]);
    else records.push(one);
  }
  return [...sides];
}

function sizeOf(side: Side): number {
  let size = 0;
  for (const [, records] of side) size += records.length;
  return size;
}

interface Count {
  readonly v3: number;
  readonly v4: number;
  shared: number;
  comparable: number;
  agreeing: number;
}

/** What the shared keys of company pairs say, of all of them or of those named. */
class Counts {
  readonly #byPair = new Map<number, Count>();
  readonly #partners: ReadonlyMap<number, readonly number[]> | null;

  constructor(partners: ReadonlyMap<number, readonly number[]> | null = null) {
    this.#partners = partners;
  }

  add(v3: Side, v4: Side): void {
    if (v3.size === 0 || v4.size === 0) return;
    for (const [a, records] of v3) {
      for (const b of this.#partners === null ? v4.keys() : (this.#partners.get(a) ?? [])) {
        const others = v4.get(b);
        if (others !== undefined) this.#count(a, b, bestVerdict(records, others));
      }
    }
  }

  /** The V4 companies that each V3 company has an agreeing key with. */
  agreeing(): Map<number, number[]> {
    const partners = new Map<number, number[]>();
    for (const { v3, v4, agreeing } of this.#byPair.values()) {
      if (agreeing > 0) partners.set(v3, [...(partners.get(v3) ?? []), v4]);
    }
    return partners;
  }

  /** In the order of the companies. */
  list(keys: {
    readonly v3: ReadonlyMap<number, number>;
    readonly v4: ReadonlyMap<number, number>;
  }): CompanyEvidence[] {
    return [...this.#byPair.values()]
      .sort((a, b) => a.v3 - b.v3 || a.v4 - b.v4)
      .map((one) => ({ ...one, smallerKeys: Math.min(keys.v3.get(one.v3) ?? 0, keys.v4.get(one.v4) ?? 0) }));
  }

  #count(v3: number, v4: number, verdict: ReturnType<typeof compareFacts>): void {
    const pair = v3 * 2 ** 26 + v4;
    const count = this.#byPair.get(pair) ?? { v3, v4, shared: 0, comparable: 0, agreeing: 0 };
    this.#byPair.set(pair, count);
    count.shared += 1;
    if (verdict !== 'incomparable') count.comparable += 1;
    if (verdict === 'agrees') count.agreeing += 1;
  }
}

/** A key agrees if any of its records do. */
function bestVerdict(a: readonly Keyed[], b: readonly Keyed[]): ReturnType<typeof compareFacts> {
  let best: ReturnType<typeof compareFacts> = 'incomparable';
  for (const one of a) {
    for (const other of b) {
      const isSame = one.facts === other.facts && one.facts !== '';
      const verdict = isSame ? 'agrees' : compareFacts(one.facts, other.facts);
      if (verdict === 'agrees') return verdict;
      if (verdict === 'differs') best = verdict;
    }
  }
  return best;
}

function saveKeyCounts(db: Db, table: 'c3' | 'c4', counts: ReadonlyMap<number, number>): void {
  const update = db.prepare(`UPDATE ${table} SET keys = ? WHERE ix = ?`);
  for (const [company, count] of counts) update.run(BigInt(count), BigInt(company));
}

/** FNV-1a over UTF-16 units: only spreads keys. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash >>> 0;
}
