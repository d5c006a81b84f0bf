import type { Db } from '../store/open.js';
import { remapIndexes, remapTable } from '../store/schema.js';
import { PAIR_KIDS, PAIR_PROVISIONAL, PAIR_REASON, PAIR_STATUS, PARENT_PAIRS } from './children.js';

const COLUMNS = `m.model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id, v3_svc_id, v4_svc_id`;

/** Status and reason of a record in `rec_result AS e`. */
const STATUS = `substr(e.outcome, 1, instr(e.outcome, '/') - 1)`;
const REASON = `substr(e.outcome, instr(e.outcome, '/') + 1)`;

const V3_RECORDS = `
  SELECT r.model_ix, '' AS path, r.region, r.company_id AS v3_company_id, c4.company_id AS v4_company_id,
      r.platform_id, NULL AS parent_platform_id, r.svc_id AS v3_svc_id, t.svc_id AS v4_svc_id,
      iif(e.id IS NULL, ${PAIR_STATUS}, ${STATUS}) AS status, iif(e.id IS NULL, ${PAIR_REASON}, ${REASON}) AS reason,
      iif(d.id IS NULL, pair_by(r.id), 'decision') AS by, ifnull(d.evidence, e.evidence) AS evidence, iif(e.id IS NULL, ${PAIR_PROVISIONAL}, 0) AS provisional,
      ifnull(e.id IS NULL AND r.unique_id <> t.unique_id, 0) AS conflict, 0 AS parent_svc_id
    FROM rec3 AS r LEFT JOIN c4 ON c4.ix = r.pair LEFT JOIN place AS p ON p.place = r.place
    LEFT JOIN rec_result AS e ON e.id = r.id LEFT JOIN record AS t ON t.id = twin_of(r.id)
    LEFT JOIN decided AS d ON d.id = r.id`;

const V4_RECORDS = `
  SELECT r.model_ix, '', NULL, NULL, r.company_id, r.platform_id, NULL, NULL, r.svc_id, ${STATUS}, ${REASON}, NULL, e.evidence, 0, 0, 0
    FROM rec_result AS e CROSS JOIN rec4 AS r ON r.id = e.id WHERE e.gen = 4`;

/** The evidence of a child `k` of a pair; only a decision pairs records with different keys. */
const KID_EVIDENCE = `
  iif(r.platform_id IS t.platform_id OR k.v4_svc_id IS NULL, k.evidence,
    json_set(ifnull(k.evidence, '{}'), '$.v4_parent_platform_id', t.platform_id))`;

/** Children of pairs, as `kids_of` judges them; V4's where there is no V3 child. */
const KIDS_OF_PAIRS = `
  SELECT r.model_ix, k.path, iif(k.gen = 3, r.region, NULL), iif(k.gen = 3, r.company_id, NULL), t.company_id,
      k.key, r.platform_id, CAST(k.v3_svc_id AS INTEGER), CAST(k.v4_svc_id AS INTEGER), k.status, k.reason, k.by, ${KID_EVIDENCE},
      iif(${PAIR_PROVISIONAL}, k.by IS NOT NULL, 0), k.conflict = 1, iif(k.gen = 3, r.svc_id, t.svc_id)
    FROM ${PARENT_PAIRS} CROSS JOIN kids_of(shares_twin(r.id), ${PAIR_KIDS}) AS k`;
const SHARED_KIDS = `
  SELECT r.model_ix, k.value ->> 1, NULL, NULL, r.company_id, k.value ->> 4, r.platform_id, NULL,
      CAST(k.value ->> 3 AS INTEGER), k.value ->> 5, k.value ->> 6, NULL, k.value ->> 8, 0, 0, r.svc_id
    FROM shared_kids AS n CROSS JOIN rec4 AS r ON r.id = n.parent CROSS JOIN json_each(n.kids) AS k`;

/** Children of records that became nothing. */
const V3_HEIRS = `
  SELECT r.model_ix, k.path, r.region, r.company_id, c4.company_id, k.platform_id, r.platform_id,
      k.svc_id, NULL, ${STATUS}, 'parent_' || ${REASON}, NULL, NULL, 0, 0, r.svc_id
    FROM rec_result AS e CROSS JOIN rec3 AS r ON r.id = e.id CROSS JOIN child AS k ON k.record_id = e.id
    LEFT JOIN c4 ON c4.ix = r.pair WHERE e.gen = 3`;
const V4_HEIRS = `
  SELECT r.model_ix, k.path, NULL, NULL, r.company_id, k.platform_id, r.platform_id,
      NULL, k.svc_id, ${STATUS}, 'parent_' || ${REASON}, NULL, NULL, 0, 0, r.svc_id
    FROM rec_result AS e CROSS JOIN rec4 AS r ON r.id = e.id CROSS JOIN child AS k ON k.record_id = e.id WHERE e.gen = 4`;

/** The results as rows of the remap, in the one order every build of the same data has; models are numbered by name. */
const ROWS = `
  SELECT ${COLUMNS}, status, reason, by,
      CASE
        WHEN NOT provisional THEN ifnull(evidence, '{}')
        ELSE json_patch(ifnull(evidence, '{}'), '{"provisional":true}')
      END,
      conflict
  FROM (${[V3_RECORDS, V4_RECORDS, KIDS_OF_PAIRS, SHARED_KIDS, V3_HEIRS, V4_HEIRS].join(' UNION ALL ')}) AS u
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
