import type { Generation } from '../domain.js';
import type { Db } from './open.js';
import { readSlices, remapScope, type Scope, type Slice, scopeParams } from './remap-rows.js';

/** Exported records and children of one model and company. */
export interface ExportedCount {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly company_id: bigint;
  readonly records: bigint;
  readonly children: bigint;
  /** Deleted records, included in `records`. */
  readonly deleted: bigint;
}

/** Counts exported records and children by stream and company, slice by slice. */
export function readExportedCounts(db: Db, scope: Scope): Iterable<Slice<ExportedCount>> {
  const sql = `
    SELECT s.generation, s.region, s.model, n.company_id, n.records, n.deleted, n.children FROM (
      SELECT stream_id, company_id, count(*) AS records, sum(deleted) AS deleted,
        sum(ifnull(json_array_length(children), 0)) AS children
      FROM record AS r WHERE r.id BETWEEN @from AND @to GROUP BY stream_id, company_id
    ) AS n JOIN stream AS s ON s.id = n.stream_id WHERE ${exportScope(scope)}`;
  return readSlices<ExportedCount>(db, 'record', sql, scopeParams(db, scope));
}

/** SQL condition over `stream AS s` and counts `AS n`. */
function exportScope(scope: Scope): string {
  const parts = ['TRUE'];
  if (scope.models !== null) parts.push('s.model IN (SELECT value FROM json_each(@models))');
  if (scope.companies !== null) {
    parts.push(`n.company_id IN (
      SELECT value FROM json_each(iif(s.generation = 'v3', @companies, @v4Companies)))`);
  }
  return parts.join(' AND ');
}

const DAY_MS = 86_400_000;
const DAY = `(v.latest_ms - iif(v.latest_ms < 0, ${DAY_MS - 1}, 0)) / ${DAY_MS}`;

/** V3 records of one day; `day` counts from 1970, null for records without a readable date. */
export interface DayCount {
  readonly day: bigint | null;
  readonly n: bigint;
}

/** Exported V3 records by the day of their latest date, slice by slice. */
export function readDayCounts(db: Db, scope: Scope): Iterable<Slice<DayCount>> {
  // Grouped by company only if the scope names companies, because that makes more groups.
  const company = scope.companies === null ? 'NULL' : 'v.company_id';
  const sql = `
    SELECT n.day, sum(n.n) AS n FROM (
      SELECT v.stream_id, ${company} AS company_id, ${DAY} AS day, count(*) AS n
      FROM record AS v WHERE v.id BETWEEN @from AND @to GROUP BY 1, 2, 3
    ) AS n JOIN stream AS s ON s.id = n.stream_id
    WHERE s.generation = 'v3' AND ${exportScope(scope)} GROUP BY n.day`;
  return readSlices<DayCount>(db, 'record', sql, scopeParams(db, scope));
}

/** V3 records of one day that are not matched, and the range of their dates, ms since 1970. */
export interface DatedFinding extends DayCount {
  readonly region: string;
  readonly v3_company_id: bigint;
  readonly model: string;
  readonly status: string;
  readonly reason: string;
  readonly earliest: bigint | null;
  readonly latest: bigint | null;
}

/** V3 records that are not matched, by verdict, company and day, slice by slice. */
export function readDatedFindings(db: Db, scope: Scope): Iterable<Slice<DatedFinding>> {
  const where = remapScope(db, scope);
  const sql = `
    SELECT r.region, r.v3_company_id, r.model, r.status, r.reason, ${DAY} AS day, count(*) AS n,
      min(v.latest_ms) AS earliest, max(v.latest_ms) AS latest
    FROM remap AS r NOT INDEXED
    CROSS JOIN stream AS s ON s.generation = 'v3' AND s.region = r.region AND s.model = r.model
      AND ifnull(s.company_id, 'all') IN ('all', r.v3_company_id)
    CROSS JOIN record AS v ON v.stream_id = s.id AND v.svc_id = r.v3_svc_id AND v.company_id = r.v3_company_id
    WHERE r.rowid BETWEEN @from AND @to AND r.path = '' AND r.status <> 'matched'
    GROUP BY 1, 2, 3, 4, 5, 6 HAVING ${where.sql}`;
  return readSlices<DatedFinding>(db, 'remap', sql, where.params);
}

/** Objects of a list that could not be taken as records. */
export interface RejectedCount {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly company_id: bigint | null;
  readonly n: bigint;
}

export function readRejectedCounts(db: Db): RejectedCount[] {
  const sql = `SELECT generation, region, model, company_id, count(*) AS n FROM rejected
    GROUP BY generation, region, model, company_id ORDER BY generation, region, model, company_id`;
  return db.prepare<[], RejectedCount>(sql).all();
}
