import { damagedRemap } from './remap-digest.js';
import { REMAP_COLUMNS, type RemapRow, V4_KEY } from './remap-rows.js';
import { RECORD_KEY } from './schema.js';
import type { Db } from './sqlite.js';

/** A row of the remap with an id on both sides. */
export interface MappedPair extends Omit<RemapRow, 'evidence'> {
  readonly row: bigint;
  /** The row of the record that holds a child. */
  readonly parent: bigint | null;
  readonly region: string;
  readonly v3_company_id: bigint;
  readonly v4_company_id: bigint;
  readonly v3_svc_id: bigint;
  readonly v4_svc_id: bigint;
  /** V4's key, which differs only if a decision made the pair. */
  readonly v4_platform_id: string | null;
}

/** The size of a group of pairs with the same model, path and V3 company. */
interface PairStratum {
  readonly size: number;
  /** Those of `size` with the status `matched`; in the others a record is deleted. */
  readonly matched: number;
}

const IS_PAIR = 'v3_svc_id IS NOT NULL AND v4_svc_id IS NOT NULL';
const STRATUM = 'model, path, region, v3_company_id';

/** Sizes of all strata, in the order of `readPairRows`. */
export function readPairStrata(db: Db): PairStratum[] {
  return db
    .prepare<[], { readonly [Name in keyof PairStratum]: bigint }>(
      `SELECT count(*) AS size, sum(status = 'matched') AS matched
       FROM remap_entry WHERE ${IS_PAIR} GROUP BY ${STRATUM} ORDER BY ${STRATUM}`,
    )
    .all()
    .map(({ size, matched }) => ({ size: Number(size), matched: Number(matched) }));
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
  const columns = REMAP_COLUMNS.filter((name) => name !== 'evidence').join(', ');
  const sql = `SELECT id AS row, parent, ${columns}, ${V4_KEY} AS v4_platform_id
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
  readonly v3_svc_id: bigint;
  readonly v4_svc_id: bigint | null;
}

/** Makes the function that finds the parents of a pair of children; empty if the export does not hold the child in them. */
export function prepareFindParents(db: Db): (child: MappedPair) => ParentPair[] {
  const find = db.prepare<(string | bigint | null)[], ParentPair>(`
    SELECT v3_svc_id, v4_svc_id FROM remap_entry AS parent
    WHERE id = ? AND v3_svc_id IS NOT NULL AND EXISTS (
        SELECT 1 FROM stream JOIN record INDEXED BY ${RECORD_KEY}
          ON record.stream_id = stream.id AND record.svc_id = parent.v3_svc_id
        JOIN child ON child.record_id = record.id AND child.path = ? AND child.svc_id = ?
        WHERE stream.generation = 'v3' AND stream.model = parent.model AND stream.region = parent.region
          AND record.company_id = parent.v3_company_id)`);
  return ({ parent, path, v3_svc_id }) => find.all(parent, path, v3_svc_id);
}
