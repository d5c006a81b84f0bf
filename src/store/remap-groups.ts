import type { Generation } from '../domain.js';
import type { Status } from '../reasons.js';
import * as z from '../zod.js';
import { remapScope, type Scope, scopeParams, scopeSql } from './remap-rows.js';
import type { Db } from './sqlite.js';

/** Counts of remap rows with the same model, companies, status and reason. */
export interface GroupCounts {
  readonly model: string;
  readonly isChild: bigint;
  readonly region: string | null;
  readonly v3_company_id: bigint | null;
  readonly v4_company_id: bigint | null;
  readonly status: Status;
  readonly reason: string | null;
  readonly n: bigint;
  readonly v3: bigint;
  readonly pairs: bigint;
  readonly conflicts: bigint;
  /** The ids of its first rows, unless they are matched. */
  readonly firstRows: readonly number[];
}

const idsSchema = z.array(z.number());

/** The groups of rows in a scope. */
export function* readRemapGroups(db: Db, scope: Scope): Generator<GroupCounts> {
  const where = remapScope(db, scope);
  // the rows of a V3 company have a V3 id, and those of a pair have both
  const sql = `
    SELECT model, path <> '' AS isChild, region, v3_company_id, v4_company_id, status, reason, count AS n,
        iif(v3_company_id IS NULL, 0, count) AS v3, iif(matched_by IS NULL, 0, count) AS pairs,
        unique_id_conflict * count AS conflicts, first_rows AS firstRows
      FROM remap_group AS r WHERE ${where.sql} ORDER BY id`;
  const rows = db.prepare<[object], Omit<GroupCounts, 'firstRows'> & { readonly firstRows: string }>(sql);
  for (const { firstRows, ...group } of rows.iterate(where.params)) {
    yield { ...group, firstRows: idsSchema.parse(JSON.parse(firstRows)) };
  }
}

/** V3 records of one day with the same outcome, and the range of their dates, ms since 1970. */
export interface DatedRecords {
  readonly region: string;
  readonly v3_company_id: bigint;
  readonly model: string;
  readonly status: Status;
  readonly reason: string | null;
  /** Counts from 1970; null if the date is unreadable. */
  readonly day: bigint | null;
  readonly n: bigint;
  readonly earliest: bigint | null;
  readonly latest: bigint | null;
}

/** The V3 records in a scope by outcome, company and day. */
export function readDatedRecords(db: Db, scope: Scope): IterableIterator<DatedRecords> {
  const sql = `
    SELECT r.region, r.v3_company_id, r.model, r.status, r.reason, day, remap_day.count AS n, earliest_ms AS earliest,
        latest_ms AS latest
      FROM remap_day CROSS JOIN remap_group AS r ON r.id = remap_day.group_id WHERE ${remapScope(db, scope).sql}`;
  return db.prepare<[object], DatedRecords>(sql).iterate(scopeParams(db, scope));
}

/** What was exported of one model and company; rejected objects of an unknown company are counted for themselves. */
export interface ExportedCount {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly company_id: bigint | null;
  readonly records: bigint;
  readonly children: bigint;
  /** Deleted records, included in `records`. */
  readonly deleted: bigint;
  readonly rejected: bigint;
}

/** Makes the function that saves what was exported of one model and company; part of the remap's transaction. */
export function prepareSaveExported(
  db: Db,
): (
  place: readonly [Generation, region: string, model: string, companyId: string],
  counts: readonly number[],
) => void {
  db.exec('DELETE FROM exported_count');
  db.exec(`
    INSERT INTO exported_count SELECT generation, region, model, company_id, 0, 0, 0, count(*) FROM rejected
      GROUP BY generation, region, model, company_id ORDER BY generation, region, model, company_id`);
  const insert = db.prepare('INSERT INTO exported_count VALUES (?, ?, ?, CAST(? AS INTEGER), ?, ?, ?, 0)');
  return (place, counts) => void insert.run(...place, ...counts);
}

/** Objects whose company is unknown are in every scope of their model. */
export function readExportedCounts(db: Db, scope: Scope): IterableIterator<ExportedCount> {
  const ofCompanies = `(r.company_id IS NULL
    OR r.company_id IN (SELECT value FROM json_each(iif(generation = 'v3', @companies, @v4Companies))))`;
  const sql = `SELECT * FROM exported_count AS r WHERE ${scopeSql(scope, 'r.model', ofCompanies)}`;
  return db.prepare<[object], ExportedCount>(sql).iterate(scopeParams(db, scope));
}
