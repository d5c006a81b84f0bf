import { compareFieldDigests, splitFieldDigests } from '../api/field-digests.js';
import { append } from '../text/rows.js';
import { type Bucket, DigestIndex } from './digest-index.js';
import type { KeyedRecords } from './exported-parts.js';
import type { CompanyEvidence, Uncounted } from './pair-companies.js';
import type { ScopeCompanies } from './scope.js';

/**
 * Limits on the record pairs compared and the company pairs counted. Beyond them, only company pairs that agree on a
 * key are counted: if all companies use the same numbers as keys, the work grows with the square of their number.
 */
const MAX_COMPARISONS = 10_000_000;
const MAX_COUNTED_PAIRS = 250_000;

export interface FoundEvidence {
  /**
   * Exact counts of every company pair that shares a key or, if these are too many, that agrees on one; sorted by V3
   * company, then V4 company.
   */
  readonly evidence: readonly CompanyEvidence[];
  readonly uncounted: Uncounted;
}

/** Reads the evidence for company pairs, and counts the keys of each company. Ignores lists not read in full. */
export function readCompanyEvidence(companies: ScopeCompanies, keyed: KeyedRecords): FoundEvidence {
  const counts = new SharedKeyCounts(keyed, null);
  let comparisons = 0;
  const isAffordable = () => comparisons <= MAX_COMPARISONS && counts.size <= MAX_COUNTED_PAIRS;
  walkKeys(keyed, (v3, v4) => {
    for (const id of v3.keys()) countKey(companies.v3[id]);
    for (const id of v4.keys()) countKey(companies.v4[id]);
    // a single key can exceed the limit, because each of its company pairs counts
    if (v3.size * v4.size > MAX_COUNTED_PAIRS) comparisons = Number.POSITIVE_INFINITY;
    comparisons += sizeOf(v3) * sizeOf(v4);
    if (isAffordable()) counts.add(v3, v4);
  });
  if (isAffordable()) return counts.list(companies);
  const exact = new SharedKeyCounts(keyed, findAgreeingPairs(companies, keyed));
  walkKeys(keyed, (v3, v4) => exact.add(v3, v4));
  return exact.list(companies);
}

function countKey(company: { keys: number } | undefined): void {
  if (company !== undefined) company.keys += 1;
}

/** The records of one key and generation, by company. */
type RecordsByCompany = ReadonlyMap<number, readonly number[]>;

/** Calls `onKey` with the records of each key. */
function walkKeys(keyed: KeyedRecords, onKey: (v3: RecordsByCompany, v4: RecordsByCompany) => void): void {
  keyed.forEachKey((records) => {
    const sides = { 3: new Map<number, number[]>(), 4: new Map<number, number[]>() };
    for (const record of records) {
      const part = keyed.partOf(record);
      if (part?.company !== undefined) append(sides[part.generation], part.company, record);
    }
    onKey(sides[3], sides[4]);
  });
}

function sizeOf(side: RecordsByCompany): number {
  let size = 0;
  for (const { length } of side.values()) size += length;
  return size;
}

/** Company pairs that are counted, and keys that may agree with others. */
interface FoundPairs {
  readonly partners: ReadonlyMap<number, ReadonlySet<number>>;
  readonly uncounted: UncountedKeys;
}

/** Finds the company pairs that agree on a key. Pairs that are too many to find are counted by company. */
function findAgreeingPairs(
  { v3: v3Companies, v4: v4Companies }: ScopeCompanies,
  keyed: KeyedRecords,
): FoundPairs {
  const partners = new Map<number, Set<number>>();
  const uncounted = new UncountedKeys();
  // companies with equal ids are always counted, because their keys can contradict their ids
  const ids = new Map(v4Companies.map(({ companyId, id }) => [companyId, id]));
  for (const { companyId, id } of v3Companies) {
    const same = ids.get(companyId);
    if (same !== undefined) partners.set(id, new Set([same]));
  }
  let size = 0;
  walkKeys(keyed, (v3, v4) => {
    if (v3.size === 0 || v4.size === 0) return;
    const digested = [...v4].flatMap(([company, records]) =>
      records.map((record) => ({ company, fieldDigests: keyed.readFieldDigests(record) })),
    );
    const index = new DigestIndex(digested);
    const hidden = { v3: new Set<number>(), v4: new Set<number>() };
    const uncompared = new Set<Bucket>();
    for (const [company, records] of v3) {
      const known = partners.get(company) ?? new Set();
      for (const fieldDigests of new Set(records.map((one) => keyed.readFieldDigests(one)))) {
        const agreeing = index.findAgreeing(fieldDigests);
        for (const partner of agreeing.companies) {
          if (known.has(partner)) continue;
          if (size++ < MAX_COUNTED_PAIRS) partners.set(company, known.add(partner));
          else {
            hidden.v3.add(company);
            hidden.v4.add(partner);
          }
        }
        if (agreeing.uncompared.length > 0) hidden.v3.add(company);
        for (const bucket of agreeing.uncompared) uncompared.add(bucket);
      }
    }
    for (const bucket of uncompared) for (const { company } of bucket) hidden.v4.add(company);
    uncounted.addKey(hidden.v3, hidden.v4);
  });
  return { partners, uncounted };
}

/** For each company, how many of its keys may agree with companies that are not counted. */
class UncountedKeys implements Uncounted {
  readonly v3 = new Map<number, number>();
  readonly v4 = new Map<number, number>();

  addKey(v3: Iterable<number>, v4: Iterable<number>): void {
    for (const company of v3) this.v3.set(company, (this.v3.get(company) ?? 0) + 1);
    for (const company of v4) this.v4.set(company, (this.v4.get(company) ?? 0) + 1);
  }
}

/** `unknown`: the key has too many similar records to compare, or one whose digests are unknown. */
type KeyVerdict = ReturnType<typeof compareFieldDigests> | 'unknown';

/** Field digests kept in memory; a key with more records is read again. */
const MAX_KEPT_DIGESTS = 100_000;

/** For one key of one company pair: up to this many comparisons are made one by one, without an index. */
const MAX_DIRECT_COMPARISONS = 4096;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Counts the shared keys of all company pairs, or only of the pairs it is given. */
class SharedKeyCounts {
  readonly #keyed: KeyedRecords;
  readonly #found: FoundPairs | null;
  readonly #uncounted: UncountedKeys;
  readonly #pairs = new Map<number, Mutable<CompanyEvidence>>();
  /** Field digests of records of the present key: each is compared with those of many companies. */
  readonly #digests = new Map<number, string | null>();

  constructor(keyed: KeyedRecords, found: FoundPairs | null) {
    this.#keyed = keyed;
    this.#found = found;
    this.#uncounted = found?.uncounted ?? new UncountedKeys();
  }

  get size(): number {
    return this.#pairs.size;
  }

  add(v3: RecordsByCompany, v4: RecordsByCompany): void {
    if (v3.size === 0 || v4.size === 0) return;
    this.#digests.clear();
    for (const [a, records] of v3) {
      for (const b of this.#found === null ? v4.keys() : (this.#found.partners.get(a) ?? [])) {
        const others = v4.get(b);
        if (others === undefined) continue;
        const pair = this.#pairOf(a, b);
        const verdict = this.#compare(records, others);
        pair.shared += 1;
        if (verdict !== 'incomparable') pair.comparable += 1;
        if (verdict === 'agrees') pair.agreeing += 1;
        if (verdict === 'unknown') this.#uncounted.addKey([a], [b]);
      }
    }
  }

  list(companies: ScopeCompanies): FoundEvidence {
    const keysOf = ({ v3, v4 }: CompanyEvidence) =>
      Math.min(companies.v3[v3]?.keys ?? 0, companies.v4[v4]?.keys ?? 0);
    for (const pair of this.#pairs.values()) pair.smallerKeys = keysOf(pair);
    const evidence = [...this.#pairs.values()].sort((a, b) => a.v3 - b.v3 || a.v4 - b.v4);
    return { evidence, uncounted: this.#uncounted };
  }

  #pairOf(v3: number, v4: number): Mutable<CompanyEvidence> {
    const name = v3 * 2 ** 26 + v4;
    let pair = this.#pairs.get(name);
    if (pair === undefined) {
      pair = { v3, v4, shared: 0, comparable: 0, agreeing: 0, smallerKeys: 0 };
      this.#pairs.set(name, pair);
    }
    return pair;
  }

  #read(record: number): string | null {
    const known = this.#digests.get(record);
    if (known !== undefined) return known;
    const read = this.#keyed.readFieldDigests(record);
    if (this.#digests.size < MAX_KEPT_DIGESTS) this.#digests.set(record, read);
    return read;
  }

  /** A key agrees if any of its records do. Most have the digests of their counterpart; only others are read. */
  #compare(a: readonly number[], b: readonly number[]): KeyVerdict {
    const keyed = this.#keyed;
    const digests = new Set(b.map((record) => keyed.digestOf(record)));
    if (a.some((record) => keyed.digestOf(record) !== 0 && digests.has(keyed.digestOf(record))))
      return 'agrees';
    const read = (record: number) => this.#read(record);
    const [ofA, ofB] = [a.map(read), b.map(read)];
    return a.length * b.length <= MAX_DIRECT_COMPARISONS
      ? compareDirectly(ofA, ofB)
      : compareByIndex(ofA, ofB);
  }
}

/** Field digests of records; null: unknown. */
type Digests = readonly (string | null)[];

function compareDirectly(a: Digests, b: Digests): KeyVerdict {
  let best: KeyVerdict = 'incomparable';
  for (const one of a) {
    for (const other of b) {
      const verdict = one === null || other === null ? 'unknown' : compareFieldDigests(one, other);
      if (verdict === 'agrees') return verdict;
      if (verdict === 'unknown' || (verdict === 'differs' && best === 'incomparable')) best = verdict;
    }
  }
  return best;
}

function compareByIndex(a: Digests, b: Digests): KeyVerdict {
  const index = new DigestIndex(b.map((fieldDigests) => ({ company: 0, fieldDigests })));
  let hasUncompared = false;
  for (const fieldDigests of new Set(a)) {
    const { companies, uncompared } = index.findAgreeing(fieldDigests);
    if (companies.size > 0) return 'agrees';
    if (uncompared.length > 0) hasUncompared = true;
  }
  if (hasUncompared) return 'unknown';
  const fieldsOf = (fieldDigests: string | null) =>
    splitFieldDigests(fieldDigests ?? '').map(({ field }) => field);
  const fields = new Set(a.flatMap(fieldsOf));
  return b.some((one) => fieldsOf(one).some((field) => fields.has(field))) ? 'differs' : 'incomparable';
}
