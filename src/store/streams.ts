import type { Generation, StreamKey } from '../domain.js';
import { checksumOf, damaged, isIntact } from './checksum.js';
import type { Db } from './open.js';
import { FIRST_POSITION, parseStream, type StoredStream, type StreamRow } from './stream-row.js';

/** A stream to be read, and what is requested for it. */
export interface PlannedStream {
  readonly key: StreamKey;
  readonly route: string;
}

/**
 * Every list of records, or those of one generation, in a fixed order.
 *
 * @throws SvcError `corrupt_database`
 */
export function listStreams(db: Db, generation: Generation | null = null): StreamRow[] {
  const rows = db.prepare<[string | null, string | null], StoredStream>(`
    ${SELECT} WHERE (? IS NULL OR generation = ?) AND NOT ${IS_COMPANY_LIST}
    ORDER BY generation, region, model, company_id`);
  return rows.all(generation, generation).map(parseIntact);
}

/**
 * The row of V4's company list; null where it was not asked for.
 *
 * @throws SvcError `corrupt_database`
 */
export function readCompanyList(db: Db): StreamRow | null {
  const stored = db.prepare<[], StoredStream>(`${SELECT} WHERE ${IS_COMPANY_LIST}`).get();
  return stored === undefined ? null : parseIntact(stored);
}

function parseIntact(stored: StoredStream): StreamRow {
  if (stored.intact === 1n) return parseStream(stored);
  throw damaged(`The state of a ${stored.generation.toUpperCase()} list of ${stored.model}`);
}

const SELECT = `
  SELECT id, generation, region, model, company_id, route, state, end_reason, end_note, pages, records,
    unique_records, duplicates, rejected, total_count_first, total_count_last, started_at, finished_at, read_at,
    position, ${isIntact('stream')} AS intact
  FROM stream`;

/** V4's lists of records are of one company each. */
const IS_COMPANY_LIST = "(generation = 'v4' AND company_id IS NULL)";

/** Ids of the lists of records of a generation that were not read to their end. */
export function listUnfinished(db: Db, generation: Generation): bigint[] {
  return db
    .prepare<[string], bigint>(
      `SELECT id FROM stream WHERE generation = ? AND state IN ('running', 'failed') AND NOT ${IS_COMPANY_LIST}`,
    )
    .pluck()
    .all(generation);
}

/** Adds the streams that are not there yet, as `running`, and brings the routes of the others up to date. */
export function ensureStreams(db: Db, planned: readonly PlannedStream[], startedAt: string): void {
  // One statement: a search for `company_id IS ?` would not use the index on ifnull(company_id, 'all').
  const upsert = db.prepare(`
    INSERT INTO stream(generation, region, model, company_id, route, state, started_at, position)
    VALUES (?, ?, ?, ?, ?, 'running', ?, ?)
    ON CONFLICT(generation, region, model, ifnull(company_id, 'all'))
      DO UPDATE SET route = excluded.route, checksum = 0 WHERE route <> excluded.route`);
  const position = JSON.stringify(FIRST_POSITION);
  for (const { key, route } of planned) {
    const { generation, region, model, companyId } = key;
    upsert.run(generation, region, model, companyId, route, startedAt, position);
  }
  db.prepare(`UPDATE stream SET checksum = ${checksumOf('stream')} WHERE checksum = 0`).run();
}

/** Makes the function that brings a stream's row up to date. Call that inside a transaction. */
export function prepareSaveStream(db: Db): (row: StreamRow) => void {
  const update = db.prepare(`
    UPDATE stream SET state = ?, end_reason = ?, end_note = ?, pages = ?, records = ?, unique_records = ?,
      duplicates = ?, rejected = ?, total_count_first = ?, total_count_last = ?, started_at = ?,
      finished_at = ?, read_at = ?, position = ?
    WHERE id = ?`);
  const seal = db.prepare(`UPDATE stream SET checksum = ${checksumOf('stream')} WHERE id = ?`);
  return (row) => {
    const counts = [row.pages, row.records, row.uniqueRecords, row.duplicates, row.rejected];
    const totals = [row.totalCountFirst, row.totalCountLast];
    const times = [row.startedAt, row.finishedAt, row.readAt];
    const ending = [row.state, row.endReason, row.endNote];
    update.run(...ending, ...counts, ...totals, ...times, JSON.stringify(row.position), row.id);
    seal.run(row.id);
  };
}
