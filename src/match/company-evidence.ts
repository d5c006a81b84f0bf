import { compareFieldDigests, splitFieldDigests } from '../api/field-digests.js';
import { append, rowsOf } from '../text/rows.js';
import { type Bucket, DigestIndex } from './digest-index.js';
import type { ExportedPart, KeyedRecords } from './exported-parts.js';
import type { CompanyEvidence, Uncounted } from './pair-companies.js';
import type { ScopeCompanies } from './scope.js';

/**
 * Limits on the record pairs compared and the company pairs counted. Beyond them, only company pairs that agree on a
 * key are counted: if all companies use the same numbers as keys, the work grows with the square of their number.
 */
const MAX_COMPARISONS = 10_000_000;
const MAX_COUNTED_PAIRS = 250_000;

/** The evidence, sorted by V3 company, then V4 company; `byV4`: by V4 company first. */
export interface EvidenceRows extends Iterable<CompanyEvidence> {
  readonly byV4: Iterable<CompanyEvidence>;
}

export interface FoundEvidence {
  /** Exact counts of every company pair that shares a key or, if these are too many, that agrees on one. */
  readonly rows: EvidenceRows;
  readonly uncounted: Uncounted;
}

/**
 * Reads the evidence for company pairs, and sets the number of keys of each company. Ignores lists not read in full.
 *
 * @param companyIds the ids of the companies of all parts
 */
export function readCompanyEvidence(
  companies: ScopeCompanies,
  keyed: KeyedRecords,
  companyIds: ReadonlyMap<ExportedPart, number>,
): FoundEvidence {
  const source = { keyed, companyIds };
  const counts = new SharedKeyCounts();
  const keys = { v3: new Map<number, number>(), v4: new Map<number, number>() };
  let comparisons = 0;
  const isAffordable = () => comparisons <= MAX_COMPARISONS && counts.size <= MAX_COUNTED_PAIRS;
  walkKeys(source, (v3, v4) => {
    for (const company of v3.keys()) keys.v3.set(company, (keys.v3.get(company) ?? 0) + 1);
    for (const company of v4.keys()) keys.v4.set(company, (keys.v4.get(company) ?? 0) + 1);
    // a single key can exceed the limit, because each of its company pairs counts
    if (v3.size * v4.size > MAX_COUNTED_PAIRS) comparisons = Number.POSITIVE_INFINITY;
    comparisons += sizeOf(v3) * sizeOf(v4);
    if (isAffordable()) counts.add(v3, v4);
  });
  for (const company of companies.v3) company.keys = keys.v3.get(company.id) ?? 0;
  for (const company of companies.v4) company.keys = keys.v4.get(company.id) ?? 0;
  if (isAffordable()) return { rows: counts.list(keys), uncounted: counts.uncounted };
  const agreeing = findAgreeingPairs(companies, source);
  const exact = new SharedKeyCounts(agreeing);
  walkKeys(source, (v3, v4) => exact.add(v3, v4));
  return { rows: exact.list(keys), uncounted: exact.uncounted };
}

/** The records with keys, and the ids of their companies. */
interface KeySource {
  readonly keyed: KeyedRecords;
  readonly companyIds: ReadonlyMap<ExportedPart, number>;
}

/** A record of a key. */
interface RecordOfKey {
  readonly company: number;
  /** Read when they are needed: most records have the same digests as their counterpart. Null: unknown. */
  readonly fieldDigests: string | null;
  readonly hasDigestsOf: (other: RecordOfKey) => boolean;
}

/** Calls `onKey` with the records of each key, by the companies of either generation. */
function walkKeys(
  { keyed, companyIds }: KeySource,
  onKey: (v3: RecordsByCompany, v4: RecordsByCompany) => void,
): void {
  class Keyed implements RecordOfKey {
    readonly company: number;
    readonly #record: number;
    #fieldDigests: string | null | undefined;
    constructor(record: number, company: number) {
      this.#record = record;
      this.company = company;
    }
    get fieldDigests(): string | null {
      if (this.#fieldDigests === undefined) this.#fieldDigests = keyed.readFieldDigests(this.#record);
      return this.#fieldDigests;
    }
    hasDigestsOf(other: RecordOfKey): boolean {
      return other instanceof Keyed && keyed.haveEqualDigests(this.#record, other.#record);
    }
  }
  keyed.forEachKey((records) => {
    const sides = { 3: new Map<number, RecordOfKey[]>(), 4: new Map<number, RecordOfKey[]>() };
    for (const record of records) {
      const part = keyed.partOf(record);
      const company = part === undefined ? undefined : companyIds.get(part);
      if (part === undefined || company === undefined) continue;
      append(sides[part.generation], company, new Keyed(record, company));
    }
    onKey(sides[3], sides[4]);
  });
}

/** Finds the company pairs that agree on a key. Pairs that are too many to find are counted by company. */
function findAgreeingPairs(companies: ScopeCompanies, source: KeySource): FoundPairs {
  const found = new FoundPairs(listEqualIds(companies));
  walkKeys(source, (v3, v4) => {
    if (v3.size === 0 || v4.size === 0) return;
    const index = new DigestIndex([...v4.values()].flat());
    const hidden = { v3: new Set<number>(), v4: new Set<number>() };
    const uncompared = new Set<Bucket>();
    for (const [company, records] of v3) {
      for (const fieldDigests of new Set(records.map((one) => one.fieldDigests))) {
        const agreeing = index.findAgreeing(fieldDigests);
        for (const partner of agreeing.companies) {
          if (found.add(company, partner)) continue;
          hidden.v3.add(company);
          hidden.v4.add(partner);
        }
        if (agreeing.uncompared.length > 0) hidden.v3.add(company);
        for (const bucket of agreeing.uncompared) uncompared.add(bucket);
      }
    }
    for (const bucket of uncompared) for (const { company } of bucket) hidden.v4.add(company);
    found.uncounted.addKey(hidden);
  });
  return found;
}

/** A set of company pairs, limited in size so that their counts fit into memory. */
class FoundPairs {
  readonly partners = new Map<number, Set<number>>();
  readonly uncounted = new UncountedKeys();
  #size = 0;

  /** `equalIds` are always included, because the keys of such companies can contradict their ids. */
  constructor(equalIds: readonly (readonly [v3: number, v4: number])[]) {
    for (const [v3, v4] of equalIds) this.partners.set(v3, new Set([v4]));
  }

  /** False if the set is full. */
  add(v3: number, v4: number): boolean {
    const partners = this.partners.get(v3) ?? new Set();
    if (partners.has(v4)) return true;
    if (this.#size >= MAX_COUNTED_PAIRS) return false;
    this.#size += 1;
    this.partners.set(v3, partners.add(v4));
    return true;
  }
}

/** For each company, how many of its keys may agree with companies that are not counted. */
class UncountedKeys implements Uncounted {
  readonly v3 = new Map<number, number>();
  readonly v4 = new Map<number, number>();

  addKey(hidden: { readonly v3: Iterable<number>; readonly v4: Iterable<number> }): void {
    for (const company of hidden.v3) this.v3.set(company, (this.v3.get(company) ?? 0) + 1);
    for (const company of hidden.v4) this.v4.set(company, (this.v4.get(company) ?? 0) + 1);
  }
}

/** Company pairs with equal ids. */
function listEqualIds({ v3, v4 }: ScopeCompanies): [v3: number, v4: number][] {
  const ids = new Map(v4.map(({ companyId, id }) => [companyId, id]));
  return v3.flatMap(({ companyId, id }): [number, number][] => {
    const same = ids.get(companyId);
    return same === undefined ? [] : [[id, same]];
  });
}

/** The records of one key, by company. */
type RecordsByCompany = ReadonlyMap<number, readonly RecordOfKey[]>;

function sizeOf(side: RecordsByCompany): number {
  return [...side.values()].reduce((size, { length }) => size + length, 0);
}

type KeyCounts = ReadonlyMap<number, number>;

/** Counts the shared keys of all company pairs, or only of the pairs it is given. */
class SharedKeyCounts {
  /** The place of a pair in the columns. */
  readonly #byPair = new Map<number, number>();
  #columns = newColumns(1024);
  readonly #partners: ReadonlyMap<number, ReadonlySet<number>> | null;
  readonly uncounted: UncountedKeys;

  constructor({ partners, uncounted }: Partial<FoundPairs> = {}) {
    this.#partners = partners ?? null;
    this.uncounted = uncounted ?? new UncountedKeys();
  }

  get size(): number {
    return this.#byPair.size;
  }

  add(v3: RecordsByCompany, v4: RecordsByCompany): void {
    if (v3.size === 0 || v4.size === 0) return;
    for (const [a, records] of v3) {
      for (const b of this.#partners === null ? v4.keys() : (this.#partners.get(a) ?? [])) {
        const others = v4.get(b);
        if (others !== undefined) this.#count(a, b, compareRecords(records, others));
      }
    }
  }

  list(keys: { readonly v3: KeyCounts; readonly v4: KeyCounts }): EvidenceRows {
    const { v3, v4, shared, comparable, agreeing } = this.#columns;
    const sorted = (first: Uint32Array, second: Uint32Array) =>
      Uint32Array.from(this.#byPair.values()).sort(
        (a, b) => at(first, a) - at(first, b) || at(second, a) - at(second, b),
      );
    const toRow = (place: number): CompanyEvidence => ({
      v3: at(v3, place),
      v4: at(v4, place),
      shared: at(shared, place),
      comparable: at(comparable, place),
      agreeing: at(agreeing, place),
      smallerKeys: Math.min(keys.v3.get(at(v3, place)) ?? 0, keys.v4.get(at(v4, place)) ?? 0),
    });
    const order = sorted(v3, v4);
    return { ...rowsOf(() => order, toRow), byV4: rowsOf(() => sorted(v4, v3), toRow) };
  }

  #count(v3: number, v4: number, verdict: KeyVerdict): void {
    const place = this.#place(v3, v4);
    const { shared, comparable, agreeing } = this.#columns;
    increase(shared, place);
    if (verdict !== 'incomparable') increase(comparable, place);
    if (verdict === 'agrees') increase(agreeing, place);
    if (verdict === 'unknown') this.uncounted.addKey({ v3: [v3], v4: [v4] });
  }

  #place(v3: number, v4: number): number {
    const pair = v3 * 2 ** 26 + v4;
    const known = this.#byPair.get(pair);
    if (known !== undefined) return known;
    const place = this.#byPair.size;
    this.#byPair.set(pair, place);
    if (place >= this.#columns.v3.length) this.#columns = lengthen(this.#columns);
    this.#columns.v3[place] = v3;
    this.#columns.v4[place] = v4;
    return place;
  }
}

/** The ids of a pair's companies, and the counts of its keys. */
type Columns = ReturnType<typeof newColumns>;

function newColumns(length: number) {
  const column = () => new Uint32Array(length);
  return { v3: column(), v4: column(), shared: column(), comparable: column(), agreeing: column() };
}

function lengthen(columns: Columns): Columns {
  const longer = newColumns(2 * columns.v3.length);
  for (const name of ['v3', 'v4', 'shared', 'comparable', 'agreeing'] as const)
    longer[name].set(columns[name]);
  return longer;
}

function at(column: Uint32Array, place: number): number {
  return column[place] ?? 0;
}

function increase(column: Uint32Array, place: number): void {
  column[place] = at(column, place) + 1;
}

/** `unknown`: the key has too many similar records to compare, or one whose digests are unknown. */
type KeyVerdict = ReturnType<typeof compareFieldDigests> | 'unknown';

/** For one key of one company pair: up to this many comparisons are made one by one, without an index. */
const MAX_DIRECT_COMPARISONS = 4096;

/** A key agrees if any of its records do. */
function compareRecords(a: readonly RecordOfKey[], b: readonly RecordOfKey[]): KeyVerdict {
  return a.length * b.length <= MAX_DIRECT_COMPARISONS ? compareDirectly(a, b) : compareByIndex(a, b);
}

function compareDirectly(a: readonly RecordOfKey[], b: readonly RecordOfKey[]): KeyVerdict {
  let best: KeyVerdict = 'incomparable';
  for (const one of a) {
    for (const other of b) {
      const verdict = one.hasDigestsOf(other)
        ? 'agrees'
        : compareUnequal(one.fieldDigests, other.fieldDigests);
      if (verdict === 'agrees') return verdict;
      if (verdict === 'unknown' || (verdict === 'differs' && best === 'incomparable')) best = verdict;
    }
  }
  return best;
}

function compareUnequal(a: string | null, b: string | null): KeyVerdict {
  return a === null || b === null ? 'unknown' : compareFieldDigests(a, b);
}

function compareByIndex(a: readonly RecordOfKey[], b: readonly RecordOfKey[]): KeyVerdict {
  const index = new DigestIndex(b);
  let hasUncompared = false;
  for (const fieldDigests of new Set(a.map((one) => one.fieldDigests))) {
    const { companies, uncompared } = index.findAgreeing(fieldDigests);
    if (companies.size > 0) return 'agrees';
    if (uncompared.length > 0) hasUncompared = true;
  }
  if (hasUncompared) return 'unknown';
  const fieldsOf = ({ fieldDigests }: RecordOfKey) => splitFieldDigests(fieldDigests ?? '');
  const fields = new Set(a.flatMap((one) => fieldsOf(one).map(({ field }) => field)));
  const isComparable = b.some((one) => fieldsOf(one).some(({ field }) => fields.has(field)));
  return isComparable ? 'differs' : 'incomparable';
}
