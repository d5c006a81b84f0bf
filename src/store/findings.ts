import type { Generation } from '../domain.js';
import { FINDING_STATUSES, outcomeKey, type Status } from '../reasons.js';
import {
  type FilterParams,
  filterParams,
  REMAP_COLUMNS,
  REMAP_FILTER,
  type RemapFilter,
  type RemapRow,
  readRemap,
} from './remap.js';
import { type RowTally, readOutcomes } from './report-rows.js';
import type { Db } from './sqlite.js';

/** The rows that are not matched. */
export function readFindings(db: Db, filter: RemapFilter): IterableIterator<RemapRow> {
  return readRemap(db, onlyFindings(filter));
}

export function countFindings(db: Db, filter: RemapFilter): RowTally[] {
  return readOutcomes(db, onlyFindings(filter));
}

function onlyFindings(filter: RemapFilter): RemapFilter {
  return { ...filter, statuses: filter.statuses ?? FINDING_STATUSES };
}

/**
 * The first `limit` findings of each status and reason, in the order of the remap. Line items that are findings because
 * their records are count for their reason and are left out if `withParents` is false.
 */
export function readFirstFindings(
  db: Db,
  filter: RemapFilter,
  limit: number,
  withParents: boolean,
): RemapRow[] {
  const isShown = (reason: string) => withParents || !reason.startsWith('parent_');
  const missing = new Map<string, number>();
  for (const { status, reason, rows } of countFindings(db, filter)) {
    if (reason === null || !isShown(reason)) continue;
    const key = outcomeKey(status, reason);
    missing.set(key, Math.min(limit, (missing.get(key) ?? 0) + rows));
  }
  const ids: bigint[] = [];
  const rows = db.prepare<[FilterParams], { id: bigint; status: Status; reason: string }>(
    `select r.id, g.status, g.reason
     from remap_row as r cross join remap_group as g on g.id = r.group_id
     where ${REMAP_FILTER}
     order by r.id`,
  );
  if (missing.size === 0) return [];
  for (const { id, status, reason } of rows.iterate(filterParams(onlyFindings(filter)))) {
    const key = outcomeKey(status, reason);
    const count = missing.get(key);
    if (count === undefined || !isShown(reason)) continue;
    ids.push(id);
    if (count > 1) missing.set(key, count - 1);
    else missing.delete(key);
    if (missing.size === 0) break;
  }
  return db
    .prepare<[string], RemapRow>(
      `select ${REMAP_COLUMNS.join(', ')} from remap_entry where id in (select value from json_each(?)) order by id`,
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

/** Makes the function that returns the id on the other side that an id is paired with; null if there is none. */
export function prepareFindTwin(db: Db): (place: TwinPlace) => bigint | null {
  const statement = db.prepare<[TwinPlace], bigint>(
    `select iif(@generation = 'v3', v4_svc_id, v3_svc_id) as twin from remap_entry
     where model = @model and path = @path and twin is not null
       and (v3_svc_id = @svcId and @generation = 'v3' or v4_svc_id = @svcId and @generation = 'v4')`,
  );
  return (place) => statement.pluck().get(place) ?? null;
}

interface TwinPlace {
  readonly generation: Generation;
  readonly model: string;
  readonly path: string;
  readonly svcId: bigint;
}

interface V3Company {
  readonly region: string;
  readonly v3CompanyId: bigint;
}

/** The V3 companies by the V4 companies that they are paired with. */
export function readV3Companies(db: Db): ReadonlyMap<bigint | null, V3Company> {
  const rows = db
    .prepare<[], V3Company & { v4CompanyId: bigint }>(
      `select region, v3_company_id as v3CompanyId, v4_company_id as v4CompanyId
       from company where v3_company_id is not null and v4_company_id is not null`,
    )
    .all();
  return new Map(rows.map((row) => [row.v4CompanyId, row]));
}
