import type { Generation } from '../domain.js';
import { outcomeKey, type Status } from '../reasons.js';
import { type RemapRow, type Scope, type ScopeParams, scopeParams } from './remap.js';
import { GROUP_SCOPE } from './report-rows.js';
import type { Db } from './sqlite.js';

/** Filters of findings; null or left out: no filter. */
export interface FindingFilter extends Scope {
  readonly statuses?: readonly Status[] | null;
  /** With the prefix `parent_`, as in the remap. */
  readonly reasons?: readonly string[] | null;
}

export interface FindingCount {
  readonly model: string;
  readonly status: Status;
  readonly reason: string;
  readonly isChild: bigint;
  readonly rows: bigint;
  readonly v3Rows: bigint;
}

const WANTED = `g.status <> 'matched' and ${GROUP_SCOPE}
  and (@statuses is null or g.status in (select value from json_each(@statuses)))
  and (@reasons is null or g.reason in (select value from json_each(@reasons)))`;

interface FilterParams extends ScopeParams {
  readonly statuses: string | null;
  readonly reasons: string | null;
}

function filterParams({ statuses = null, reasons = null, ...scope }: FindingFilter): FilterParams {
  const list = (values: readonly string[] | null) => (values === null ? null : JSON.stringify(values));
  return { ...scopeParams(scope), statuses: list(statuses), reasons: list(reasons) };
}

export function countFindings(db: Db, filter: FindingFilter): FindingCount[] {
  return db
    .prepare<[FilterParams], FindingCount>(
      `select model, status, reason, path <> '' as isChild, sum(count) as rows, sum(v3_count) as v3Rows
       from remap_group as g
       where ${WANTED}
       group by 1, 2, 3, 4
       order by 1, 2, 3, 4`,
    )
    .all(filterParams(filter));
}

export function iterateFindings(db: Db, filter: FindingFilter): IterableIterator<RemapRow> {
  return db
    .prepare<[FilterParams], RemapRow>(
      `select model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id, v3_svc_id, v4_svc_id, status,
         reason, matched_by, evidence
       from remap_entry as g
       where ${WANTED}
       order by id`,
    )
    .iterate(filterParams(filter));
}

/**
 * The first `limit` findings of each status and reason, in the order of the remap. Line items that are findings because
 * their records are count for their reason and are left out if `withParents` is false.
 */
export function readFirstFindings(
  db: Db,
  filter: FindingFilter,
  limit: number,
  withParents: boolean,
): RemapRow[] {
  const missing = new Map<string, number>();
  const isShown = ({ reason }: { readonly reason: string }) => withParents || !reason.startsWith('parent_');
  for (const { status, reason, rows } of countFindings(db, filter).filter(isShown)) {
    const key = outcomeKey(status, reason);
    missing.set(key, Math.min(limit, (missing.get(key) ?? 0) + Number(rows)));
  }
  let open = [...missing.values()].reduce((sum, rows) => sum + rows, 0);
  const ids: bigint[] = [];
  if (open === 0) return [];
  const rows = db.prepare<[FilterParams], { id: bigint; status: Status; reason: string }>(
    `select r.id, g.status, g.reason
     from remap_row as r cross join remap_group as g on g.id = r.group_id
     where ${WANTED}
     order by r.id`,
  );
  for (const { id, status, reason } of rows.iterate(filterParams(filter))) {
    const key = outcomeKey(status, reason);
    const wanted = missing.get(key) ?? 0;
    if (wanted === 0 || !isShown({ reason })) continue;
    missing.set(key, wanted - 1);
    ids.push(id);
    open -= 1;
    if (open === 0) break;
  }
  return readRowsById(db, ids);
}

function readRowsById(db: Db, ids: readonly bigint[]): RemapRow[] {
  return db
    .prepare<[string], RemapRow>(
      `select model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id, v3_svc_id, v4_svc_id, status,
         reason, matched_by, evidence
       from remap_entry
       where id in (select value from json_each(?))
       order by id`,
    )
    .all(`[${ids.join(',')}]`);
}

type Json<T> = T extends bigint ? string : T;

export type ReportFinding = { [K in keyof Omit<RemapRow, 'evidence'>]: Json<RemapRow[K]> } & {
  evidence: unknown;
};

/** Converts a row of the remap to JSON: ids become strings, the evidence is parsed. */
export function toFinding({ evidence, ...row }: RemapRow): ReportFinding {
  return {
    ...row,
    v3_company_id: row.v3_company_id?.toString() ?? null,
    v4_company_id: row.v4_company_id?.toString() ?? null,
    v3_svc_id: row.v3_svc_id?.toString() ?? null,
    v4_svc_id: row.v4_svc_id?.toString() ?? null,
    evidence: JSON.parse(evidence),
  };
}

/** The ids that a member of a row's evidence lists, such as `v4_svc_ids`. */
export function idsInEvidence(evidence: string, member: string): bigint[] {
  const parsed: unknown = JSON.parse(evidence);
  if (typeof parsed !== 'object' || parsed === null) return [];
  const ids: unknown = Object.entries(parsed).find(([name]) => name === member)?.[1];
  return Array.isArray(ids)
    ? ids
        .map(String)
        .filter((id) => /^-?\d+$/.test(id))
        .map(BigInt)
    : [];
}

/** What tells a stored record from others with its key. */
export interface StoredRecord {
  readonly svcId: bigint;
  readonly platformId: string | null;
  readonly uniqueId: string | null;
  readonly deleted: bigint;
  /** ms since 1970. */
  readonly latestMs: bigint | null;
  readonly createdMs: bigint | null;
  /** The page that holds it; null with `payload: "ids"`. */
  readonly encoding: string | null;
  readonly body: Uint8Array | null;
}

export interface RecordPlace {
  readonly generation: Generation;
  /** '' for V4. */
  readonly region: string;
  readonly model: string;
  readonly companyId: bigint;
  readonly svcId: bigint;
}

/** Makes the function that finds a stored record by its id. */
export function prepareFindStored(db: Db): (place: RecordPlace) => StoredRecord | undefined {
  const statement = db.prepare<[RecordPlace], StoredRecord>(
    `select r.svc_id as svcId, r.platform_id as platformId, r.unique_id as uniqueId, r.deleted, r.latest_ms as latestMs,
       r.created_ms as createdMs, p.encoding, p.body
     from stream as s cross join record as r on r.stream_id = s.id and r.svc_id = @svcId
       left join page as p on p.id = r.page_id
     where s.generation = @generation and s.region = @region and s.model = @model and r.company_id = @companyId`,
  );
  return (place) => statement.get(place);
}

/** Makes the function that returns the id on the other side that an id is paired with; null if there is none. */
export function prepareFindTwin(db: Db): (place: TwinPlace) => bigint | null {
  const statement = db.prepare<[TwinPlace], { twin: bigint }>(
    `select v3_svc_id as twin from remap_entry
     where v4_svc_id = @svcId and @generation = 'v4' and model = @model and path = @path and v3_svc_id is not null
     union all
     select v4_svc_id from remap_entry
     where v3_svc_id = @svcId and @generation = 'v3' and model = @model and path = @path and v4_svc_id is not null`,
  );
  return (place) => statement.get(place)?.twin ?? null;
}

interface TwinPlace {
  readonly generation: Generation;
  readonly model: string;
  readonly path: string;
  readonly svcId: bigint;
}

/** Makes the function that finds the V3 company that a V4 company is paired with. */
export function prepareFindV3Company(
  db: Db,
): (v4CompanyId: bigint | null) => { readonly region: string; readonly v3CompanyId: bigint } | undefined {
  const rows = db
    .prepare<[], { region: string; v3CompanyId: bigint; v4CompanyId: bigint }>(
      `select region, v3_company_id as v3CompanyId, v4_company_id as v4CompanyId
       from company where v3_company_id is not null and v4_company_id is not null`,
    )
    .all();
  const byV4 = new Map(rows.map((row) => [row.v4CompanyId, row]));
  return (v4CompanyId) => (v4CompanyId === null ? undefined : byV4.get(v4CompanyId));
}
