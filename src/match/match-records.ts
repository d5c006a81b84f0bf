import type { Config } from '../config/config.js';
import type { Db } from '../store/open.js';
import { joinRecords } from './join-records.js';
import { createPairedModels, pairedModelSql } from './scope.js';

/**
 * Gives every record its outcome: pairs are in `pair`, and `record_outcome` has one row for each record of either
 * generation that is in no pair. The reason `absent` (the other generation has no record with the key) is replaced by
 * `explainRecords`.
 */
export function matchRecords(db: Db, config: Config, throwIfStopped: () => void): void {
  createPairedModels(db, config);
  createViews(db);
  joinRecords(db, throwIfStopped);
  saveV3Outcomes(db);
  saveV4Outcomes(db);
}

/**
 * Views of the records with their stream and company. CROSS JOIN keeps SQLite's join order, so that records are read
 * sequentially by rowid.
 */
function createViews(db: Db): void {
  db.exec(`
    CREATE TEMP VIEW v3_record AS
      SELECT record.id, record.svc_id, record.platform_id, record.unique_id, record.deleted, record.company_id, record.children,
          stream.model_id, stream.region, stream.read_in_full,
          company.paired_id, company.matched_by AS company_matched_by, company.scope_complete,
          ${pairedModelSql('stream.model_id', 'company.paired_id')} AS paired_model_id
        FROM record CROSS JOIN scope_stream AS stream ON stream.stream_id = record.stream_id
        CROSS JOIN scope_v3_company AS company
          ON company.region = stream.region AND company.company_id = record.company_id
        WHERE stream.generation = 3;
    CREATE TEMP VIEW v4_record AS
      SELECT record.id, record.svc_id, record.platform_id, record.unique_id, record.deleted, record.company_id, record.children,
          stream.model_id, stream.read_in_full,
          company.paired_id, company.matched_by AS company_matched_by, company.scope_complete,
          ${pairedModelSql('stream.model_id', 'company.id')} AS paired_model_id
        FROM record CROSS JOIN scope_stream AS stream ON stream.stream_id = record.stream_id
        CROSS JOIN scope_v4_company AS company ON company.company_id = record.company_id
        WHERE stream.generation = 4;
    CREATE TEMP TABLE record_outcome(
      record_id INTEGER PRIMARY KEY, generation INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, evidence TEXT,
      paired_model_id INTEGER
    ) STRICT;
  `);
}

function saveV3Outcomes(db: Db): void {
  db.exec(`
    INSERT INTO record_outcome
    SELECT id, 3,
        CASE
          WHEN reason IN ('duplicate_platform_id_v3', 'duplicate_platform_id_v4') THEN 'ambiguous'
          WHEN deleted AND reason <> 'scope_incomplete' THEN 'deleted'
          ELSE 'unmatched'
        END,
        reason, evidence, paired_model_id
      FROM (
        SELECT r.id, r.deleted, verdict.evidence, r.paired_model_id,
            CASE
              WHEN r.deleted AND r.platform_id IS NULL THEN 'no_platform_id'
              WHEN r.paired_id IS NULL AND NOT r.scope_complete THEN 'scope_incomplete'
              WHEN r.paired_id IS NOT NULL AND r.platform_id IS NULL AND NOT paired_model.v4_read_in_full
                THEN 'scope_incomplete'
              WHEN r.platform_id IS NULL THEN 'no_platform_id'
              WHEN r.paired_id IS NULL
                THEN iif(r.company_matched_by = 'ambiguous', 'company_ambiguous', 'company_not_in_v4')
              WHEN paired_model.v4_absent THEN 'model_not_in_v4'
              WHEN verdict.kind = 'superseded' THEN 'superseded_in_v3'
              WHEN verdict.kind = 'dup_v3' THEN 'duplicate_platform_id_v3'
              WHEN verdict.kind = 'dup_v4' THEN 'duplicate_platform_id_v4'
              WHEN NOT paired_model.v4_read_in_full THEN 'scope_incomplete'
              WHEN r.deleted THEN 'deleted_not_in_v4'
              ELSE 'absent'
            END AS reason
          FROM v3_record AS r LEFT JOIN paired_model ON paired_model.id = r.paired_model_id
          LEFT JOIN group_verdict AS verdict ON verdict.record_id = r.id
          WHERE r.id NOT IN (SELECT v3_record_id FROM pair) ORDER BY r.id);
  `);
}

function saveV4Outcomes(db: Db): void {
  db.exec(`
    INSERT INTO record_outcome
    SELECT id, 4,
        CASE
          WHEN reason IN ('duplicate_platform_id_v3', 'duplicate_platform_id_v4') THEN 'ambiguous'
          WHEN reason IN ('superseded_in_v4', 'deleted_v4_only') THEN 'deleted'
          ELSE 'v4_only'
        END,
        reason, evidence, paired_model_id
      FROM (
        SELECT r.id, verdict.evidence, r.paired_model_id,
            CASE
              WHEN verdict.kind = 'superseded' THEN 'superseded_in_v4'
              WHEN r.paired_id IS NULL AND NOT r.scope_complete THEN 'scope_incomplete'
              WHEN r.paired_id IS NULL AND r.deleted THEN 'deleted_v4_only'
              WHEN verdict.kind = 'dup_v4' THEN 'duplicate_platform_id_v4'
              WHEN verdict.kind = 'dup_v3' THEN 'duplicate_platform_id_v3'
              WHEN r.paired_id IS NOT NULL AND NOT paired_model.v3_read_in_full THEN 'scope_incomplete'
              WHEN r.deleted THEN 'deleted_v4_only'
              WHEN r.platform_id IS NULL THEN 'no_platform_id'
              WHEN r.paired_id IS NULL
                THEN iif(r.company_matched_by = 'ambiguous', 'company_ambiguous', 'company_not_in_v3')
              ELSE 'absent'
            END AS reason
          FROM v4_record AS r LEFT JOIN paired_model ON paired_model.id = r.paired_model_id
          LEFT JOIN group_verdict AS verdict ON verdict.record_id = r.id
          WHERE r.id NOT IN (SELECT id FROM claimed_record) ORDER BY r.id);
  `);
}
