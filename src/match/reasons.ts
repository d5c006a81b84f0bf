import type { Db } from '../store/open.js';
import { explainNearKeys } from './near-keys.js';

/** Replaces the reason `absent`, which the join leaves, with the first reason of the contract that applies. */
export function explainRecords(db: Db): void {
  explainInert(db);
  explainNearKeys(db);
  explainWindow(db);
  explainCreatedLater(db);
  db.exec("UPDATE record_outcome SET reason = 'unexplained' WHERE reason = 'absent'");
}

function explainInert(db: Db): void {
  db.exec(`
    UPDATE record_outcome SET reason = 'connection_inert'
      WHERE status = 'unmatched' AND reason = 'absent'
        AND paired_model_id IN (SELECT id FROM paired_model JOIN inert_company USING (v4_company));
  `);
}

function explainWindow(db: Db): void {
  db.exec(`
    UPDATE record_outcome SET reason = 'outside_backfill_window', evidence = older.evidence FROM (
      SELECT record_id, json_object(
          'latest_date', ${isoOf('record.latest_ms')}, 'latest_from', record.latest_from,
          'window_start', ${isoOf('start_ms')}, 'window', iif(inferred, 'inferred', 'configured')) AS evidence
        FROM record_outcome AS outcome JOIN record ON record.id = outcome.record_id
        JOIN paired_model ON paired_model.id = outcome.paired_model_id JOIN backfill_window USING (v4_company)
        WHERE outcome.status = 'unmatched' AND outcome.reason = 'absent' AND record.latest_ms < start_ms
    ) AS older WHERE record_outcome.record_id = older.record_id;
  `);
}

/** Only the platform's own creation date proves it: V4's service dates are all new. */
function explainCreatedLater(db: Db): void {
  db.exec(`
    UPDATE record_outcome SET reason = 'created_after_export', evidence = newer.evidence FROM (
      SELECT record_id, json_object(
          'created', ${isoOf('record.created_ms')}, 'v3_read_until', ${isoOf('v3_read_until_ms')}) AS evidence
        FROM record_outcome AS outcome JOIN record ON record.id = outcome.record_id
        JOIN paired_model ON paired_model.id = outcome.paired_model_id
        WHERE outcome.status = 'v4_only' AND outcome.reason = 'absent' AND record.created_ms > v3_read_until_ms
    ) AS newer WHERE record_outcome.record_id = newer.record_id;
  `);
}

function isoOf(ms: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${ms} / 1000.0, 'unixepoch')`;
}
