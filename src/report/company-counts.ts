import type { CompanyMatch } from '../domain.js';
import { type CountName, type CountOf, countsFrom } from './counts.js';
import type { Counts } from './report-schema.js';

/** A company or a pair of companies. */
export interface CountedCompany {
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch | null;
}

/**
 * The counts of companies, a column for each count: a hundred thousand companies take a tenth of the memory that an object
 * for each would.
 */
export class CompanyCounts {
  readonly #companies: CountedCompany[] = [];
  readonly #byKey = new Map<string, number>();
  /** Places of V4 companies in `#companies`. */
  readonly #byV4 = new Map<bigint, number>();
  readonly #columns = new Map<CountName, Float64Array>();

  add(company: CountedCompany): void {
    const at = this.#insert(company);
    if (company.v4CompanyId !== null) this.#byV4.set(company.v4CompanyId, at);
  }

  /** The place of a company; null if both ids are. One that was not added gets a place of its own. */
  find(region: string | null, v3: bigint | null, v4: bigint | null): number | null {
    if (v3 === null && v4 === null) return null;
    const paired = v3 === null && v4 !== null ? this.#byV4.get(v4) : undefined;
    return (
      paired ??
      this.#byKey.get(keyOf(region, v3, v4)) ??
      this.#insert({
        region: v3 === null ? null : region,
        v3CompanyId: v3,
        v4CompanyId: v3 === null ? v4 : null,
        matchedBy: null,
      })
    );
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

  #insert(company: CountedCompany): number {
    const key = keyOf(company.region, company.v3CompanyId, company.v4CompanyId);
    const at = this.#byKey.get(key) ?? this.#companies.length;
    this.#companies[at] = company;
    this.#byKey.set(key, at);
    return at;
  }

  #lengthen(name: CountName, at: number): Float64Array {
    const longer = new Float64Array(2 * Math.max(at + 1, this.#companies.length));
    longer.set(this.#columns.get(name) ?? []);
    this.#columns.set(name, longer);
    return longer;
  }
}

const NO_COMPANY: CountedCompany = { region: null, v3CompanyId: null, v4CompanyId: null, matchedBy: null };

function keyOf(region: string | null, v3: bigint | null, v4: bigint | null): string {
  return v3 === null ? `v4 ${v4}` : `v3 ${v3} ${region ?? ''}`;
}

function compareCompanies(a: CountedCompany, b: CountedCompany): number {
  if ((a.v3CompanyId === null) !== (b.v3CompanyId === null)) return a.v3CompanyId === null ? 1 : -1;
  return (
    compare(a.region ?? '', b.region ?? '') ||
    compare(a.v3CompanyId ?? 0n, b.v3CompanyId ?? 0n) ||
    compare(a.v4CompanyId ?? 0n, b.v4CompanyId ?? 0n)
  );
}

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
