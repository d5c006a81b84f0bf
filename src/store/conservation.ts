import { REASONS_WITHOUT_V4_KEY } from '../reasons.js';
import { V4_KEY, V4_PARENT_KEY } from './remap-rows.js';
import { RECORD_KEY } from './schema.js';
import type { Db } from './sqlite.js';

/** A contradiction between the remap and the exported records, found without asking the APIs. */
export interface Contradiction {
  readonly code: ContradictionCode;
  readonly model: string;
  readonly path: string;
  readonly region: string | null;
  /** The V3 company id, or the V4 one if no V3 object is involved. */
  readonly company_id: bigint | null;
  readonly platform_id: string | null;
  readonly v3_svc_id: bigint | null;
  readonly v4_svc_id: bigint | null;
}

export const CONTRADICTION_CODES = [
  'not_in_remap',
  'twice_in_remap',
  'not_exported',
  'v4_not_in_remap',
  'v4_not_exported',
  'v4_claimed_twice',
  'ids_against_status',
  'deletion_against_status',
  'unique_id_differs',
  'child_outside_parent',
  'child_against_parent',
  'company_not_paired',
  'key_exists_in_v4',
] as const;
export type ContradictionCode = (typeof CONTRADICTION_CODES)[number];

/** The number of contradictions of one kind, and the first of them. */
export interface ContradictionList {
  readonly code: ContradictionCode;
  readonly total: number;
  readonly first: readonly Contradiction[];
}

/**
 * Checks the remap against the exported records: every V3 record and child must be in exactly one row, every V4 one in
 * at least one, every row must have been exported, and no row may contradict its own records. Empty if it all holds.
 *
 * @param models the configured models; others are not part of the remap
 * @param limit maximum number of contradictions listed per kind
 */
export function findContradictions(db: Db, models: readonly string[], limit: number): ContradictionList[] {
  const params = { models: JSON.stringify(models) };
  const lists = new Map<ContradictionCode, { total: number; first: Contradiction[] }>();
  const queries = Object.entries(QUERIES).map(([code, query]) => [`'${code}' AS code`, query] as const);
  for (const [code, query] of [['code', V3_CONTRADICTIONS] as const, ...queries]) {
    const sql = `SELECT ${code}, ${NAMES} FROM (${query})`;
    for (const row of db.prepare<[object], Contradiction>(sql).iterate(params)) {
      const list = lists.get(row.code) ?? { total: 0, first: [] };
      lists.set(row.code, list);
      list.total += 1;
      if (list.first.length < limit) list.first.push(row);
    }
  }
  return CONTRADICTION_CODES.flatMap((code) => {
    const list = lists.get(code);
    return list === undefined ? [] : [{ code, ...list }];
  });
}

const NAMES = 'model, path, region, company AS company_id, platform_id, v3 AS v3_svc_id, v4 AS v4_svc_id';

const CONFIGURED = 'stream.model IN (SELECT value FROM json_each(@models))';

/** Counts +1 for every exported V3 record and child, and -1 for every row of the remap with its id. */
const V3_BALANCE = `
  SELECT model, path, region, company, platform_id, parent, v3, sum(n) AS n, max(n) > 0 AS exported FROM (
    SELECT stream.model, '' AS path, stream.region, record.company_id AS company, record.platform_id, NULL AS parent,
        record.svc_id AS v3, 1 AS n
      FROM record NOT INDEXED JOIN stream ON stream.id = record.stream_id WHERE stream.generation = 'v3' AND ${CONFIGURED}
    UNION ALL
    SELECT stream.model, child.path, stream.region, record.company_id, child.platform_id, record.platform_id, child.svc_id, 1
      FROM child JOIN record ON record.id = child.record_id JOIN stream ON stream.id = record.stream_id
      WHERE stream.generation = 'v3' AND ${CONFIGURED}
    UNION ALL
    SELECT model, path, region, v3_company_id, platform_id, parent_platform_id, v3_svc_id, -1
      FROM remap_entry AS remap WHERE v3_svc_id IS NOT NULL
  ) GROUP BY model, path, region, company, platform_id, parent, v3`;

const V4_EXPORTED = `
  SELECT stream.model, '' AS path, record.company_id AS company, record.platform_id, NULL AS parent, record.svc_id AS v4
    FROM record NOT INDEXED JOIN stream ON stream.id = record.stream_id WHERE stream.generation = 'v4' AND ${CONFIGURED}
  UNION ALL
  SELECT stream.model, child.path, record.company_id, child.platform_id, record.platform_id, child.svc_id
    FROM child JOIN record ON record.id = child.record_id JOIN stream ON stream.id = record.stream_id
    WHERE stream.generation = 'v4' AND ${CONFIGURED}`;

const V4_IN_REMAP = `
  SELECT model, path, v4_company_id AS company, ${V4_KEY} AS platform_id, ${V4_PARENT_KEY} AS parent, v4_svc_id AS v4
    FROM remap_entry AS remap WHERE v4_svc_id IS NOT NULL`;

const STORED_COLUMNS = `remap.model, remap.path, remap.region, remap.v3_company_id AS company, remap.platform_id,
  remap.v3_svc_id AS v3, remap.v4_svc_id AS v4, remap.status, remap.reason, remap.matched_by`;

/**
 * Joins `record_row`, the remap row of a record, to the stored V3 record. The joins are in the order of the indexes. Streams
 * are found through the indexed expression `ifnull(company_id, 'all')`. In `STORED_V4`, the unary `+` removes the affinity of
 * the column: without it, SQLite would not use that index.
 */
const STORED_V3 = `
  CROSS JOIN stream AS v3_stream ON v3_stream.generation = 'v3' AND v3_stream.region = record_row.region
    AND v3_stream.model = record_row.model AND ifnull(v3_stream.company_id, 'all') IN ('all', record_row.v3_company_id)
  CROSS JOIN record AS v3_record INDEXED BY ${RECORD_KEY} ON v3_record.stream_id = v3_stream.id AND v3_record.svc_id = record_row.v3_svc_id
    AND v3_record.company_id = record_row.v3_company_id`;
const STORED_V4 = `
  CROSS JOIN stream AS v4_stream ON v4_stream.generation = 'v4' AND v4_stream.region = ''
    AND v4_stream.model = record_row.model AND ifnull(v4_stream.company_id, 'all') = +record_row.v4_company_id
  CROSS JOIN record AS v4_record INDEXED BY ${RECORD_KEY} ON v4_record.stream_id = v4_stream.id AND v4_record.svc_id = record_row.v4_svc_id`;

/** Joins `remap`, the row of a V3 child, to the row of the record that holds it. */
const PARENT_ROW = `
  CROSS JOIN remap_entry AS record_row ON record_row.id = remap.parent AND record_row.model = remap.model
    AND record_row.v3_company_id = remap.v3_company_id AND record_row.region = remap.region AND record_row.path = ''`;
const STORED_CHILD_V3 = `
  CROSS JOIN child AS v3_child ON v3_child.record_id = v3_record.id AND v3_child.path = remap.path
    AND v3_child.svc_id = remap.v3_svc_id`;

/** Joins `remap`, a pair of children, to the two stored children within the pair of records `record_row`. */
const STORED_CHILDREN = `
  ${PARENT_ROW} ${STORED_V3} ${STORED_V4} ${STORED_CHILD_V3}
  CROSS JOIN child AS v4_child ON v4_child.record_id = v4_record.id AND v4_child.path = remap.path
    AND v4_child.svc_id = remap.v4_svc_id`;

/** Every pair with the stored data of both sides. */
const STORED_PAIRS = `
  SELECT ${STORED_COLUMNS.replaceAll('remap.', 'record_row.')}, v3_record.deleted AS deleted3, v4_record.deleted AS deleted4,
      v3_record.unique_id AS unique3, v4_record.unique_id AS unique4
    FROM remap_entry AS record_row ${STORED_V3} ${STORED_V4} WHERE record_row.path = ''
  UNION ALL
  SELECT ${STORED_COLUMNS}, v3_child.deleted, v4_child.deleted, v3_child.unique_id, v4_child.unique_id
    FROM remap_entry AS remap ${STORED_CHILDREN} WHERE remap.path <> ''`;

const ROW = `
  remap.model, remap.path, remap.region, coalesce(remap.v3_company_id, remap.v4_company_id) AS company,
  remap.platform_id, remap.v3_svc_id AS v3, remap.v4_svc_id AS v4`;

/** SQL: whether the status of a row requires an id on both sides. */
const NAMES_BOTH = `(remap.status = 'matched' OR (remap.status = 'deleted' AND ifnull(remap.reason, '')
  IN ('deleted_in_v3', 'deleted_in_v4', 'deleted_in_both')))`;
const INHERITS = `ifnull(remap.reason, '') LIKE 'parent\\_%' ESCAPE '\\'`;

/** The three kinds of contradictions that `V3_BALANCE` shows. */
const V3_CONTRADICTIONS = `
  SELECT CASE WHEN n > 0 THEN 'not_in_remap' WHEN exported THEN 'twice_in_remap' ELSE 'not_exported' END AS code,
      model, path, region, company, platform_id, v3, NULL AS v4
    FROM (${V3_BALANCE}) WHERE n <> 0`;
type V3Code = 'not_in_remap' | 'twice_in_remap' | 'not_exported';

const QUERIES: Readonly<Record<Exclude<ContradictionCode, V3Code>, string>> = {
  v4_not_in_remap: `
    SELECT model, path, NULL AS region, company, platform_id, NULL AS v3, v4 FROM (${V4_EXPORTED} EXCEPT ${V4_IN_REMAP})`,
  v4_not_exported: `
    SELECT model, path, NULL AS region, company, platform_id, NULL AS v3, v4 FROM (${V4_IN_REMAP} EXCEPT
      SELECT * FROM (${V4_EXPORTED}))`,
  v4_claimed_twice: `
    SELECT model, path, min(region) AS region, v4_company_id AS company, platform_id, NULL AS v3, v4_svc_id AS v4
    FROM remap_entry AS remap WHERE status = 'matched'
    GROUP BY model, path, v4_company_id, ${V4_KEY}, ${V4_PARENT_KEY}, v4_svc_id HAVING count(*) > 1`,
  ids_against_status: `
    SELECT ${ROW} FROM remap_entry AS remap WHERE NOT ${INHERITS} AND (
      (${NAMES_BOTH} AND (remap.v3_svc_id IS NULL OR remap.v4_svc_id IS NULL))
      OR (NOT ${NAMES_BOTH} AND remap.v3_svc_id IS NOT NULL AND remap.v4_svc_id IS NOT NULL)
      OR (remap.status = 'v4_only' AND remap.v3_svc_id IS NOT NULL))`,
  deletion_against_status: `
    SELECT model, path, region, company, platform_id, v3, v4 FROM (${STORED_PAIRS}) AS remap
    WHERE NOT ${INHERITS} AND (deleted3 <> (status = 'deleted' AND reason IN ('deleted_in_v3', 'deleted_in_both'))
      OR deleted4 <> (status = 'deleted' AND reason IN ('deleted_in_v4', 'deleted_in_both')))`,
  unique_id_differs: `
    SELECT model, path, region, company, platform_id, v3, v4 FROM (${STORED_PAIRS})
    WHERE matched_by = 'platform_unique_id' AND unique3 IS NOT unique4`,
  child_outside_parent: `
    SELECT ${ROW} FROM remap_entry AS remap WHERE remap.path <> '' AND remap.v3_svc_id IS NOT NULL AND remap.v4_svc_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM (SELECT 1) ${STORED_CHILDREN})`,
  child_against_parent: `
    SELECT ${ROW} FROM remap_entry AS remap WHERE remap.path <> '' AND remap.v3_svc_id IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM (SELECT 1) ${PARENT_ROW} ${STORED_V3} ${STORED_CHILD_V3}
      WHERE iif(record_row.status = 'matched', NOT ${INHERITS},
        remap.status = record_row.status AND remap.reason = 'parent_' || record_row.reason))`,
  company_not_paired: `
    SELECT ${ROW} FROM remap_entry AS remap WHERE remap.v3_svc_id IS NOT NULL AND remap.v4_svc_id IS NOT NULL
      AND ((remap.region, remap.v3_company_id, remap.v4_company_id)
        IN (SELECT region, v3_company_id, v4_company_id FROM company)) IS NOT 1`,
  key_exists_in_v4: `
    SELECT ${ROW} FROM remap_entry AS remap WHERE remap.path = '' AND remap.v4_svc_id IS NULL AND remap.v4_company_id IS NOT NULL
      AND remap.reason IN (${REASONS_WITHOUT_V4_KEY.map((reason) => `'${reason}'`).join(', ')})
      AND (remap.model, remap.v4_company_id, remap.platform_id) IN (
        SELECT stream.model, record.company_id, record.platform_id FROM record NOT INDEXED JOIN stream ON stream.id = record.stream_id
        WHERE stream.generation = 'v4' AND record.platform_id IS NOT NULL)
    UNION ALL
    SELECT ${ROW} FROM remap_entry AS remap ${PARENT_ROW} ${STORED_V3} ${STORED_V4} ${STORED_CHILD_V3}
    WHERE remap.path <> '' AND remap.v4_svc_id IS NULL AND remap.platform_id IS NOT NULL AND remap.status <> 'ambiguous'
      AND 1 - v3_child.deleted = (SELECT count(*) FROM child AS other
        WHERE other.record_id = v3_record.id AND other.path = remap.path
        AND other.platform_id = remap.platform_id AND other.deleted = 0)
      AND (SELECT sum(other.deleted = 0) = 1 OR (sum(other.deleted = 0) = 0 AND count(*) = 1) FROM child AS other
        WHERE other.record_id = v4_record.id AND other.path = remap.path AND other.platform_id = remap.platform_id)`,
};
