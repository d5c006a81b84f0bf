import type { Db } from '../store/open.js';
import { remapIndexes, remapTable } from '../store/schema.js';
import { PAIR_OUTCOME, PAIR_PROVISIONAL } from './children.js';

const COLUMNS = `m.model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id, v3_svc_id, v4_svc_id`;

/** The parent's outcome as its children carry it. */
const INHERITED = `replace(e.outcome, '/', '/parent_')`;

const V3_RECORDS = `
  SELECT r.model_ix, '' AS path, r.region, r.company_id AS v3_company_id, c4.company_id AS v4_company_id,
      r.platform_id, NULL AS parent_platform_id, r.svc_id AS v3_svc_id, t.svc_id AS v4_svc_id,
      iif(e.id IS NULL, ${PAIR_OUTCOME}, e.outcome) AS outcome, pair_by(r.id) AS by, e.evidence,
      e.id IS NULL AND ${PAIR_PROVISIONAL} AS provisional,
      ifnull(e.id IS NULL AND r.unique_id <> t.unique_id, 0) AS conflict, 0 AS parent_svc_id
    FROM rec3 AS r LEFT JOIN c4 ON c4.ix = r.pair LEFT JOIN place AS p ON p.place = r.place
    LEFT JOIN rec_result AS e ON e.id = r.id LEFT JOIN record AS t ON t.id = twin_of(r.id)`;

const V4_RECORDS = `
  SELECT r.model_ix, '', NULL, NULL, r.company_id, r.platform_id, NULL, NULL, r.svc_id, e.outcome, NULL, e.evidence, 0, 0, 0
    FROM rec_result AS e CROSS JOIN rec4 AS r ON r.id = e.id WHERE e.gen = 4`;

/** Children of pairs, as listed in `kin`. */
const V3_KIDS = `
  SELECT r.model_ix, k.value ->> 0, r.region, r.company_id, c4.company_id, k.value ->> 3, r.platform_id,
      CAST(k.value ->> 1 AS INTEGER), CAST(k.value ->> 2 AS INTEGER), k.value ->> 4, k.value ->> 5, k.value ->> 6,
      n.provisional AND k.value ->> 2 IS NOT NULL, k.value ->> 7, r.svc_id
    FROM kin AS n CROSS JOIN rec3 AS r ON r.id = n.parent CROSS JOIN c4 ON c4.ix = r.pair CROSS JOIN json_each(n.kids) AS k
    WHERE n.gen = 3`;
const V4_KIDS = `
  SELECT r.model_ix, k.value ->> 0, NULL, NULL, r.company_id, k.value ->> 3, r.platform_id,
      NULL, CAST(k.value ->> 2 AS INTEGER), k.value ->> 4, NULL, k.value ->> 6, 0, 0, r.svc_id
    FROM kin AS n CROSS JOIN rec4 AS r ON r.id = n.parent CROSS JOIN json_each(n.kids) AS k WHERE n.gen = 4`;

/** Children of records that became nothing. */
const V3_HEIRS = `
  SELECT r.model_ix, k.path, r.region, r.company_id, c4.company_id, k.platform_id, r.platform_id,
      k.svc_id, NULL, ${INHERITED}, NULL, NULL, 0, 0, r.svc_id
    FROM rec_result AS e CROSS JOIN rec3 AS r ON r.id = e.id CROSS JOIN child AS k ON k.record_id = e.id
    LEFT JOIN c4 ON c4.ix = r.pair WHERE e.gen = 3`;
const V4_HEIRS = `
  SELECT r.model_ix, k.path, NULL, NULL, r.company_id, k.platform_id, r.platform_id,
      NULL, k.svc_id, ${INHERITED}, NULL, NULL, 0, 0, r.svc_id
    FROM rec_result AS e CROSS JOIN rec4 AS r ON r.id = e.id CROSS JOIN child AS k ON k.record_id = e.id WHERE e.gen = 4`;

/** The results as rows of the remap, in the one order every build of the same data has; models are numbered by name. */
const ROWS = `
  SELECT ${COLUMNS},
      iif(instr(outcome, '/') = 0, outcome, substr(outcome, 1, instr(outcome, '/') - 1)),
      iif(instr(outcome, '/') = 0, NULL, substr(outcome, instr(outcome, '/') + 1)),
      by,
      CASE
        WHEN NOT provisional THEN ifnull(evidence, '{}')
        ELSE json_patch(ifnull(evidence, '{}'), '{"provisional":true}')
      END,
      conflict
  FROM (${[V3_RECORDS, V4_RECORDS, V3_KIDS, V4_KIDS, V3_HEIRS, V4_HEIRS].join(' UNION ALL ')}) AS u
  CROSS JOIN m ON m.ix = u.model_ix
  ORDER BY model_ix, path, v3_svc_id IS NULL, region, v3_company_id, v3_svc_id, v4_company_id, v4_svc_id, parent_svc_id`;

/** Puts the new remap in the old one's place; part of the caller's transaction. */
export function writeRemap(db: Db): void {
  db.exec(`
    DROP TABLE IF EXISTS remap_next;
    ${remapTable('remap_next')}
    INSERT INTO remap_next ${ROWS};
    DROP TABLE remap;
    ALTER TABLE remap_next RENAME TO remap;
    ${remapIndexes('remap')}
  `);
}
