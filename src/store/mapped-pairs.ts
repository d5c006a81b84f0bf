import type { Status } from '../reasons.js';
import { damagedRemap } from './remap-digest.js';
import { V4_KEY } from './remap-rows.js';
import { RECORD_KEY } from './schema.js';
import type { Db } from './sqlite.js';

/** A row of the remap with an id on both sides. */
export interface MappedPair {
  readonly row: bigint;
  /** The row of the record that holds a child. */
  readonly parent: bigint | null;
  readonly model: string;
  /** '' for records, else the children's field. */
  readonly path: string;
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint;
  readonly platformId: string | null;
  /** V4's key, which differs only if a decision made the pair. */
  readonly v4PlatformId: string | null;
  readonly parentPlatformId: string | null;
  readonly v3SvcId: bigint;
  readonly v4SvcId: bigint;
  readonly status: Status;
  readonly reason: string | null;
  readonly matchedBy: string | null;
}

/** A group of pairs with the same model, path and V3 company. */
export interface PairStratum {
  readonly model: string;
  readonly path: string;
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly size: number;
  /** Those of `size` with the status `matched`; in the others a record is deleted. */
  readonly matched: number;
}

const IS_PAIR = 'v3_svc_id IS NOT NULL AND v4_svc_id IS NOT NULL';
const STRATUM = 'model, path, region, v3_company_id';

/** Sizes of all strata, in the order of `readPairRows`. */
export function readPairStrata(db: Db): PairStratum[] {
  return db
    .prepare<[], Omit<PairStratum, 'size' | 'matched'> & { readonly n: bigint; readonly m: bigint }>(
      `SELECT model, path, region, v3_company_id AS v3CompanyId, count(*) AS n, sum(status = 'matched') AS m
       FROM remap_entry WHERE ${IS_PAIR} GROUP BY ${STRATUM} ORDER BY ${STRATUM}`,
    )
    .all()
    .map(({ n, m, ...stratum }) => ({ ...stratum, size: Number(n), matched: Number(m) }));
}

/** The rowids of all pairs, stratum by stratum. */
export function readPairRows(db: Db): IterableIterator<bigint> {
  return db
    .prepare<[], bigint>(`SELECT id FROM remap_entry WHERE ${IS_PAIR} ORDER BY ${STRATUM}, id`)
    .pluck()
    .iterate();
}

/**
 * The pairs with these rowids (null: all), children directly after their parents.
 *
 * @throws SvcError `corrupt_database` if one of them is not found
 */
export function* readPairs(db: Db, rows: readonly bigint[] | null): Generator<MappedPair> {
  const only = rows === null ? '' : 'AND id IN (SELECT value FROM json_each(@rows))';
  const sql = `SELECT id AS row, parent, model, path, region, v3_company_id AS v3CompanyId, v4_company_id AS v4CompanyId,
      platform_id AS platformId, ${V4_KEY} AS v4PlatformId, parent_platform_id AS parentPlatformId, v3_svc_id AS v3SvcId,
      v4_svc_id AS v4SvcId, status, reason, matched_by AS matchedBy
    FROM remap_entry WHERE ${IS_PAIR} ${only} ORDER BY id`;
  let found = 0;
  for (const pair of db.prepare<[object], MappedPair>(sql).iterate({ rows: `[${(rows ?? []).join(',')}]` })) {
    found += 1;
    yield pair;
  }
  if (rows !== null && found !== rows.length) throw damagedRemap('rows');
}

/** The records that contain a pair of children. */
export interface ParentPair {
  readonly v3SvcId: bigint;
  readonly v4SvcId: bigint | null;
}

/** Makes the function that finds the parents of a pair of children; empty if the export does not hold the child in them. */
export function prepareFindParents(db: Db): (child: MappedPair) => ParentPair[] {
  const find = db.prepare<(string | bigint | null)[], ParentPair>(`
    SELECT v3_svc_id AS v3SvcId, v4_svc_id AS v4SvcId FROM remap_entry AS parent
    WHERE id = ? AND v3_svc_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM stream JOIN record INDEXED BY ${RECORD_KEY}
          ON record.stream_id = stream.id AND record.svc_id = parent.v3_svc_id
        JOIN child ON child.record_id = record.id AND child.path = ? AND child.svc_id = ?
        WHERE stream.generation = 'v3' AND stream.model = parent.model AND stream.region = parent.region
          AND record.company_id = parent.v3_company_id)`);
  return ({ parent, path, v3SvcId }) => find.all(parent, path, v3SvcId);
}
