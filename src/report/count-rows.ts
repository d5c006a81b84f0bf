import type { Config } from '../config/config.js';
import type { CompanyMatch, RowUnit } from '../domain.js';
import { bareReason } from '../reasons.js';
import type { Db } from '../store/open.js';
import {
  type ExportedCount,
  type GroupCounts,
  readExportedCounts,
  readRemapGroups,
} from '../store/remap-groups.js';
import { prepareRowsById, type RemapRow, type Scope, v4CompaniesOf } from '../store/remap-rows.js';
import { iterateCompanyRows } from '../store/remap-tables.js';
import { openVerifiedRemap } from '../store/verified-remap.js';
import { sortReasons } from '../text/reason-counts.js';
import { compare } from '../text/rows.js';
import { kindOf, type RowCount } from './gate.js';
import type { Counts } from './report-schema.js';

function newCounts(): Counts {
  return {
    v3Records: 0,
    v3Children: 0,
    v4Records: 0,
    v4Children: 0,
    rejected: 0,
    uniqueIdConflicts: 0,
    byStatus: { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0, v4_only: 0 },
    v3ByStatus: { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0 },
    byReason: {},
  };
}

function withSortedReasons(counts: Counts): Counts {
  const keys = sortReasons(Object.keys(counts.byReason));
  return { ...counts, byReason: Object.fromEntries(keys.map((key) => [key, counts.byReason[key] ?? 0])) };
}

/** A company or a pair of companies. */
interface CountedCompany {
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch | null;
  readonly counts: Counts;
}

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
export function countRows(db: Db, config: Config, scope: Scope): CountedRows {
  const counter = new RowCounter(db, config, scope);
  for (const exported of readExportedCounts(db, scope)) counter.addExported(exported);
  for (const group of readRemapGroups(db, scope)) counter.addGroup(group);
  return counter.finish();
}

const RECORDS = ['v3_record', 'v4_record'] as const satisfies readonly RowUnit[];
const LINE_ITEMS = ['v3_line_item', 'v4_line_item'] as const satisfies readonly RowUnit[];

const MAX_SAMPLES_PER_KIND = 5;
const MAX_SAMPLES = 500;

class RowCounter {
  readonly #db: Db;
  readonly #totals = newCounts();
  readonly #models = new Map<string, Counts>();
  /** By region and V3 id, or by V4 id; pairs by both. */
  readonly #companies = new Map<string, CountedCompany>();
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
    // of the V3 companies in scope; null for all
    const v4Scope = scope.companies === null ? null : v4CompaniesOf(db, scope.companies);
    for (const { v3 } of config.models) {
      if (scope.models?.includes(v3) ?? true) this.#models.set(v3, newCounts());
    }
    for (const { region, v3_company_id: v3, v4_company_id: v4, matched_by } of iterateCompanyRows(db)) {
      const wanted = v3 === null ? v4Scope : scope.companies;
      if (wanted === null || wanted.includes(v3 ?? v4 ?? 0n)) this.#company(region, v3, v4, matched_by);
    }
  }

  #company(
    region: string | null,
    v3CompanyId: bigint | null,
    v4CompanyId: bigint | null,
    matchedBy: CompanyMatch | null = null,
  ): Counts {
    const byV4 = `v4 ${v4CompanyId}`;
    const key = v3CompanyId === null ? byV4 : `v3 ${v3CompanyId} ${region}`;
    const known = this.#companies.get(key);
    if (known !== undefined) return known.counts;
    const company = { region, v3CompanyId, v4CompanyId, matchedBy, counts: newCounts() };
    this.#companies.set(key, company);
    if (matchedBy !== null && v4CompanyId !== null) this.#companies.set(byV4, company);
    return company.counts;
  }

  /** The totals, and the counts of the model and, if it is known, of the company. */
  #countsOf(model: string, region: string | null, v3: bigint | null, v4: bigint | null): Counts[] {
    const ofModel = this.#models.get(model) ?? newCounts();
    this.#models.set(model, ofModel);
    const isKnown = v3 !== null || v4 !== null;
    return [this.#totals, ofModel, ...(isKnown ? [this.#company(region, v3, v3 === null ? v4 : null)] : [])];
  }

  #countsOfSide({ generation, model, region, company_id: id }: ExportedCount): Counts[] {
    return generation === 'v3'
      ? this.#countsOf(model, region, id, null)
      : this.#countsOf(model, null, null, id);
  }

  addExported(exported: ExportedCount): void {
    const { generation } = exported;
    this.#deleted[generation] += Number(exported.deleted);
    for (const counts of this.#countsOfSide(exported)) {
      counts[`${generation}Records`] += Number(exported.records);
      counts[`${generation}Children`] += Number(exported.children);
      counts.rejected += Number(exported.rejected);
    }
  }

  addGroup(group: GroupCounts): void {
    const { model, region, status, reason } = group;
    const [n, v3] = [Number(group.n), Number(group.v3)];
    for (const counts of this.#countsOf(model, region, group.v3_company_id, group.v4_company_id)) {
      counts.byStatus[status] += n;
      if (status !== 'v4_only') counts.v3ByStatus[status] += v3;
      counts.uniqueIdConflicts += Number(group.conflicts);
      const key = `${status}/${reason}`;
      if (reason !== null && n > 0) counts.byReason[key] = (counts.byReason[key] ?? 0) + n;
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

  #addOutside(group: GroupCounts): void {
    const { region, v3_company_id: v3CompanyId, v4_company_id: v4CompanyId, model } = group;
    if (bareReason(group.reason ?? '') !== 'outside_backfill_window') return;
    if (region === null || v3CompanyId === null) return;
    const key = JSON.stringify([region, String(v3CompanyId), model]);
    const place = { region, v3CompanyId, v4CompanyId, model };
    const row = this.#outside.get(key) ?? { ...place, records: 0, children: 0 };
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

  /** By region and ids; companies that are only in V4 come last. */
  *#listCompanies(): Generator<CountedCompany> {
    const sorted = [...new Set(this.#companies.values())].sort(compareCompanies);
    for (const company of sorted) yield { ...company, counts: withSortedReasons(company.counts) };
  }

  finish() {
    return {
      totals: withSortedReasons(this.#totals),
      models: new Map([...this.#models].map(([model, counts]) => [model, withSortedReasons(counts)])),
      companies: () => this.#listCompanies(),
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
