import type { Config } from '../config/config.js';
import { COMPANY_MATCHES, type CompanyMatch, type Generation, type RowUnit } from '../domain.js';
import { bareReason, type Status } from '../reasons.js';
import type { Pause } from '../runtime/pause.js';
import type { Db } from '../store/open.js';
import { type RemapGroup, readRemapGroups } from '../store/remap-groups.js';
import { prepareRowsById, type RemapRow, type Scope, v4CompaniesOf } from '../store/remap-rows.js';
import { type CompanyRow, iterateCompanyRows } from '../store/remap-tables.js';
import { type ExportedCount, readExportedCounts, readRejectedCounts } from '../store/scoped-streams.js';
import { openVerifiedRemap } from '../store/verified-remap.js';
import { sortReasons } from '../text/reason-counts.js';
import { compare } from '../text/rows.js';
import { kindOf, type RowCount } from './gate.js';
import type { Counts } from './report-schema.js';

type Plain = 'v3Records' | 'v3Children' | 'v4Records' | 'v4Children' | 'rejected' | 'uniqueIdConflicts';

/** One number of `Counts`; the last form is one of `byReason`, with its `status/reason`. */
type CountName = Plain | `byStatus ${Status}` | `v3ByStatus ${Status}` | `byReason ${string}`;

type CountOf = (name: CountName) => number;

/** Builds counts from single numbers. `reasons`: all that may have occurred, in order. */
function countsFrom(countOf: CountOf, reasons: readonly string[]): Counts {
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

/** A company or a pair of companies. */
interface CountedCompany {
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch | null;
}

/**
 * The counts of companies. Each count is an array with a number for each company: with an object for each company, a
 * hundred thousand companies would take ten times the memory.
 */
class CompanyCounts {
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

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Records of one company and model outside the backfill window. */
export interface OutsideCount {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint | null;
  readonly model: string;
  records: number;
  children: number;
}

export type CountedRows = ReturnType<RowCounter['finish']>;

/** Counts the remap, the export and the rejected objects, by model and by company. */
export async function countRows(db: Db, config: Config, scope: Scope, pause: Pause): Promise<CountedRows> {
  const counter = new RowCounter(db, config, scope);
  for (const slice of readExportedCounts(db, scope)) {
    for (const exported of slice.rows) counter.addExported(exported);
    await pause({ name: 'count what was exported', done: slice.done, total: slice.total });
  }
  for (const group of readRemapGroups(db, scope)) counter.addGroup(group);
  counter.addRejected();
  return counter.finish();
}

/** A group of objects of one side; `company_id` is null if it is unknown. */
interface SideCount {
  readonly generation: Generation;
  readonly model: string;
  readonly region: string;
  readonly company_id: bigint | null;
}

type Increase = (name: CountName, n: number) => void;

const RECORDS = ['v3_record', 'v4_record'] as const satisfies readonly RowUnit[];
const LINE_ITEMS = ['v3_line_item', 'v4_line_item'] as const satisfies readonly RowUnit[];

const MAX_SAMPLES_PER_KIND = 5;
const MAX_SAMPLES = 500;

class RowCounter {
  readonly #db: Db;
  readonly #scope: Scope;
  /** V4 companies of the V3 companies in scope; null for all. */
  readonly #v4Scope: readonly bigint[] | null;
  readonly #totals = new Map<CountName, number>();
  readonly #models = new Map<string, Map<CountName, number>>();
  readonly #companies = new CompanyCounts();
  readonly #reasons = new Set<string>();
  readonly #rows = new Map<string, Mutable<RowCount>>();
  readonly #v3Rows = new Map<string, number>();
  readonly #outside = new Map<string, OutsideCount>();
  readonly #deleted = { v3: 0, v4: 0 };
  /** The ids of the first rows of each model, status and reason. */
  readonly #firstRows = new Map<string, number[]>();
  #pairs = 0;
  #matchedRecords = 0;

  constructor(db: Db, config: Config, scope: Scope) {
    this.#db = db;
    this.#scope = scope;
    this.#v4Scope = scope.companies === null ? null : v4CompaniesOf(db, scope.companies);
    for (const { v3 } of config.models) {
      if (scope.models?.includes(v3) ?? true) this.#models.set(v3, new Map());
    }
    for (const company of iterateCompanyRows(db)) this.#addCompany(company);
  }

  #addCompany({ region, v3_company_id: v3, v4_company_id: v4, matched_by: matchedBy }: CompanyRow): void {
    const inScope =
      v3 === null
        ? this.#v4Scope === null || (v4 !== null && this.#v4Scope.includes(v4))
        : (this.#scope.companies?.includes(v3) ?? true);
    if (!inScope) return;
    this.#companies.add({ region, v3CompanyId: v3, v4CompanyId: v4, matchedBy });
  }

  /** Returns a function that adds to the totals, to the model and, if it is known, to the company. */
  #adder(model: string, region: string | null, v3: bigint | null, v4: bigint | null): Increase {
    const ofModel = this.#models.get(model) ?? new Map<CountName, number>();
    this.#models.set(model, ofModel);
    const company = this.#companies.find(region, v3, v4);
    return (name, n) => {
      if (n === 0) return;
      for (const counts of [this.#totals, ofModel]) counts.set(name, (counts.get(name) ?? 0) + n);
      if (company !== null) this.#companies.increase(company, name, n);
    };
  }

  #adderOfSide({ generation, model, region, company_id: id }: SideCount): Increase {
    return generation === 'v3' ? this.#adder(model, region, id, null) : this.#adder(model, null, null, id);
  }

  addExported(exported: ExportedCount): void {
    const { generation } = exported;
    this.#deleted[generation] += Number(exported.deleted);
    const increase = this.#adderOfSide(exported);
    increase(`${generation}Records`, Number(exported.records));
    increase(`${generation}Children`, Number(exported.children));
  }

  addGroup(group: RemapGroup): void {
    const { model, region, status, reason } = group;
    const [n, v3] = [Number(group.n), Number(group.v3)];
    const increase = this.#adder(model, region, group.v3_company_id, group.v4_company_id);
    increase(`byStatus ${status}`, n);
    if (status !== 'v4_only') increase(`v3ByStatus ${status}`, v3);
    increase('uniqueIdConflicts', Number(group.conflicts));
    if (reason !== null) {
      const key = `${status}/${reason}`;
      this.#reasons.add(key);
      increase(`byReason ${key}`, n);
    }
    const [ofV3, ofV4] = group.isChild === 1n ? LINE_ITEMS : RECORDS;
    this.#addRows({ model, status, reason, unit: ofV3, count: v3 });
    this.#addRows({ model, status, reason, unit: ofV4, count: n - v3 });
    const firstRows = [...(this.#firstRows.get(kindOf(group)) ?? []), ...group.firstRows];
    this.#firstRows.set(kindOf(group), firstRows.sort((a, b) => a - b).slice(0, MAX_SAMPLES_PER_KIND));
    this.#addOutside(group);
    this.#pairs += Number(group.pairs);
    if (status === 'matched' && group.isChild === 0n) this.#matchedRecords += n;
    this.#v3Rows.set(model, (this.#v3Rows.get(model) ?? 0) + v3);
  }

  #addRows(rows: RowCount): void {
    if (rows.count === 0) return;
    const key = `${kindOf(rows)} ${rows.unit}`;
    const known = this.#rows.get(key) ?? { ...rows, count: 0 };
    known.count += rows.count;
    this.#rows.set(key, known);
  }

  #addOutside(group: RemapGroup): void {
    const { region, v3_company_id: v3CompanyId, v4_company_id: v4CompanyId, model, status } = group;
    if (bareReason(group.reason ?? '') !== 'outside_backfill_window' || status !== 'unmatched') return;
    if (region === null || v3CompanyId === null) return;
    const key = JSON.stringify([region, String(v3CompanyId), model]);
    const row = this.#outside.get(key) ?? {
      region,
      v3CompanyId,
      v4CompanyId,
      model,
      records: 0,
      children: 0,
    };
    row[group.isChild === 1n ? 'children' : 'records'] += Number(group.n);
    this.#outside.set(key, row);
  }

  /** The first findings of each kind, in the order of their rows; the first of each kind comes before the second of any. */
  #readSamples(): RemapRow[] {
    const kinds = [...this.#firstRows.values()].filter((rows) => rows.length > 0);
    const inOrder = kinds.sort(([a = 0], [b = 0]) => a - b);
    const ids = Array.from({ length: MAX_SAMPLES_PER_KIND }, (_, at) =>
      inOrder.flatMap((rows) => rows[at] ?? []),
    )
      .flat()
      .slice(0, MAX_SAMPLES);
    const remap = openVerifiedRemap(this.#db);
    for (const id of ids) remap.verifyRow(BigInt(id));
    const read = prepareRowsById(this.#db);
    return ids.flatMap((id) => read([id]));
  }

  /** Objects whose company is unknown count in every scope of their model. */
  addRejected(): void {
    for (const rejected of readRejectedCounts(this.#db)) {
      const { generation, model, company_id: id, n } = rejected;
      const companies = generation === 'v3' ? this.#scope.companies : this.#v4Scope;
      const inScope =
        (this.#scope.models?.includes(model) ?? true) && (id === null || (companies?.includes(id) ?? true));
      if (!inScope) continue;
      this.#adderOfSide(rejected)('rejected', Number(n));
    }
  }

  finish() {
    const reasons = sortReasons(this.#reasons);
    const countsOf = (counts: ReadonlyMap<CountName, number>) =>
      countsFrom((name) => counts.get(name) ?? 0, reasons);
    return {
      totals: countsOf(this.#totals),
      models: new Map([...this.#models].map(([model, counts]) => [model, countsOf(counts)])),
      companies: () => this.#companies.list(reasons),
      rows: [...this.#rows.values()].sort((a, b) => compare(kindOf(a), kindOf(b))),
      v3Rows: this.#v3Rows,
      outside: [...this.#outside.values()].sort(
        (a, b) =>
          compare(a.region, b.region) || compare(a.v3CompanyId, b.v3CompanyId) || compare(a.model, b.model),
      ),
      /** Rows with an id on both sides. */
      pairs: this.#pairs,
      /** Matched rows of records, not of children. */
      matchedRecords: this.#matchedRecords,
      deleted: this.#deleted,
      samples: this.#readSamples(),
    };
  }
}
