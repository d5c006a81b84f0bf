import type { Db } from './open.js';
import { type RemapRow, type Scope, scopeParams, v3Scope } from './remap.js';

/** Matched pairs of one model, and how many of them were compared and differ. */
export interface DriftCount {
  readonly model: string;
  readonly pairs: bigint;
  readonly compared: bigint;
  readonly differing: bigint;
}

/** A matched pair whose shared fields differ. */
export interface DriftRow {
  readonly model: string;
  readonly region: string;
  readonly v3_company_id: bigint;
  readonly v4_company_id: bigint;
  readonly platform_id: string;
  readonly v3_svc_id: bigint;
  readonly v4_svc_id: bigint;
  /** JSON text: a list of field, v3 and v4. */
  readonly fields: string;
}

const COLUMNS = 'model, region, v3_company_id, v4_company_id, platform_id, v3_svc_id, v4_svc_id, fields';

/** The counts of the last remap's comparison, by model. */
export function readDriftCounts(db: Db, scope: Scope): DriftCount[] {
  const where = v3Scope(scope);
  return db
    .prepare<[object], DriftCount>(
      `WITH found AS (SELECT r.model, count(*) AS n FROM drift AS r WHERE ${where} GROUP BY r.model)
       SELECT r.model, sum(r.pairs) AS pairs, sum(r.compared) AS compared, ifnull(max(found.n), 0) AS differing
       FROM drift_scope AS r LEFT JOIN found ON found.model = r.model
       WHERE ${where} GROUP BY r.model ORDER BY r.model`,
    )
    .all(scopeParams(db, scope));
}

/** The first `perModel` differing pairs of each model, at most `total`. */
export function readDriftSamples(db: Db, scope: Scope, perModel: number, total: number): DriftRow[] {
  return db
    .prepare<[object], DriftRow>(
      `WITH numbered AS (
         SELECT rowid AS at, row_number() OVER (PARTITION BY model ORDER BY rowid) AS n
         FROM drift AS r WHERE ${v3Scope(scope)}
       )
       SELECT ${COLUMNS} FROM numbered JOIN drift ON drift.rowid = numbered.at
       WHERE n <= @perModel ORDER BY n, at LIMIT @total`,
    )
    .all({ ...scopeParams(db, scope), perModel: BigInt(perModel), total: BigInt(total) });
}

/** Every differing pair as a row of the remap, with the differing fields as evidence. */
export function readDriftFindings(db: Db, scope: Scope): IterableIterator<RemapRow> {
  return db
    .prepare<[object], RemapRow>(
      `SELECT r.model, '' AS path, r.region, r.v3_company_id, r.v4_company_id, nullif(r.platform_id, '') AS platform_id,
         NULL AS parent_platform_id, r.v3_svc_id, r.v4_svc_id, 'matched' AS status, NULL AS reason,
         (SELECT matched_by FROM remap AS m
          WHERE m.model = r.model AND m.v3_svc_id = r.v3_svc_id AND m.path = '' AND m.region = r.region
            AND m.v3_company_id = r.v3_company_id) AS matched_by,
         '{"drift":' || r.fields || '}' AS evidence
       FROM drift AS r WHERE ${v3Scope(scope)} ORDER BY r.rowid`,
    )
    .iterate(scopeParams(db, scope));
}
