import { sha256Of } from '../runtime/sha256.js';
import { checksumOf, damaged } from './checksum.js';
import { readMeta, writeMeta } from './meta.js';
import type { Db } from './open.js';

/** A company that V4 listed. */
export interface ListedCompany {
  readonly companyId: bigint;
  /** As received. */
  readonly raw: Uint8Array;
}

/** The model of the company list's row in `stream`. */
export const COMPANY_LIST = 'core/companies';

/** The row of the company list in `stream`. */
export interface CompanyListRow {
  readonly state: 'complete' | 'short' | 'failed';
  readonly endReason: string;
  readonly endNote: string | null;
  readonly pages: number;
  readonly records: number;
  readonly uniqueRecords: number;
  readonly totalCountFirst: number | null;
  readonly totalCountLast: number | null;
  readonly startedAt: string;
  readonly finishedAt: string | null;
}

/** Replaces the row of the company list; null if the list was not requested. */
export function saveCompanyList(db: Db, row: CompanyListRow | null): void {
  db.prepare("DELETE FROM stream WHERE generation = 'v4' AND company_id IS NULL").run();
  if (row === null) return;
  db.prepare(`
    INSERT INTO stream(generation, region, model, route, state, end_reason, end_note, pages, records, unique_records,
      duplicates, total_count_first, total_count_last, started_at, finished_at, read_at)
    VALUES ('v4', '', @model, @model, @state, @endReason, @endNote, @pages, @records, @uniqueRecords,
      @records - @uniqueRecords, @totalCountFirst, @totalCountLast, @startedAt, @finishedAt,
      iif(@state = 'failed', NULL, @startedAt))`).run({ ...row, model: COMPANY_LIST });
  db.prepare(
    `UPDATE stream SET checksum = ${checksumOf('stream')} WHERE generation = 'v4' AND company_id IS NULL`,
  ).run();
}

/** Replaces the listed companies. Call it inside a transaction. */
export function saveV4Companies(db: Db, companies: readonly ListedCompany[]): void {
  db.prepare('DELETE FROM v4_company').run();
  const insert = db.prepare('INSERT OR REPLACE INTO v4_company(company_id, body) VALUES (?, ?)');
  for (const { companyId, raw } of companies) insert.run(companyId, Buffer.from(raw).toString('utf8'));
  sealV4Companies(db);
}

/** Saves the digest of the listed companies. */
export function sealV4Companies(db: Db): void {
  writeMeta(db, LISTED, digestListed(listIds(db)));
}

/** The setting that holds the digest of the listed companies. */
const LISTED = 'v4_companies';

/**
 * The companies that V4 listed.
 *
 * @throws SvcError `corrupt_database`
 */
export function readV4Companies(db: Db): bigint[] {
  const ids = listIds(db);
  if ((readMeta(db, LISTED) ?? digestListed([])) !== digestListed(ids)) throw damaged("V4's company list");
  return ids;
}

function listIds(db: Db): bigint[] {
  return db.prepare<[], bigint>('SELECT company_id FROM v4_company ORDER BY company_id').pluck().all();
}

function digestListed(ids: readonly bigint[]): string {
  return sha256Of(ids.join());
}
