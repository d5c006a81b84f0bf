import { createHash } from 'node:crypto';
import type { Db } from './open.js';

/** Makes the function that remembers a cursor; it tells whether this walk of the stream had it before. */
export function prepareRememberCursor(db: Db): (streamId: bigint, cursor: string) => boolean {
  const insert = db.prepare(
    'INSERT INTO cursor_seen(stream_id, digest) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  return (streamId, cursor) => {
    const digest = createHash('sha256').update(cursor).digest().subarray(0, 16);
    return insert.run(streamId, digest).changes === 0;
  };
}

/** Forgets the cursors of a walk that has ended. */
export function dropCursors(db: Db, streamId: bigint): void {
  db.prepare('DELETE FROM cursor_seen WHERE stream_id = ?').run(streamId);
}
