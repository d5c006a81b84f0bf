import type { Config } from '../config/config.js';
import type { CompanyMatch } from '../domain.js';
import type { Pause } from '../runtime/pause.js';
import { type CompanyFacts, readCompanyFacts, readRejectedCounts } from '../store/evidence.js';
import { type ExportedCount, readExportedCounts } from '../store/exported.js';
import type { Db } from '../store/open.js';
import {
  type RemapGroup,
  type RemapRow,
  readRemapGroups,
  type Scope,
  v4CompaniesOf,
} from '../store/remap.js';
import type { RowCount } from './gate.js';
import { newSampleCollector } from './samples.js';
import { addExported, addGroup, newTally, type Tally } from './tally.js';

/** A company, or the pair it forms, with its counts. */
export interface CompanyTally {
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch | null;
  readonly tally: Tally;
}

/** Records of one company and model that the backfill window left out. */
export interface OutsideCount {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint | null;
  readonly model: string;
  records: number;
  children: number;
}

/** Everything that one reading of the counts yields. */
export interface Folded {
  readonly totals: Tally;
  readonly models: ReadonlyMap<string, Tally>;
  readonly companies: readonly CompanyTally[];
  readonly rows: readonly RowCount[];
  readonly v3Rows: ReadonlyMap<string, number>;
  readonly outside: readonly OutsideCount[];
  /** Rows with an id on both sides. */
  readonly pairs: number;
  /** Matched rows of records, not of children. */
  readonly matchedRecords: number;
  /** Deleted records that V3 and V4 showed. */
  readonly deleted: { readonly v3: number; readonly v4: number };
  /** Some findings of each kind. */
  readonly samples: readonly RemapRow[];
}

/** Adds up the remap, the export and the rejected objects, by model and by company. */
export async function foldCounts(db: Db, config: Config, scope: Scope, pause: Pause): Promise<Folded> {
  const state = newState(db, config, scope);
  for (const slice of readExportedCounts(db, scope)) {
    for (const exported of slice.rows) foldExported(state, exported);
    await pause({ name: 'count what was exported', done: slice.done, total: slice.total });
  }
  const samples = newSampleCollector(db, scope);
  for (const slice of readRemapGroups(db, scope)) {
    for (const group of slice.rows) foldGroup(state, group);
    samples.add(slice);
    await pause({ name: 'count the remap', done: slice.done, total: slice.total });
  }
  foldRejected(state, db, scope);
  return {
    totals: state.totals,
    models: state.models,
    companies: [...state.companies.values()].sort(compareCompanies),
    rows: [...state.rows.values()].sort((a, b) => compare(keyOfRow(a), keyOfRow(b))),
    v3Rows: state.v3Rows,
    outside: [...state.outside.values()].sort(compareOutside),
    pairs: state.pairs,
    matchedRecords: state.matchedRecords,
    deleted: state.deleted,
    samples: samples.finish(),
  };
}

interface State {
  readonly totals: Tally;
  readonly models: Map<string, Tally>;
  readonly companies: Map<string, CompanyTally>;
  /** Key of the company that a V4 company belongs to. */
  readonly byV4: Map<bigint, string>;
  readonly rows: Map<string, { -readonly [K in keyof RowCount]: RowCount[K] }>;
  readonly v3Rows: Map<string, number>;
  readonly outside: Map<string, OutsideCount>;
  pairs: number;
  matchedRecords: number;
  readonly deleted: { v3: number; v4: number };
}

function newState(db: Db, config: Config, scope: Scope): State {
  const state: State = {
    totals: newTally(),
    models: new Map(),
    companies: new Map(),
    byV4: new Map(),
    rows: new Map(),
    v3Rows: new Map(),
    outside: new Map(),
    pairs: 0,
    matchedRecords: 0,
    deleted: { v3: 0, v4: 0 },
  };
  for (const model of config.models) {
    if (scope.models?.includes(model.v3) ?? true) state.models.set(model.v3, newTally());
  }
  const v4Scope = scope.companies === null ? null : v4CompaniesOf(db, scope.companies);
  for (const company of readCompanyFacts(db)) addCompany(state, company, scope, v4Scope);
  return state;
}

function addCompany(
  state: State,
  facts: CompanyFacts,
  scope: Scope,
  v4Scope: readonly bigint[] | null,
): void {
  const { region, v3_company_id: v3, v4_company_id: v4 } = facts;
  const inScope =
    v3 === null
      ? v4Scope === null || (v4 !== null && v4Scope.includes(v4))
      : (scope.companies?.includes(v3) ?? true);
  if (!inScope) return;
  const key = v3 === null ? v4Key(v4) : v3Key(region, v3);
  if (v4 !== null) state.byV4.set(v4, key);
  state.companies.set(key, {
    region,
    v3CompanyId: v3,
    v4CompanyId: v4,
    matchedBy: facts.matched_by,
    tally: newTally(),
  });
}

function v3Key(region: string | null, id: bigint): string {
  return `v3 ${id} ${region ?? ''}`;
}

function v4Key(id: bigint | null): string {
  return `v4 ${id}`;
}

/** The company's tally; one that `company` does not name yet gets an entry without a pair. */
function companyTally(state: State, region: string | null, v3: bigint | null, v4: bigint | null): Tally {
  const key = v3 !== null ? v3Key(region, v3) : ((v4 === null ? undefined : state.byV4.get(v4)) ?? v4Key(v4));
  const known = state.companies.get(key);
  if (known !== undefined) return known.tally;
  const tally = newTally();
  state.companies.set(key, {
    region: v3 === null ? null : region,
    v3CompanyId: v3,
    v4CompanyId: v3 === null ? v4 : null,
    matchedBy: null,
    tally,
  });
  return tally;
}

function modelTally(state: State, model: string): Tally {
  const known = state.models.get(model);
  if (known !== undefined) return known;
  const tally = newTally();
  state.models.set(model, tally);
  return tally;
}

function foldExported(state: State, exported: ExportedCount): void {
  const isV3 = exported.generation === 'v3';
  state.deleted[exported.generation] += Number(exported.deleted);
  const company = isV3
    ? companyTally(state, exported.region, exported.company_id, null)
    : companyTally(state, null, null, exported.company_id);
  for (const tally of [state.totals, modelTally(state, exported.model), company])
    addExported(tally, exported);
}

function foldGroup(state: State, group: RemapGroup): void {
  const company = companyTally(state, group.region, group.v3_company_id, group.v4_company_id);
  for (const tally of [state.totals, modelTally(state, group.model), company]) addGroup(tally, group);
  addRows(state, group);
  addOutside(state, group);
  state.pairs += Number(group.pairs);
  if (group.status === 'matched' && group.isChild === 0n) state.matchedRecords += Number(group.n);
  state.v3Rows.set(group.model, (state.v3Rows.get(group.model) ?? 0) + Number(group.v3));
}

function addRows(state: State, group: RemapGroup): void {
  const { model, status, reason } = group;
  const key = keyOfRow(group);
  const row = state.rows.get(key) ?? { model, status, reason, count: 0 };
  row.count += Number(group.n);
  state.rows.set(key, row);
}

function keyOfRow({ model, status, reason }: Pick<RowCount, 'model' | 'status' | 'reason'>): string {
  return JSON.stringify([model, status, reason]);
}

function compareOutside(a: OutsideCount, b: OutsideCount): number {
  return compare(a.region, b.region) || compare(a.v3CompanyId, b.v3CompanyId) || compare(a.model, b.model);
}

function addOutside(state: State, group: RemapGroup): void {
  const { region, v3_company_id: v3CompanyId, v4_company_id: v4CompanyId, model } = group;
  const isOutside =
    group.reason === 'outside_backfill_window' || group.reason === 'parent_outside_backfill_window';
  if (!isOutside || group.status !== 'unmatched' || region === null || v3CompanyId === null) return;
  const key = JSON.stringify([region, String(v3CompanyId), model]);
  const row = state.outside.get(key) ?? { region, v3CompanyId, v4CompanyId, model, records: 0, children: 0 };
  if (group.isChild === 1n) row.children += Number(group.n);
  else row.records += Number(group.n);
  state.outside.set(key, row);
}

/** Objects whose company is unknown count in every scope of their model. */
function foldRejected(state: State, db: Db, scope: Scope): void {
  const v4Scope = scope.companies === null ? null : v4CompaniesOf(db, scope.companies);
  for (const { generation, region, model, company_id: id, n } of readRejectedCounts(db)) {
    const companies = generation === 'v3' ? scope.companies : v4Scope;
    const inScope =
      (scope.models?.includes(model) ?? true) && (id === null || (companies?.includes(id) ?? true));
    if (!inScope) continue;
    const tallies = [state.totals, modelTally(state, model)];
    if (id !== null) {
      tallies.push(
        generation === 'v3' ? companyTally(state, region, id, null) : companyTally(state, null, null, id),
      );
    }
    for (const tally of tallies) tally.rejected += Number(n);
  }
}

function compareCompanies(a: CompanyTally, b: CompanyTally): number {
  if ((a.v3CompanyId === null) !== (b.v3CompanyId === null)) return a.v3CompanyId === null ? 1 : -1;
  const region = compare(a.region ?? '', b.region ?? '');
  if (region !== 0) return region;
  return (
    compare(a.v3CompanyId ?? 0n, b.v3CompanyId ?? 0n) || compare(a.v4CompanyId ?? 0n, b.v4CompanyId ?? 0n)
  );
}

function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
