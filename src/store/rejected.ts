import { createHash } from 'node:crypto';
import type { RejectedObject } from '../domain.js';
import type { Db } from './open.js';
import type { StreamRow } from './stream-row.js';

/** How many rejected objects of a page were no records; rejected children are listed but not counted. */
export interface RejectedTally {
  /** Listed. */
  rejected: number;
  /** Listed already, with the same bytes: they came with a page that was sent twice or overlapped. */
  duplicates: number;
}

/**
 * Makes the function that lists a page's rejected objects. They have no id to be recognised by, so their
 * bytes serve: within a page each counts, and a later page adds only what exceeds the same bytes listed
 * before. So repeated pages change nothing, and a missing record cannot hide behind a repeated reject.
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

/** Forgets a stream's rejected objects, before they arrive again. */
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
