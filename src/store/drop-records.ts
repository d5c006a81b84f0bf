import { MAX_INT64, MIN_INT64 } from '../domain.js';
import { dropCursors } from './cursors.js';
import { dropExcluded } from './excluded.js';
import type { Db } from './open.js';
import { dropRejected } from './rejected.js';

/** Where a chunked drop stands: the first svc_id not looked at yet. */
export interface DropChunk {
  readonly dropped: number;
  /** Null at the end. */
  readonly next: bigint | null;
}

/** Records looked at in one transaction: some tens of ms. */
const CHUNK = 10_000;

/**
 * Drops records last seen before walk `keepFrom`, among the next chunk of a stream's records from `from`
 * on (null: the first). Call inside a transaction.
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
  db.prepare(`DELETE FROM payload WHERE record_id IN (SELECT id ${where})`).run(
    streamId,
    low,
    high,
    keepFrom,
  );
  const { changes } = db.prepare(`DELETE ${where}`).run(streamId, low, high, keepFrom);
  db.prepare('UPDATE stream SET stored = stored - ? WHERE id = ?').run(changes, streamId);
  return { dropped: changes, next: high === MAX_INT64 ? null : high + 1n };
}

/** Drops the row of a stream whose records are gone, and all that hangs on it. Call inside a transaction. */
export function dropStream(db: Db, streamId: bigint): void {
  dropCursors(db, streamId);
  dropExcluded(db, streamId);
  dropRejected(db, streamId);
  // the id of a dropped stream may be given to another one
  db.prepare('DELETE FROM split_record WHERE stream_id = ?').run(streamId);
  db.prepare('DELETE FROM stream WHERE id = ?').run(streamId);
}
