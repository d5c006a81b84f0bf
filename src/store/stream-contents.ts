import { createHash } from 'node:crypto';
import { MAX_INT64, MIN_INT64, type ParsedRecord, type RejectedObject } from '../domain.js';
import { addToIdSum, checksumOf } from './checksum.js';
import { dropParts } from './parts.js';
import { countPayloads, deletePayloads } from './payloads.js';
import { resealTables } from './remap-digest.js';
import type { Db } from './sqlite.js';
import type { StreamRow } from './streams.js';

/**
 * Makes the function that saves a cursor and returns whether the current walk of the stream had it before; in a list that
 * is read company by company, whether the company's part had it.
 */
export function prepareRememberCursor(
  db: Db,
): (streamId: bigint, cursor: string, companyId?: bigint) => boolean {
  const insert = db.prepare(
    'INSERT INTO cursor_seen(stream_id, digest) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  return (streamId, cursor, companyId) => {
    const text = companyId === undefined ? cursor : `${companyId}\0${cursor}`;
    const digest = createHash('sha256').update(text).digest().subarray(0, 16);
    return insert.run(streamId, digest).changes === 0;
  };
}

/** Deletes the cursors of a walk that has ended, and its parts. */
export function dropCursors(db: Db, streamId: bigint): void {
  dropParts(db, streamId);
  db.prepare('DELETE FROM cursor_seen WHERE stream_id = ?').run(streamId);
}

/** Distinct records of excluded companies on one page. */
export interface ExcludedTally {
  /** First seen in this reading. */
  readonly unique: number;
  /** The sum of these. */
  readonly sum: number;
  /** First seen in this walk. */
  readonly fresh: number;
}

/** Makes the function that saves the ids of records of excluded companies. */
export function prepareSaveExcluded(
  db: Db,
): (streamId: bigint, walk: number, svcIds: readonly bigint[]) => ExcludedTally {
  const insert = db.prepare(
    'INSERT INTO excluded(stream_id, svc_id, walk) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const mark = db.prepare('UPDATE excluded SET walk = ? WHERE stream_id = ? AND svc_id = ? AND walk < ?');
  return (streamId, walk, svcIds) => {
    const added = svcIds.filter((svcId) => insert.run(streamId, svcId, walk).changes > 0);
    const marked = svcIds.filter((svcId) => mark.run(walk, streamId, svcId, walk).changes > 0);
    return {
      unique: added.length,
      sum: addToIdSum(0, added),
      fresh: added.length + marked.length,
    };
  };
}

/** Deletes the ids of excluded records, before a new reading. */
export function dropExcluded(db: Db, streamId: bigint): void {
  db.prepare('DELETE FROM excluded WHERE stream_id = ?').run(streamId);
}

/** Counts of the rejected records of a page; rejected children are saved but not counted. */
export interface RejectedTally {
  /** Newly saved. */
  rejected: number;
  /** Already saved with the same bytes, from a page that was repeated or overlaps. */
  duplicates: number;
}

/**
 * Makes the function that saves a page's rejected objects. They have no id, so they are recognised by their bytes: if a
 * page has more objects with the same bytes than are saved, only the excess is added. So a repeated page changes nothing,
 * and identical objects of one page are all counted, which keeps the counts comparable with total_count.
 */
export function prepareSaveRejected(
  db: Db,
): (row: StreamRow, rejected: readonly RejectedObject[]) => RejectedTally {
  const save = prepareInsert(db);
  const countListed = db
    .prepare<[bigint, Uint8Array], bigint>('SELECT count(*) FROM rejected WHERE stream_id = ? AND digest = ?')
    .pluck();
  return (row, rejected) => {
    const tally: RejectedTally = { rejected: 0, duplicates: 0 };
    const listedBefore = new Map<string, number>();
    for (const object of rejected) {
      const digest = digestOf(object);
      const name = digest.toString('hex');
      const left = listedBefore.get(name) ?? Number(countListed.get(row.id, digest) ?? 0n);
      listedBefore.set(name, Math.max(0, left - 1));
      if (left === 0) save(row, object, digest);
      if (object.path === '') tally[left === 0 ? 'rejected' : 'duplicates'] += 1;
    }
    return tally;
  };
}

/** Deletes a stream's rejected objects, before they arrive again. */
export function dropRejected(db: Db, streamId: bigint): void {
  db.prepare('DELETE FROM rejected WHERE stream_id = ?').run(streamId);
}

function prepareInsert(db: Db): (row: StreamRow, object: RejectedObject, digest: Buffer) => void {
  const insert = db.prepare(`
    INSERT INTO rejected(generation, region, model, company_id, page, position, path, reason, raw, stream_id, digest)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  return (row, { position, path, reason, raw }, digest) => {
    const stream = [row.generation, row.region, row.model, row.companyId];
    insert.run(...stream, row.pages + 1, position, path, reason, textOf(raw), row.id, digest);
  };
}

function digestOf({ path, reason, raw }: RejectedObject): Buffer {
  return createHash('sha256').update(`${path}\0${reason}\0`).update(raw).digest().subarray(0, 16);
}

function textOf(raw: Uint8Array): string {
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8');
}

/** The progress of dropping records in chunks. */
export interface DropChunk {
  readonly dropped: number;
  /** The first svc_id not checked yet; null at the end. */
  readonly next: bigint | null;
}

/** Records checked in one transaction, which takes some tens of ms. */
const CHUNK = 10_000;

/**
 * Deletes records last seen before walk `keepFrom`, within the next chunk of a stream's records from svc_id `from` on
 * (null: the first). Call it inside a transaction.
 */
export function dropUnseen(db: Db, streamId: bigint, keepFrom: number, from: bigint | null): DropChunk {
  const low = from ?? MIN_INT64;
  const high = db
    .prepare<[bigint, bigint, number], bigint | null>(`
      SELECT max(svc_id) FROM
        (SELECT svc_id FROM record WHERE stream_id = ? AND svc_id >= ? ORDER BY svc_id LIMIT ?)`)
    .pluck()
    .get(streamId, low, CHUNK);
  if (high === null || high === undefined) return { dropped: 0, next: null };
  const where = 'FROM record WHERE stream_id = ? AND svc_id BETWEEN ? AND ? AND walk < ?';
  db.prepare(
    `INSERT OR IGNORE INTO stale_block SELECT payload_block ${where} AND payload_block IS NOT NULL`,
  ).run(streamId, low, high, keepFrom);
  const { changes } = db.prepare(`DELETE ${where}`).run(streamId, low, high, keepFrom);
  db.prepare('UPDATE stream SET stored = stored - ? WHERE id = ?').run(changes, streamId);
  return { dropped: changes, next: high === MAX_INT64 ? null : high + 1n };
}

/** Deletes a stream whose records are already deleted, and everything that refers to it. Call it inside a transaction. */
export function dropStream(db: Db, streamId: bigint): void {
  dropCursors(db, streamId);
  dropExcluded(db, streamId);
  dropRejected(db, streamId);
  // the id of a deleted stream may be reused
  db.prepare('DELETE FROM split_record WHERE stream_id = ?').run(streamId);
  db.prepare('DELETE FROM stream WHERE id = ?').run(streamId);
}

/** Whether the stream is a V3 list of one company. */
export function isSplit({ generation, companyId }: StreamRow): boolean {
  return generation === 'v3' && companyId !== null;
}

interface StoredElsewhere {
  id: bigint;
  payload_block: bigint | null;
  updated_ms: bigint | null;
  /** 1 if its list has returned it in the current reading. */
  is_current: bigint;
}

/**
 * Makes the function that removes the records of a page from the other lists of their model and region, so that a record
 * that moved to another company is stored once. The later arrival is kept, unless the other list's current reading has
 * returned a newer version. `lost` counts the records that stay in other lists. Call it in the page's transaction, before
 * the page is stored.
 */
export function prepareClaimRecords(
  db: Db,
): (
  row: StreamRow,
  records: readonly ParsedRecord[],
) => { readonly kept: readonly ParsedRecord[]; readonly lost: number } {
  const sql = 'SELECT stream_id FROM split_record WHERE region = ? AND model = ? AND svc_id = ?';
  const owner = db.prepare<[string, string, bigint], bigint>(sql).pluck();
  const setOwner = db.prepare(
    'INSERT OR REPLACE INTO split_record(region, model, svc_id, stream_id) VALUES (?, ?, ?, ?)',
  );
  const removeFrom = prepareRemove(db);
  return (row, records) => {
    const isKept = ({ svcId, updatedMs }: ParsedRecord): boolean => {
      const before = owner.get(row.region, row.model, svcId);
      if (before === row.id) return true;
      if (before !== undefined && !removeFrom(before, svcId, updatedMs)) return false;
      setOwner.run(row.region, row.model, svcId, row.id);
      return true;
    };
    const kept = records.filter(isKept);
    return { kept, lost: records.length - kept.length };
  };
}

/** Makes the function that deletes a record of another list; it returns false if that version is newer. */
function prepareRemove(db: Db): (streamId: bigint, svcId: bigint, arrivalMs: number | null) => boolean {
  const find = db.prepare<[bigint, bigint], StoredElsewhere>(`
    SELECT record.id, record.payload_block, record.updated_ms, record.walk >= stream.position ->> 'keepFrom' AS is_current
    FROM record JOIN stream ON stream.id = record.stream_id WHERE record.stream_id = ? AND record.svc_id = ?`);
  const release = db.prepare('INSERT OR IGNORE INTO stale_block VALUES (?)');
  const drop = db.prepare('DELETE FROM record WHERE id = ?');
  // in that list the record now counts as a duplicate: it arrived, but belongs to another list
  const recount = db.prepare(
    'UPDATE stream SET unique_records = unique_records - 1, duplicates = duplicates + 1 WHERE id = ?',
  );
  const seal = db.prepare(
    `UPDATE stream SET stored = stored - 1, checksum = ${checksumOf('stream')} WHERE id = ?`,
  );
  return (streamId, svcId, arrivalMs) => {
    const stored = find.get(streamId, svcId);
    if (stored === undefined) return true;
    const isCurrent = stored.is_current === 1n;
    if (isCurrent && isNewer(stored.updated_ms, arrivalMs)) return false;
    if (stored.payload_block !== null) release.run(stored.payload_block);
    drop.run(stored.id);
    if (isCurrent) recount.run(streamId);
    seal.run(streamId);
    return true;
  };
}

function isNewer(storedMs: bigint | null, arrivalMs: number | null): boolean {
  return storedMs !== null && arrivalMs !== null && Number(storedMs) > arrivalMs;
}

/** Makes the function that rereads a stream's counts, because other lists may have taken records from it. */
export function prepareStoredCounts(db: Db): (row: StreamRow) => StreamRow {
  const read = db.prepare<[bigint], { unique_records: bigint; duplicates: bigint }>(
    'SELECT unique_records, duplicates FROM stream WHERE id = ?',
  );
  return (row) => {
    const counts = isSplit(row) ? read.get(row.id) : undefined;
    if (counts === undefined) return row;
    return { ...row, uniqueRecords: Number(counts.unique_records), duplicates: Number(counts.duplicates) };
  };
}

/**
 * Deletes all stored payloads and data copied from them, and rewrites the file so that none of them remain in freed
 * pages. Ids, keys and the remap are kept.
 *
 * @returns how many payloads there were
 */
export function purgePayloads(db: Db): number {
  const dropped = db
    .transaction(() => {
      const count = countPayloads(db);
      deletePayloads(db);
      db.exec(`
      DELETE FROM drift;
      UPDATE drift_scope SET compared = 0;
      UPDATE rejected SET raw = '';
      UPDATE v4_company SET body = '{}';
    `);
      resealTables(db, ['drift', 'drift_scope']);
      return count;
    })
    .immediate();
  db.exec('VACUUM');
  return dropped;
}
