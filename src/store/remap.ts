import { FINDING_STATUSES, type Status } from '../reasons.js';
import type { Db } from './sqlite.js';

/** Filters of reports; empty or left out: no filter. Companies are V3 company ids. */
export interface Scope {
  readonly models?: readonly string[];
  readonly companies?: readonly bigint[];
}

export interface RemapFilter extends Scope {
  readonly statuses?: readonly Status[];
  /** With the prefix `parent_`, as in the remap. */
  readonly reasons?: readonly string[];
}

/** Rows of `remap_group g` that a filter selects. V4-only rows belong to the V3 company that theirs is paired with. */
export const REMAP_FILTER = `(@models is null or g.model in (select value from json_each(@models)))
  and (@companies is null or g.v3_company_id in (select value from json_each(@companies))
    or (g.v3_company_id is null and g.v4_company_id in (
      select v4_company_id from company where v3_company_id in (select value from json_each(@companies)))))
  and (@statuses is null or g.status in (select value from json_each(@statuses)))
  and (@reasons is null or g.reason in (select value from json_each(@reasons)))`;

export type FilterParams = ReturnType<typeof filterParams>;

export function filterParams({ models = [], companies = [], statuses = [], reasons = [] }: RemapFilter) {
  const listOf = (names: readonly string[]) => (names.length === 0 ? null : JSON.stringify(names));
  return {
    models: listOf(models),
    companies: companies.length === 0 ? null : `[${companies.join(',')}]`,
    statuses: listOf(statuses),
    reasons: listOf(reasons),
  };
}

export interface RemapRow {
  readonly model: string;
  /** '' for records, else the children's field, such as `line_items`. */
  readonly path: string;
  readonly region: string | null;
  readonly v3_company_id: bigint | null;
  readonly v4_company_id: bigint | null;
  readonly platform_id: string | null;
  readonly parent_platform_id: string | null;
  readonly v3_svc_id: bigint | null;
  readonly v4_svc_id: bigint | null;
  readonly status: Status;
  readonly reason: string | null;
  readonly matched_by: 'platform_id' | 'platform_unique_id' | 'decision' | null;
  readonly evidence: string;
}

export const REMAP_COLUMNS = [
  'model',
  'path',
  'region',
  'v3_company_id',
  'v4_company_id',
  'platform_id',
  'parent_platform_id',
  'v3_svc_id',
  'v4_svc_id',
  'status',
  'reason',
  'matched_by',
  'evidence',
] as const satisfies readonly (keyof RemapRow)[];

export function* readRemap(db: Db, filter: RemapFilter = {}): Generator<RemapRow> {
  yield* db
    .prepare<[FilterParams], RemapRow>(
      `select ${REMAP_COLUMNS.join(', ')} from remap_entry as g where ${REMAP_FILTER} order by id`,
    )
    .iterate(filterParams(filter));
}

export function readFindings(db: Db, filter: RemapFilter): Iterable<RemapRow> {
  return readRemap(db, onlyFindings(filter));
}

/** Leaves out matched rows, unless the filter names statuses. */
export function onlyFindings(filter: RemapFilter): RemapFilter {
  return { ...filter, statuses: filter.statuses ?? FINDING_STATUSES };
}

/** Converts a row of the remap to JSON: ids become strings, the evidence is parsed. */
export function toFinding({ evidence: text, ...row }: RemapRow) {
  const evidence: unknown = JSON.parse(text);
  return {
    ...row,
    v3_company_id: row.v3_company_id?.toString() ?? null,
    v4_company_id: row.v4_company_id?.toString() ?? null,
    v3_svc_id: row.v3_svc_id?.toString() ?? null,
    v4_svc_id: row.v4_svc_id?.toString() ?? null,
    evidence,
  };
}

export interface CompanyPair {
  readonly region: string;
  readonly v3: bigint;
  readonly v4: bigint;
}

export function listCompanyPairs(db: Db): CompanyPair[] {
  const sql = `
    select region, v3_company_id as v3, v4_company_id as v4
    from company where v3_company_id is not null and v4_company_id is not null`;
  return db.prepare<[], CompanyPair>(sql).all();
}

export interface RemapRun {
  readonly builtAt: string;
  /** Over the ordered rows; depends on what was found alone. */
  readonly sha256: string;
  readonly isComplete: boolean;
  readonly conservation: Conservation;
}

/** Records and children that were exported, and those that rows account for. */
export interface Conservation {
  readonly v3Exported: bigint;
  readonly v3Rows: bigint;
  readonly v4Exported: bigint;
  readonly v4Seen: bigint;
}

export function readRemapRun(db: Db): RemapRun | null {
  const row = db
    .prepare<[], Conservation & { builtAt: string; sha256: string; isComplete: bigint }>(`
      select built_at as builtAt, sha256, complete as isComplete, v3_exported as v3Exported, v3_rows as v3Rows,
        v4_exported as v4Exported, v4_seen as v4Seen
      from remap_run`)
    .get();
  if (row === undefined) return null;
  const { builtAt, sha256, isComplete, ...conservation } = row;
  return { builtAt, sha256, isComplete: isComplete === 1n, conservation };
}
