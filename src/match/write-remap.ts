import type { Db } from '../store/open.js';
import { remapIndexes, remapTable } from '../store/schema.js';
import { JUDGED_CHILD, PAIR_PROVISIONAL, PARENT_PAIRS } from './match-children.js';

/*
 * Every SELECT below has the same columns: `model_id`, the columns of the remap, whether the row is `provisional`, and
 * `parent_svc_id`, which is used only for sorting. V3 and V4 records are `r`; the V4 record of a pair is `twin`.
 */

const V3_RECORDS = `
  SELECT r.model_id, '' AS path, r.region, r.company_id AS v3_company_id, v4_company.company_id AS v4_company_id,
      r.platform_id, NULL AS parent_platform_id, r.svc_id AS v3_svc_id, twin.svc_id AS v4_svc_id,
      coalesce(outcome.status, iif(pair.reason IS NULL, 'matched', 'deleted')) AS status,
      ifnull(outcome.reason, pair.reason) AS reason, pair.matched_by,
      ifnull(outcome.evidence, pair.evidence) AS evidence,
      iif(outcome.record_id IS NULL, ${PAIR_PROVISIONAL}, 0) AS provisional,
      ifnull(r.unique_id <> twin.unique_id, 0) AS conflict, 0 AS parent_svc_id
    FROM v3_record AS r
    LEFT JOIN scope_v4_company AS v4_company ON v4_company.id = r.paired_id
    LEFT JOIN paired_model ON paired_model.id = r.paired_model_id
    LEFT JOIN record_outcome AS outcome ON outcome.record_id = r.id
    LEFT JOIN pair ON pair.v3_record_id = r.id
    LEFT JOIN record AS twin ON twin.id = pair.v4_record_id`;

/** V4 records without a V3 record. */
const V4_RECORDS = `
  SELECT r.model_id, '', NULL, NULL, r.company_id, r.platform_id, NULL, NULL, r.svc_id,
      outcome.status, outcome.reason, NULL, outcome.evidence, 0, 0, 0
    FROM record_outcome AS outcome CROSS JOIN v4_record AS r ON r.id = outcome.record_id WHERE outcome.generation = 4`;

/** The evidence of a child of a pair; it adds V4's parent key, which differs only if a decision paired the records. */
const CHILD_EVIDENCE = `
  iif(r.platform_id IS twin.platform_id OR child.v4_svc_id IS NULL, child.evidence,
    json_set(ifnull(child.evidence, '{}'), '$.v4_parent_platform_id', twin.platform_id))`;

/** Children of pairs that do not share their twin, including V4 children without a V3 child. */
const CHILDREN_OF_PAIRS = `
  SELECT r.model_id, child.path, iif(child.generation = 3, r.region, NULL), iif(child.generation = 3, r.company_id, NULL),
      twin.company_id, child.platform_id, r.platform_id,
      CAST(child.v3_svc_id AS INTEGER), CAST(child.v4_svc_id AS INTEGER),
      child.status, child.reason, child.matched_by, ${CHILD_EVIDENCE},
      iif(${PAIR_PROVISIONAL}, child.matched_by IS NOT NULL, 0), child.conflict = 1,
      iif(child.generation = 3, r.svc_id, twin.svc_id)
    FROM ${PARENT_PAIRS} CROSS JOIN ${JUDGED_CHILD} AS child WHERE NOT pair.is_shared`;

/** Children of pairs that share their twin, and children of the twin without a V3 child. */
const V3_SHARED_CHILDREN = `
  SELECT r.model_id, child.path, r.region, r.company_id, twin.company_id, child.platform_id, r.platform_id,
      child.v3_svc_id, child.v4_svc_id, child.status, child.reason, child.matched_by, child.evidence,
      iif(${PAIR_PROVISIONAL}, child.matched_by IS NOT NULL, 0), child.conflict, r.svc_id
    FROM shared_child AS child CROSS JOIN v3_record AS r ON r.id = child.v3_record_id
    CROSS JOIN record AS twin ON twin.id = child.v4_record_id
    CROSS JOIN paired_model ON paired_model.id = r.paired_model_id`;
const V4_SHARED_CHILDREN = `
  SELECT r.model_id, child.path, NULL, NULL, r.company_id, child.platform_id, r.platform_id,
      NULL, child.v4_svc_id, child.status, child.reason, NULL, child.evidence, 0, 0, r.svc_id
    FROM shared_child AS child CROSS JOIN v4_record AS r ON r.id = child.v4_record_id WHERE child.v3_record_id IS NULL`;

/** Children of records that are in no pair inherit the outcome of their record. */
const V3_INHERITED = `
  SELECT r.model_id, child.path, r.region, r.company_id, v4_company.company_id, child.platform_id, r.platform_id,
      child.svc_id, NULL, outcome.status, 'parent_' || outcome.reason, NULL, NULL, 0, 0, r.svc_id
    FROM record_outcome AS outcome CROSS JOIN v3_record AS r ON r.id = outcome.record_id
    CROSS JOIN child ON child.record_id = outcome.record_id
    LEFT JOIN scope_v4_company AS v4_company ON v4_company.id = r.paired_id WHERE outcome.generation = 3`;
const V4_INHERITED = `
  SELECT r.model_id, child.path, NULL, NULL, r.company_id, child.platform_id, r.platform_id,
      NULL, child.svc_id, outcome.status, 'parent_' || outcome.reason, NULL, NULL, 0, 0, r.svc_id
    FROM record_outcome AS outcome CROSS JOIN v4_record AS r ON r.id = outcome.record_id
    CROSS JOIN child ON child.record_id = outcome.record_id WHERE outcome.generation = 4`;

const ALL_ROWS = [
  V3_RECORDS,
  V4_RECORDS,
  CHILDREN_OF_PAIRS,
  V3_SHARED_CHILDREN,
  V4_SHARED_CHILDREN,
  V3_INHERITED,
  V4_INHERITED,
].join(' UNION ALL ');

/** The rows of the remap, in a deterministic order; models are numbered by name. */
const ORDERED_ROWS = `
  SELECT scope_model.model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id,
      v3_svc_id, v4_svc_id, status, reason, matched_by,
      CASE
        WHEN NOT provisional THEN ifnull(evidence, '{}')
        ELSE json_patch(ifnull(evidence, '{}'), '{"provisional":true}')
      END,
      conflict
  FROM (${ALL_ROWS}) AS unordered CROSS JOIN scope_model ON scope_model.id = unordered.model_id
  ORDER BY model_id, path, v3_svc_id IS NULL, region, v3_company_id, v3_svc_id, v4_company_id, v4_svc_id, parent_svc_id`;

/** Replaces the old remap with the new one; part of the caller's transaction. */
export function writeRemap(db: Db): void {
  db.exec(`
    DROP TABLE IF EXISTS remap_next;
    ${remapTable('remap_next')}
    INSERT INTO remap_next ${ORDERED_ROWS};
    DROP TABLE remap;
    -- otherwise a view of the user's that reads remap is an error here
    PRAGMA legacy_alter_table = ON;
    ALTER TABLE remap_next RENAME TO remap;
    PRAGMA legacy_alter_table = OFF;
    ${remapIndexes('remap')}
  `);
}
