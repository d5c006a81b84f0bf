import type { Generation } from '../domain.js';
import type { Db } from './open.js';
import { remapScope, type Scope, scopeParams } from './remap.js';

/** What the export holds for one model of one company. */
export interface ExportedCount {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly company_id: bigint;
  readonly records: bigint;
  readonly children: bigint;
  /** Of the records. */
  readonly deleted: bigint;
}

/** Exported records and children, counted where they lie. */
export function readExportedCounts(db: Db, scope: Scope): IterableIterator<ExportedCount> {
  return db
    .prepare<[object], ExportedCount>(
      `SELECT s.generation, s.region, s.model, r.company_id, count(*) AS records, sum(r.deleted) AS deleted,
         sum((SELECT count(*) FROM child AS c WHERE c.record_id = r.id)) AS children
       FROM record AS r JOIN stream AS s ON s.id = r.stream_id WHERE ${recordScope(scope)}
       GROUP BY s.generation, s.region, s.model, r.company_id
       ORDER BY s.generation, s.region, s.model, r.company_id`,
    )
    .iterate(scopeParams(db, scope));
}

function recordScope(scope: Scope): string {
  const parts = ['TRUE'];
  if (scope.models !== null) parts.push('s.model IN (SELECT value FROM json_each(@models))');
  if (scope.companies !== null) {
    parts.push(`r.company_id IN (
      SELECT value FROM json_each(iif(s.generation = 'v3', @companies, @v4Companies)))`);
  }
  return parts.join(' AND ');
}

/** When the V3 records behind one kind of finding are from. */
export interface DateRange {
  readonly region: string;
  readonly v3_company_id: bigint;
  readonly model: string;
  readonly earliest: bigint | null;
  readonly latest: bigint | null;
}

const JOIN_RECORD = `
  JOIN stream AS s ON s.generation = 'v3' AND s.region = r.region AND s.model = r.model
    AND (s.company_id IS NULL OR s.company_id = r.v3_company_id)
  JOIN record AS v ON v.stream_id = s.id AND v.svc_id = r.v3_svc_id AND v.company_id = r.v3_company_id`;

/** Date ranges of the records that lie outside the backfill window, ms since 1970. */
export function readOutsideRanges(db: Db): DateRange[] {
  return db
    .prepare<[], DateRange>(
      `SELECT r.region, r.v3_company_id, r.model, min(v.latest_ms) AS earliest, max(v.latest_ms) AS latest
       FROM remap AS r ${JOIN_RECORD}
       WHERE r.path = '' AND r.status = 'unmatched' AND r.reason = 'outside_backfill_window'
       GROUP BY r.region, r.v3_company_id, r.model ORDER BY r.region, r.v3_company_id, r.model`,
    )
    .all();
}

/** V3 records of one day by verdict; `day` counts from 1970, null where no date is readable. */
export interface DayCount {
  readonly day: bigint | null;
  readonly verdict: 'matched' | 'unmatched' | 'other';
  readonly n: bigint;
}

const DAY_MS = 86_400_000;

export function readDayCounts(db: Db, scope: Scope): IterableIterator<DayCount> {
  const where = remapScope(db, scope);
  return db
    .prepare<[object], DayCount>(
      `SELECT (v.latest_ms - iif(v.latest_ms < 0, ${DAY_MS - 1}, 0)) / ${DAY_MS} AS day,
         iif(r.status IN ('matched', 'unmatched'), r.status, 'other') AS verdict, count(*) AS n
       FROM remap AS r ${JOIN_RECORD}
       WHERE r.path = '' AND ${where.sql}
       GROUP BY 1, 2 ORDER BY 1, 2`,
    )
    .iterate(where.params);
}
