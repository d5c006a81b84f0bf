import type { Db } from './open.js';

/** Distinct records of excluded companies on one page. */
export interface ExcludedTally {
  /** First seen in this reading. */
  unique: number;
  /** First seen in this walk. */
  fresh: number;
}

/** Makes the function that remembers which records of excluded companies a stream showed: ids only. */
export function prepareSaveExcluded(
  db: Db,
): (streamId: bigint, walk: number, svcIds: readonly bigint[]) => ExcludedTally {
  const insert = db.prepare(
    'INSERT INTO excluded(stream_id, svc_id, walk) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const mark = db.prepare('UPDATE excluded SET walk = ? WHERE stream_id = ? AND svc_id = ? AND walk < ?');
  return (streamId, walk, svcIds) => {
    const tally: ExcludedTally = { unique: 0, fresh: 0 };
    for (const svcId of svcIds) {
      const isNew = insert.run(streamId, svcId, walk).changes > 0;
      if (isNew) tally.unique += 1;
      if (isNew || mark.run(walk, streamId, svcId, walk).changes > 0) tally.fresh += 1;
    }
    return tally;
  };
}

/** Forgets them, before a new reading. */
export function dropExcluded(db: Db, streamId: bigint): void {
  db.prepare('DELETE FROM excluded WHERE stream_id = ?').run(streamId);
}
