import type { Db } from './open.js';
import { resealTables } from './remap-digest.js';

/**
 * Deletes all stored payloads and data copied from them, and rewrites the file so that none of them remain in freed
 * pages. Ids, keys and the remap are kept.
 *
 * @returns how many payloads there were
 */
export function purgePayloads(db: Db): number {
  const dropped = db
    .transaction(() => {
      const count = Number(db.prepare('SELECT count(*) FROM payload').pluck().get());
      db.exec(`
      DELETE FROM payload;
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
