import type { Db } from '../store/open.js';
import { explainNearKeys } from './near-keys.js';

/** Explains every row the join left as `absent` with the first reason that applies. */
export function explainRecords(db: Db): void {
  explainInert(db);
  explainNearKeys(db);
  explainWindow(db);
  explainCreatedLater(db);
  db.exec(`
    UPDATE rec_result SET outcome = 'unmatched/unexplained' WHERE outcome = 'unmatched/absent';
    UPDATE rec_result SET outcome = 'v4_only/unexplained' WHERE outcome = 'v4_only/absent';
  `);
}

function explainInert(db: Db): void {
  db.exec(`
    UPDATE rec_result SET outcome = 'unmatched/connection_inert'
      WHERE outcome = 'unmatched/absent' AND place IN (SELECT p.place FROM place p JOIN inert i ON i.c4 = p.c4);
  `);
}

function explainWindow(db: Db): void {
  db.exec(`
    UPDATE rec_result SET outcome = 'unmatched/outside_backfill_window', evidence = e.evidence FROM (
      SELECT o.id, json_object(
          'latest_date', ${isoOf('r.latest_ms')}, 'latest_from', r.latest_from,
          'window_start', ${isoOf('w.start_ms')}, 'window', iif(w.inferred, 'inferred', 'configured')) AS evidence
        FROM rec_result o JOIN record r ON r.id = o.id JOIN place p ON p.place = o.place JOIN bounds w ON w.c4 = p.c4
        WHERE o.gen = 3 AND o.outcome = 'unmatched/absent' AND r.latest_ms < w.start_ms
    ) e WHERE rec_result.gen = 3 AND rec_result.id = e.id;
  `);
}

/** Only the platform's own creation date proves it: V4's service dates are all new. */
function explainCreatedLater(db: Db): void {
  db.exec(`
    UPDATE rec_result SET outcome = 'v4_only/created_after_export', evidence = e.evidence FROM (
      SELECT o.id, json_object('created', ${isoOf('r.created_ms')}, 'v3_read_until', ${isoOf('p.v3_read_until_ms')}) AS evidence
        FROM rec_result o JOIN record r ON r.id = o.id JOIN place p ON p.place = o.place
        WHERE o.gen = 4 AND o.outcome = 'v4_only/absent' AND r.created_ms > p.v3_read_until_ms
    ) e WHERE rec_result.gen = 4 AND rec_result.id = e.id;
  `);
}

function isoOf(ms: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${ms} / 1000.0, 'unixepoch')`;
}
