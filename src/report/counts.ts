import { COMPANY_MATCHES, type CompanyMatch } from '../domain.js';
import type { Status } from '../reasons.js';
import { groupByReason, type ReasonCounts } from '../text/reason-counts.js';
import { compare } from '../text/rows.js';
import type { RowCount } from './gate.js';
import type { Counts } from './report-schema.js';

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

/** Findings by the reasons of their records: line items whose record is a finding count under its reason. */
export function countReasons(rows: readonly RowCount[]): ReasonCounts[] {
  const findings = rows.flatMap(({ status, reason, unit, count }) =>
    reason === null ? [] : [{ key: `${status}/${reason}`, unit, count }],
  );
  return groupByReason(findings);
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
