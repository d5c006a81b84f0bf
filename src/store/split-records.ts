import type { ParsedRecord } from '../domain.js';
import { checksumOf } from './checksum.js';
import type { Db } from './open.js';
import type { StreamRow } from './streams.js';

/** Whether the stream is a V3 list of one company. */
export function isSplit({ generation, companyId }: StreamRow): boolean {
  return generation === 'v3' && companyId !== null;
}

interface StoredElsewhere {
  id: bigint;
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
  const owner = db
    .prepare<[string, string, bigint], bigint>(
      'SELECT stream_id FROM split_record WHERE region = ? AND model = ? AND svc_id = ?',
    )
    .pluck();
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
    SELECT r.id, r.updated_ms, r.walk >= s.position ->> 'keepFrom' AS is_current
    FROM record AS r JOIN stream AS s ON s.id = r.stream_id WHERE r.stream_id = ? AND r.svc_id = ?`);
  const dropBody = db.prepare('DELETE FROM payload WHERE record_id = ?');
  const drop = db.prepare('DELETE FROM record WHERE id = ?');
  // the record had arrived there, but is no longer one of that list
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
    dropBody.run(stored.id);
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
