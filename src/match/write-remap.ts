import { createHash } from 'node:crypto';
import { SvcError } from '../errors.js';
import type { Db } from '../store/open.js';
import { remapIndexes, remapTable } from '../store/schema.js';

/** Columns of the public table, in its order; the digest covers all of them. */
const REMAP_COLUMNS = [
  'model',
  'path',
  'region',
  'v3_company_id',
  'v4_company_id',
  'platform_id',
  'parent_platform_id',
  'v3_svc_id',
  'v4_svc_id',
  'status',
  'reason',
  'matched_by',
  'evidence',
  'unique_id_conflict',
] as const;

/** The result tables as rows of the remap, in the one order every build of the same data has. */
const ROWS = `
  SELECT model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id, v3_svc_id, v4_svc_id,
      iif(instr(outcome, '/') = 0, outcome, substr(outcome, 1, instr(outcome, '/') - 1)),
      iif(instr(outcome, '/') = 0, NULL, substr(outcome, instr(outcome, '/') + 1)),
      by,
      CASE
        WHEN NOT provisional THEN ifnull(evidence, '{}')
        ELSE json_patch(ifnull(evidence, '{}'), '{"provisional":true}')
      END,
      conflict
  FROM (
    SELECT m.model, '' AS path, r.region, r.company_id AS v3_company_id, c4.company_id AS v4_company_id,
        r.platform_id, NULL AS parent_platform_id, r.svc_id AS v3_svc_id, t.svc_id AS v4_svc_id,
        e.outcome, e.by, e.evidence, e.provisional, e.conflict, 0 AS parent_svc_id
      FROM rec_result e JOIN rec3 r ON r.id = e.id JOIN m ON m.ix = r.model_ix
      LEFT JOIN c4 ON c4.ix = r.pair LEFT JOIN record t ON t.id = e.twin WHERE e.gen = 3
    UNION ALL
    SELECT m.model, '', NULL, NULL, r.company_id, r.platform_id, NULL, NULL, r.svc_id,
        e.outcome, e.by, e.evidence, e.provisional, e.conflict, 0
      FROM rec_result e JOIN rec4 r ON r.id = e.id JOIN m ON m.ix = r.model_ix WHERE e.gen = 4
    UNION ALL
    SELECT m.model, f.path, r.region, r.company_id, c4.company_id, k.platform_id, r.platform_id, k.svc_id, t.svc_id,
        e.outcome, e.by, e.evidence, e.provisional, e.conflict, r.svc_id
      FROM kid_result e JOIN kid k ON k.id = e.id JOIN field f ON f.ix = k.field
      JOIN rec3 r ON r.id = k.parent JOIN m ON m.ix = r.model_ix
      LEFT JOIN c4 ON c4.ix = r.pair LEFT JOIN kid t ON t.id = e.twin WHERE e.gen = 3
    UNION ALL
    SELECT m.model, f.path, NULL, NULL, r.company_id, k.platform_id, r.platform_id, NULL, k.svc_id,
        e.outcome, e.by, e.evidence, e.provisional, e.conflict, r.svc_id
      FROM kid_result e JOIN kid k ON k.id = e.id JOIN field f ON f.ix = k.field
      JOIN rec4 r ON r.id = k.parent JOIN m ON m.ix = r.model_ix WHERE e.gen = 4
  )
  ORDER BY model, path, v3_svc_id IS NULL, region, v3_company_id, v3_svc_id, v4_company_id, v4_svc_id, parent_svc_id`;

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

/**
 * Every exported V3 record and child is in exactly one row, every V4 one in at least one; counts add up.
 *
 * @throws SvcError `internal`: a remap that breaks this is a bug and is never shown
 */
export function assertConserved(db: Db): Conservation {
  const count = (sql: string) => Number(db.prepare(sql).pluck().get());
  const found = {
    v3Records: count('SELECT count(*) FROM x JOIN record r ON r.stream_id = x.stream_id WHERE x.gen = 3'),
    v3Children: count('SELECT count(*) FROM kid WHERE gen = 3'),
    v4Records: count('SELECT count(*) FROM x JOIN record r ON r.stream_id = x.stream_id WHERE x.gen = 4'),
    v4Children: count('SELECT count(*) FROM kid WHERE gen = 4'),
  };
  const rows = {
    v3Records: count(`SELECT count(*) FROM remap WHERE v3_svc_id IS NOT NULL AND path = ''`),
    v3Children: count(`SELECT count(*) FROM remap WHERE v3_svc_id IS NOT NULL AND path <> ''`),
    v4Records: count(
      'SELECT count(*) FROM (SELECT id FROM rec_result WHERE gen = 4 UNION SELECT twin FROM rec_result WHERE twin IS NOT NULL)',
    ),
    v4Children: count(
      'SELECT count(*) FROM (SELECT id FROM kid_result WHERE gen = 4 UNION SELECT twin FROM kid_result WHERE twin IS NOT NULL)',
    ),
  };
  const total = count('SELECT count(*) FROM remap');
  const results = count('SELECT (SELECT count(*) FROM rec_result) + (SELECT count(*) FROM kid_result)');
  const open = count(
    `SELECT count(*) FROM remap WHERE reason = 'absent' OR (status = 'matched' AND (v3_svc_id IS NULL OR v4_svc_id IS NULL))`,
  );
  if (JSON.stringify(found) === JSON.stringify(rows) && total === results && open === 0)
    return { ...found, rows: total };
  throw new SvcError('internal', 'The remap does not account for every record; it was discarded.', {
    hint: 'This is a bug: please report it with these numbers.',
    facts: { found: JSON.stringify(found), rows: JSON.stringify(rows), total, results, open },
  });
}

export interface Conservation {
  readonly v3Records: number;
  readonly v3Children: number;
  readonly v4Records: number;
  readonly v4Children: number;
  readonly rows: number;
}

/** sha256 over every row in order: equal digests are equal remaps. */
export function digestRemap(db: Db): string {
  const hash = createHash('sha256');
  const rows = db
    .prepare(`SELECT ${REMAP_COLUMNS.join(', ')} FROM remap ORDER BY rowid`)
    .raw()
    .iterate();
  for (const row of rows)
    hash.update(`${JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}` : value))}\n`);
  return hash.digest('hex');
}
