import type { Generation } from '../domain.js';
import type { Db } from './open.js';
import {
  readSlices,
  readSlicesBy,
  remapScope,
  type Scope,
  type Slice,
  scopeParams,
  scopeSql,
} from './remap-rows.js';
import { RECORD_KEY } from './schema.js';

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
  const ofCompanies = `counted.company_id IN (
    SELECT value FROM json_each(iif(stream.generation = 'v3', @companies, @v4Companies)))`;
  const inScope = scopeSql(scope, 'stream.model', ofCompanies);
  const prepare = (kind: string, groupBy: string) =>
    db.prepare<[object], ExportedCount>(`
      SELECT generation, region, model, counted.company_id, counted.records, counted.deleted, counted.children FROM (
        SELECT ${kind}, count(*) AS records, sum(deleted) AS deleted,
          sum(ifnull(json_array_length(children), 0)) AS children
        FROM record WHERE id BETWEEN @from AND @to ${groupBy}
      ) AS counted JOIN stream ON stream.id = counted.stream_id WHERE ${inScope}`);
  const countGroups = prepare('stream_id, company_id', 'GROUP BY stream_id, company_id');
  // without groups, SQLite need not sort
  const countAll = prepare('min(stream_id) AS stream_id, min(company_id) AS company_id', '');
  const isOneGroup = db.prepare<[object], bigint>(IS_ONE_GROUP).pluck();
  const params = scopeParams(db, scope);
  return readSlicesBy(db, 'record', (range) => {
    const count = isOneGroup.get(range) === 1n ? countAll : countGroups;
    return count.all({ ...params, ...range });
  });
}

/** Whether all records of a slice are of one list and company. Comparing the first and the last usually says no at once. */
const IS_ONE_GROUP = `
  SELECT CASE
    WHEN (SELECT (stream_id, company_id) = (
        SELECT stream_id, company_id FROM record WHERE id BETWEEN @from AND @to ORDER BY id DESC LIMIT 1)
      FROM record WHERE id BETWEEN @from AND @to ORDER BY id LIMIT 1)
    THEN (SELECT min(stream_id) = max(stream_id) AND min(company_id) = max(company_id)
      FROM record WHERE id BETWEEN @from AND @to)
    ELSE 0 END`;

const DAY_MS = 86_400_000;
const DAY = `(record.latest_ms - iif(record.latest_ms < 0, ${DAY_MS - 1}, 0)) / ${DAY_MS}`;

/** V3 records of one day; `day` counts from 1970, null for records without a readable date. */
export interface DayCount {
  readonly day: bigint | null;
  readonly n: bigint;
}

/** Exported V3 records by the day of their latest date, slice by slice. */
export function readDayCounts(db: Db, scope: Scope): Iterable<Slice<DayCount>> {
  const ofCompanies = 'record.company_id IN (SELECT value FROM json_each(@companies))';
  const inScope = scopeSql(scope, 'stream.model', ofCompanies);
  // consecutive records are mostly of the same list, whose row is then in SQLite's cache
  const sql = `
    SELECT ${DAY} AS day, count(*) AS n FROM record NOT INDEXED CROSS JOIN stream ON stream.id = record.stream_id
    WHERE record.id BETWEEN @from AND @to AND stream.generation = 'v3' AND ${inScope} GROUP BY day`;
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
      min(record.latest_ms) AS earliest, max(record.latest_ms) AS latest
    FROM remap AS r NOT INDEXED
    CROSS JOIN stream ON stream.generation = 'v3' AND stream.region = r.region AND stream.model = r.model
      AND ifnull(stream.company_id, 'all') IN ('all', r.v3_company_id)
    CROSS JOIN record INDEXED BY ${RECORD_KEY} ON record.stream_id = stream.id AND record.svc_id = r.v3_svc_id
      AND record.company_id = r.v3_company_id
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
