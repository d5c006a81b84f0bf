import type { Db } from '../store/open.js';
import { foldKey } from './fold-key.js';
import { NAMED } from './group-evidence.js';

/**
 * A changed key: an unmatched V3 record and a V4-only one of the same place that share the unique id, or the
 * key after folding. Both rows say so, each naming the other; nothing is mapped.
 */
export function explainNearKeys(db: Db): void {
  db.function('fold_key', { deterministic: true }, (key: unknown) =>
    key === null ? null : foldKey(String(key)),
  );
  db.exec(`
    CREATE TEMP TABLE near(
      gen INTEGER NOT NULL, place INTEGER NOT NULL, id INTEGER NOT NULL, svc_id INTEGER NOT NULL, uid TEXT, fold TEXT,
      PRIMARY KEY (gen, id)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO near SELECT 4, e.place, r.id, r.svc_id, r.unique_id, fold_key(r.platform_id)
      FROM rec_result e JOIN record r ON r.id = e.id
      WHERE e.gen = 4 AND e.place IS NOT NULL AND e.outcome IN ('v4_only/absent', 'v4_only/no_platform_id');
    INSERT INTO near SELECT 3, e.place, r.id, r.svc_id, r.unique_id, fold_key(r.platform_id)
      FROM rec_result e JOIN record r ON r.id = e.id
      WHERE e.gen = 3 AND e.place IN (SELECT place FROM near WHERE gen = 4)
        AND e.outcome IN ('unmatched/absent', 'unmatched/no_platform_id');
    CREATE INDEX temp.near_uid ON near(place, gen, uid, svc_id) WHERE uid IS NOT NULL;
    CREATE INDEX temp.near_fold ON near(place, gen, fold, svc_id) WHERE fold IS NOT NULL;
  `);
  nameNearKeys(db, 3, 'unmatched');
  nameNearKeys(db, 4, 'v4_only');
}

function nameNearKeys(db: Db, gen: 3 | 4, status: string): void {
  const other = gen === 3 ? 4 : 3;
  const partners = `
    SELECT svc_id FROM (SELECT svc_id FROM near p WHERE p.place = n.place AND p.gen = ${other} AND p.uid = n.uid ORDER BY svc_id LIMIT ${NAMED})
    UNION
    SELECT svc_id FROM (SELECT svc_id FROM near p WHERE p.place = n.place AND p.gen = ${other} AND p.fold = n.fold ORDER BY svc_id LIMIT ${NAMED})
    ORDER BY svc_id LIMIT ${NAMED}`;
  db.exec(`
    UPDATE rec_result SET outcome = '${status}/key_changed', evidence = e.evidence FROM (
      SELECT n.id, json_object('v${other}_svc_ids', json((
        SELECT json_group_array(CAST(svc_id AS TEXT)) FROM (${partners})))) AS evidence
      FROM near n WHERE n.gen = ${gen} AND (
        EXISTS (SELECT 1 FROM near p WHERE p.place = n.place AND p.gen = ${other} AND p.uid = n.uid)
        OR EXISTS (SELECT 1 FROM near p WHERE p.place = n.place AND p.gen = ${other} AND p.fold = n.fold))
    ) e WHERE rec_result.gen = ${gen} AND rec_result.id = e.id AND rec_result.outcome = '${status}/absent';
  `);
}
