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

function countFindings(db: Db, filter: RemapFilter): RowTally[] {
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
