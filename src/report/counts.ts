import { COMPANY_MATCHES, type CompanyMatch, type RowUnit } from '../domain.js';
import { bareReason, REASONS, STATUSES, type Status } from '../reasons.js';
import { countOf as countText } from '../text/numbers.js';
import type { RowCount } from './gate.js';
import type { Counts, IdCounts, ReasonCounts } from './report-schema.js';

type Plain = 'v3Records' | 'v3Children' | 'v4Records' | 'v4Children' | 'rejected' | 'uniqueIdConflicts';

/** One number of `Counts`; the last form is one of `byReason`, with its `status/reason`. */
export type CountName = Plain | `byStatus ${Status}` | `v3ByStatus ${Status}` | `byReason ${string}`;

export type CountOf = (name: CountName) => number;

/** Builds counts from single numbers. `reasons`: all that may have occurred, in order. */
export function countsFrom(countOf: CountOf, reasons: readonly string[]): Counts {
  const found = reasons.map((key) => [key, countOf(`byReason ${key}`)] as const).filter(([, n]) => n > 0);
  return {
    v3Records: countOf('v3Records'),
    v3Children: countOf('v3Children'),
    v4Records: countOf('v4Records'),
    v4Children: countOf('v4Children'),
    rejected: countOf('rejected'),
    uniqueIdConflicts: countOf('uniqueIdConflicts'),
    byStatus: {
      matched: countOf('byStatus matched'),
      unmatched: countOf('byStatus unmatched'),
      deleted: countOf('byStatus deleted'),
      ambiguous: countOf('byStatus ambiguous'),
      v4_only: countOf('byStatus v4_only'),
    },
    v3ByStatus: {
      matched: countOf('v3ByStatus matched'),
      unmatched: countOf('v3ByStatus unmatched'),
      deleted: countOf('v3ByStatus deleted'),
      ambiguous: countOf('v3ByStatus ambiguous'),
    },
    byReason: Object.fromEntries(found),
  };
}

const STATUS_ORDER: readonly string[] = STATUSES;
const REASON_ORDER: readonly string[] = REASONS;

/** Orders keys `status/reason` as in `REASONS`, each before its `parent_` form. */
export function sortReasons(keys: Iterable<string>): string[] {
  const ranked = Array.from(keys, (key) => {
    const [status = '', reason = ''] = key.split('/');
    const bare = bareReason(reason);
    const ranks = [STATUS_ORDER.indexOf(status), REASON_ORDER.indexOf(bare), bare === reason ? 0 : 1];
    return { key, rank: ranks.map((rank) => String(rank).padStart(3, '0')).join(' ') };
  });
  ranked.sort((a, b) => compare(a.rank, b.rank) || compare(a.key, b.key));
  return ranked.map(({ key }) => key);
}

/** Compares for sorting, strings by their UTF-16 units. */
export function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A number of rows, with their `status/reason`. */
interface KeyCount {
  readonly key: string;
  readonly unit: RowUnit | null;
  readonly count: number;
}

/** Findings by the reasons of their records: line items whose record is a finding count under its reason. */
export function countReasons(rows: readonly RowCount[]): ReasonCounts[] {
  const findings = rows.flatMap(({ status, reason, unit, count }) =>
    reason === null ? [] : [{ key: `${status}/${reason}`, unit, count }],
  );
  return groupByReason(findings);
}

/** `status/reason` without `parent_`. */
export function bareKey(key: string): string {
  const [status = '', reason] = key.split('/');
  return reason === undefined ? key : `${status}/${bareReason(reason)}`;
}

export function groupByReason(counts: readonly KeyCount[]): ReasonCounts[] {
  const keys = sortReasons(new Set(counts.map(({ key }) => bareKey(key))));
  return keys.map((key) => {
    const own = counts.filter((one) => bareKey(one.key) === key);
    return {
      key,
      v3: countIdsOf(own, 'v3_record', 'v3_line_item'),
      v4: countIdsOf(own, 'v4_record', 'v4_line_item'),
    };
  });
}

function countIdsOf(counts: readonly KeyCount[], record: RowUnit, lineItem: RowUnit): IdCounts {
  const isTheirs = ({ key }: KeyCount) => key !== bareKey(key);
  const sum = (isCounted: (one: KeyCount) => boolean) =>
    counts.filter(isCounted).reduce((all, { count }) => all + count, 0);
  return {
    records: sum(({ unit }) => unit === record),
    theirLineItems: sum((one) => one.unit === lineItem && isTheirs(one)),
    otherLineItems: sum((one) => one.unit === lineItem && !isTheirs(one)),
  };
}

export function sumIds({ records, theirLineItems, otherLineItems }: IdCounts): number {
  return records + theirLineItems + otherLineItems;
}

/** `52 V3 records with 80 line items, 4 other V3 line items; 3 V4 records`. */
export function describeIds({ v3, v4 }: Pick<ReasonCounts, 'v3' | 'v4'>): string {
  const sides = [describeSide('V3', v3), describeSide('V4', v4)].filter((parts) => parts.length > 0);
  return sides.map((parts) => parts.join(', ')).join('; ');
}

function describeSide(side: 'V3' | 'V4', counts: IdCounts): string[] {
  const { records, theirLineItems } = counts;
  if (records === 0) {
    const all = sumIds(counts);
    return all === 0 ? [] : [countText(all, `${side} line item`)];
  }
  const theirs = theirLineItems === 0 ? '' : ` with ${countText(theirLineItems, 'line item')}`;
  const others = counts.otherLineItems;
  return [
    countText(records, `${side} record`) + theirs,
    ...(others === 0 ? [] : [countText(others, `other ${side} line item`)]),
  ];
}

/** A company or a pair of companies. */
export interface CountedCompany {
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch | null;
}

/**
 * The counts of companies. Each count is an array with a number for each company: with an object for each company, a
 * hundred thousand companies would take ten times the memory.
 */
export class CompanyCounts {
  readonly #companies: CountedCompany[] = [];
  /** Indexes in `#companies` of companies that are in V3, by region. */
  readonly #v3 = new Map<string, Map<bigint, number>>();
  /** Indexes of companies that are only in V4. */
  readonly #v4Only = new Map<bigint, number>();
  /** Indexes of all companies with a V4 id that were added. */
  readonly #byV4 = new Map<bigint, number>();
  readonly #columns = new Map<CountName, Float64Array>();
  readonly #regions = new Map<string, string>();

  add(company: CountedCompany): void {
    const at = this.#insert(company);
    if (company.v4CompanyId !== null) this.#byV4.set(company.v4CompanyId, at);
  }

  /** The index of a company, which is added if it is new; null if both ids are null. */
  find(region: string | null, v3: bigint | null, v4: bigint | null): number | null {
    if (v3 !== null) {
      const known = this.#v3.get(region ?? '')?.get(v3);
      return known ?? this.#insert({ region, v3CompanyId: v3, v4CompanyId: null, matchedBy: null });
    }
    if (v4 === null) return null;
    const known = this.#byV4.get(v4) ?? this.#v4Only.get(v4);
    return known ?? this.#insert({ region: null, v3CompanyId: null, v4CompanyId: v4, matchedBy: null });
  }

  increase(at: number, name: CountName, n: number): void {
    const column = this.#columns.get(name);
    const long = column !== undefined && at < column.length ? column : this.#lengthen(name, at);
    long[at] = (long[at] ?? 0) + n;
  }

  /** By region and ids; companies that are only in V4 come last. */
  *list(reasons: readonly string[]): Generator<CountedCompany & { readonly counts: Counts }> {
    const order = Uint32Array.from(this.#companies.keys());
    const companyAt = (at: number) => this.#companies[at] ?? NO_COMPANY;
    order.sort((a, b) => compareCompanies(companyAt(a), companyAt(b)));
    for (const at of order) {
      const countOf: CountOf = (name) => this.#columns.get(name)?.[at] ?? 0;
      yield { ...companyAt(at), counts: countsFrom(countOf, reasons) };
    }
  }

  #insert({ region, v3CompanyId, v4CompanyId, matchedBy: match }: CountedCompany): number {
    const matchedBy = COMPANY_MATCHES.find((one) => one === match) ?? null;
    const [places, id] =
      v3CompanyId === null ? [this.#v4Only, v4CompanyId] : [this.#ofRegion(region), v3CompanyId];
    const at = places.get(id ?? 0n) ?? this.#companies.length;
    this.#companies[at] = { region: this.#shared(region), v3CompanyId, v4CompanyId, matchedBy };
    places.set(id ?? 0n, at);
    return at;
  }

  #ofRegion(region: string | null): Map<bigint, number> {
    const places = this.#v3.get(region ?? '') ?? new Map<bigint, number>();
    this.#v3.set(region ?? '', places);
    return places;
  }

  /** The name of a region as one shared string: SQLite returns a new one for each row. */
  #shared(region: string | null): string | null {
    if (region === null) return null;
    const known = this.#regions.get(region) ?? region;
    this.#regions.set(region, known);
    return known;
  }

  #lengthen(name: CountName, at: number): Float64Array {
    // rarely more than the companies that were added first
    const longer = new Float64Array(Math.ceil(1.1 * Math.max(at + 1, this.#companies.length)));
    longer.set(this.#columns.get(name) ?? []);
    this.#columns.set(name, longer);
    return longer;
  }
}

const NO_COMPANY: CountedCompany = { region: null, v3CompanyId: null, v4CompanyId: null, matchedBy: null };

function compareCompanies(a: CountedCompany, b: CountedCompany): number {
  if ((a.v3CompanyId === null) !== (b.v3CompanyId === null)) return a.v3CompanyId === null ? 1 : -1;
  return (
    compare(a.region ?? '', b.region ?? '') ||
    compare(a.v3CompanyId ?? 0n, b.v3CompanyId ?? 0n) ||
    compare(a.v4CompanyId ?? 0n, b.v4CompanyId ?? 0n)
  );
}
