import type { Db } from '../store/open.js';
import { MAX_NAMED_IDS } from './judge-group.js';

/** Replaces the reason `absent`, set by the join, with the first reason in the contract's order that applies. */
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

/** Only the platform's own creation date counts: V4's service dates are all recent. */
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

/**
 * Finds changed keys: an unmatched V3 record and a V4-only record of the same paired model with the same unique id or
 * folded key. The row of each names the other; nothing is mapped.
 */
function explainNearKeys(db: Db): void {
  db.function('fold_key', { deterministic: true }, (key: unknown) =>
    key === null ? null : foldKey(String(key)),
  );
  db.exec(`
    CREATE TEMP TABLE open_record(
      generation INTEGER NOT NULL, paired_model_id INTEGER NOT NULL, record_id INTEGER NOT NULL, svc_id INTEGER NOT NULL,
      unique_id TEXT, folded_key TEXT,
      PRIMARY KEY (generation, record_id)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO open_record ${OPEN} AND outcome.status = 'v4_only' AND outcome.paired_model_id IS NOT NULL;
    INSERT INTO open_record ${OPEN} AND outcome.status = 'unmatched'
      AND outcome.paired_model_id IN (SELECT paired_model_id FROM open_record WHERE generation = 4);
    CREATE INDEX temp.open_record_unique_id ON open_record(paired_model_id, generation, unique_id, svc_id)
      WHERE unique_id IS NOT NULL;
    CREATE INDEX temp.open_record_folded_key ON open_record(paired_model_id, generation, folded_key, svc_id)
      WHERE folded_key IS NOT NULL;
  `);
  nameNearKeys(db, 3);
  nameNearKeys(db, 4);
}

/** Records without a counterpart. */
const OPEN = `
  SELECT outcome.generation, outcome.paired_model_id, record.id, record.svc_id, record.unique_id,
      fold_key(record.platform_id)
    FROM record_outcome AS outcome JOIN record ON record.id = outcome.record_id
    WHERE outcome.reason IN ('absent', 'no_platform_id')`;

function nameNearKeys(db: Db, generation: 3 | 4): void {
  const other = generation === 3 ? 4 : 3;
  const likeBy = (column: string): string => `
    SELECT svc_id FROM open_record AS candidate
      WHERE candidate.paired_model_id = own.paired_model_id AND candidate.generation = ${other}
        AND candidate.${column} = own.${column}`;
  const lowestBy = (column: string): string =>
    `SELECT svc_id FROM (${likeBy(column)} ORDER BY svc_id LIMIT ${MAX_NAMED_IDS})`;
  const candidates = `
    ${lowestBy('unique_id')} UNION ${lowestBy('folded_key')} ORDER BY svc_id LIMIT ${MAX_NAMED_IDS}`;
  db.exec(`
    UPDATE record_outcome SET reason = 'key_changed', evidence = near.evidence FROM (
      SELECT own.record_id, json_object('v${other}_svc_ids', json((
          SELECT json_group_array(CAST(svc_id AS TEXT)) FROM (${candidates})))) AS evidence
        FROM open_record AS own
        WHERE own.generation = ${generation} AND (EXISTS (${likeBy('unique_id')}) OR EXISTS (${likeBy('folded_key')}))
    ) AS near WHERE record_outcome.record_id = near.record_id AND record_outcome.reason = 'absent';
  `);
}

/**
 * Folds a key for finding near misses: trimmed, NFC, case folded, without leading zeros (a single 0 stays).
 *
 * Used only to name candidates to a person, never to join.
 */
export function foldKey(key: string): string {
  const folded = key.trim().normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
  return folded.replace(/^0+(?=.)/su, '');
}
