import type { Generation } from '../domain.js';
import type { Db } from './open.js';
import { readSlicesBy, type Scope, type Slice, scopeParams, scopeSql } from './remap-rows.js';

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
