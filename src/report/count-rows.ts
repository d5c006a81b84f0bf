import type { Config } from '../config/config.js';
import type { CompanyMatch, Generation } from '../domain.js';
import { bareReason, REASONS, STATUSES } from '../reasons.js';
import type { Pause } from '../runtime/pause.js';
import { type ExportedCount, readExportedCounts, readRejectedCounts } from '../store/exported.js';
import type { Db } from '../store/open.js';
import {
  prepareSamples,
  type RemapGroup,
  type RemapRow,
  readRemapGroups,
  type Scope,
  type Slice,
  v4CompaniesOf,
} from '../store/remap.js';
import { type CompanyRow, readCompanyRows } from '../store/remap-tables.js';
import type { RowCount } from './gate.js';
import type { Counts } from './report-schema.js';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A company or a pair of companies, with its counts. */
export interface CompanyCounts {
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch | null;
  readonly counts: Mutable<Counts>;
}

/** Records of one company and model outside the backfill window. */
export interface OutsideCount {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint | null;
  readonly model: string;
  records: number;
  children: number;
}

/** The result of `countRows`. */
export type Counted = ReturnType<RowCounter['finish']>;

/** Counts the remap, the export and the rejected objects, by model and by company. */
export async function countRows(db: Db, config: Config, scope: Scope, pause: Pause): Promise<Counted> {
  const counter = new RowCounter(db, config, scope);
  for (const slice of readExportedCounts(db, scope)) {
    for (const exported of slice.rows) counter.addExported(exported);
    await pause({ name: 'count what was exported', done: slice.done, total: slice.total });
  }
  for (const slice of readRemapGroups(db, scope)) {
    for (const group of slice.rows) counter.addGroup(group);
    counter.addSamples(slice);
    await pause({ name: 'count the remap', done: slice.done, total: slice.total });
  }
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

const SAMPLES_PER_KIND = 5;

class RowCounter {
  readonly #db: Db;
  readonly #scope: Scope;
  /** V4 companies of the V3 companies in scope; null for all. */
  readonly #v4Scope: readonly bigint[] | null;
  readonly #totals = newCounts();
  readonly #models = new Map<string, Mutable<Counts>>();
  readonly #companies = new Map<string, CompanyCounts>();
  /** Key in `#companies` of each V4 company. */
  readonly #byV4 = new Map<bigint, string>();
  readonly #rows = new Map<string, Mutable<RowCount>>();
  readonly #v3Rows = new Map<string, number>();
  readonly #outside = new Map<string, OutsideCount>();
  readonly #deleted = { v3: 0, v4: 0 };
  readonly #readSamples: (slice: Slice<RemapGroup>) => Iterable<RemapRow>;
  readonly #samples = new Map<string, RemapRow[]>();
  #pairs = 0;
  #matchedRecords = 0;

  constructor(db: Db, config: Config, scope: Scope) {
    this.#db = db;
    this.#scope = scope;
    this.#v4Scope = scope.companies === null ? null : v4CompaniesOf(db, scope.companies);
    this.#readSamples = prepareSamples(db, scope, SAMPLES_PER_KIND);
    for (const { v3 } of config.models) {
      if (scope.models?.includes(v3) ?? true) this.#models.set(v3, newCounts());
    }
    for (const company of readCompanyRows(db)) this.#addCompany(company);
  }

  #addCompany({ region, v3_company_id: v3, v4_company_id: v4, matched_by: matchedBy }: CompanyRow): void {
    const inScope =
      v3 === null
        ? this.#v4Scope === null || (v4 !== null && this.#v4Scope.includes(v4))
        : (this.#scope.companies?.includes(v3) ?? true);
    if (!inScope) return;
    const key = companyKey(region, v3, v4);
    if (v4 !== null) this.#byV4.set(v4, key);
    this.#companies.set(key, { region, v3CompanyId: v3, v4CompanyId: v4, matchedBy, counts: newCounts() });
  }

  /** The counts to add to: totals, the model's and, if known, the company's. An unpaired company gets its own entry. */
  #countsOf(model: string, region: string | null, v3: bigint | null, v4: bigint | null): Mutable<Counts>[] {
    const ofModel = this.#models.get(model) ?? newCounts();
    this.#models.set(model, ofModel);
    if (v3 === null && v4 === null) return [this.#totals, ofModel];
    const paired = v3 === null && v4 !== null ? this.#byV4.get(v4) : undefined;
    const key = paired ?? companyKey(region, v3, v4);
    const company = this.#companies.get(key) ?? {
      region: v3 === null ? null : region,
      v3CompanyId: v3,
      v4CompanyId: v3 === null ? v4 : null,
      matchedBy: null,
      counts: newCounts(),
    };
    this.#companies.set(key, company);
    return [this.#totals, ofModel, company.counts];
  }

  #countsOfSide({ generation, model, region, company_id: id }: SideCount): Mutable<Counts>[] {
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
    }
  }

  addGroup(group: RemapGroup): void {
    const { model, region, status, reason } = group;
    const [n, v3] = [Number(group.n), Number(group.v3)];
    for (const counts of this.#countsOf(model, region, group.v3_company_id, group.v4_company_id)) {
      counts.byStatus[status] += n;
      if (status !== 'v4_only') counts.v3ByStatus[status] += v3;
      counts.uniqueIdConflicts += Number(group.conflicts);
      if (reason === null) continue;
      const key = `${status}/${reason}`;
      counts.byReason[key] = (counts.byReason[key] ?? 0) + n;
    }
    const row = this.#rows.get(kindOf(group)) ?? { model, status, reason, count: 0 };
    row.count += n;
    this.#rows.set(kindOf(group), row);
    this.#addOutside(group);
    this.#pairs += Number(group.pairs);
    if (status === 'matched' && group.isChild === 0n) this.#matchedRecords += n;
    this.#v3Rows.set(model, (this.#v3Rows.get(model) ?? 0) + v3);
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

  /** Reads the rows of a slice only if some kind still lacks samples. */
  addSamples(slice: Slice<RemapGroup>): void {
    const lacks = (row: RemapGroup | RemapRow) =>
      row.status !== 'matched' && (this.#samples.get(kindOf(row))?.length ?? 0) < SAMPLES_PER_KIND;
    if (!slice.rows.some(lacks)) return;
    for (const row of this.#readSamples(slice)) {
      const samples = this.#samples.get(kindOf(row)) ?? [];
      if (samples.length < SAMPLES_PER_KIND) samples.push(row);
      this.#samples.set(kindOf(row), samples);
    }
  }

  /** Objects whose company is unknown count in every scope of their model. */
  addRejected(): void {
    for (const rejected of readRejectedCounts(this.#db)) {
      const { generation, model, company_id: id, n } = rejected;
      const companies = generation === 'v3' ? this.#scope.companies : this.#v4Scope;
      const inScope =
        (this.#scope.models?.includes(model) ?? true) && (id === null || (companies?.includes(id) ?? true));
      if (!inScope) continue;
      for (const counts of this.#countsOfSide(rejected)) counts.rejected += Number(n);
    }
  }

  finish() {
    const kinds = [...this.#samples.values()];
    // The first sample of each kind comes before the second of any.
    const samples = Array.from({ length: SAMPLES_PER_KIND }, (_, at) =>
      kinds.flatMap((rows) => rows[at] ?? []),
    );
    for (const { counts } of this.#companies.values()) sortReasons(counts);
    for (const counts of [this.#totals, ...this.#models.values()]) sortReasons(counts);
    return {
      totals: this.#totals,
      models: this.#models,
      companies: [...this.#companies.values()].sort(compareCompanies),
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
      samples: samples.flat().slice(0, 500),
    };
  }
}

function newCounts(): Mutable<Counts> {
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

function companyKey(region: string | null, v3: bigint | null, v4: bigint | null): string {
  return v3 === null ? `v4 ${v4}` : `v3 ${v3} ${region ?? ''}`;
}

function kindOf({ model, status, reason }: Pick<RowCount, 'model' | 'status' | 'reason'>): string {
  return JSON.stringify([model, status, reason]);
}

const STATUS_ORDER: readonly string[] = STATUSES;
const REASON_ORDER: readonly string[] = REASONS;

/** Orders reasons as in `REASONS`, each before its `parent_` form. */
function sortReasons(counts: Mutable<Counts>): void {
  const ranked = Object.entries(counts.byReason).map(([key, count]) => {
    const [status = '', reason = ''] = key.split('/');
    const bare = bareReason(reason);
    const ranks = [STATUS_ORDER.indexOf(status), REASON_ORDER.indexOf(bare), bare === reason ? 0 : 1];
    return { key, count, rank: ranks.map((rank) => String(rank).padStart(3, '0')).join(' ') };
  });
  ranked.sort((a, b) => compare(a.rank, b.rank) || compare(a.key, b.key));
  counts.byReason = Object.fromEntries(ranked.map(({ key, count }) => [key, count]));
}

/** Orders by region and ids; companies that are only in V4 come last. */
function compareCompanies(a: CompanyCounts, b: CompanyCounts): number {
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
