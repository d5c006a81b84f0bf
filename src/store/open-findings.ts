import type { Generation } from '../domain.js';
import { readFindings } from './finding-rows.js';
import { EVERYTHING, type RemapRow } from './remap-rows.js';
import { iterateCompanyRows } from './remap-tables.js';
import type { Db } from './sqlite.js';

/** The columns of a remap row that `recheck` needs. */
export type OpenRow = Omit<RemapRow, 'parent_platform_id' | 'matched_by' | 'evidence'>;

const OPEN = ['unmatched', 'ambiguous', 'v4_only'] as const;

/** Every open finding: neither matched nor deleted, including children. */
export function readOpenRows(db: Db): IterableIterator<OpenRow> {
  return readFindings(db, { ...EVERYTHING, statuses: OPEN });
}

/** The records that contain open children with a reason of their own, not inherited from the record. */
export function readOpenParents(db: Db): IterableIterator<OpenRow> {
  const sql = `SELECT * FROM remap_entry WHERE id IN (
      SELECT parent FROM remap_entry WHERE path <> '' AND status IN (${OPEN.map((status) => `'${status}'`).join(', ')})
        AND reason NOT LIKE 'parent\\_%' ESCAPE '\\')
    ORDER BY id`;
  return db.prepare<[], OpenRow>(sql).iterate();
}

/** Makes the function that reads the current outcome of an earlier row: `matched`, `deleted/…`; null if it is gone. */
export function prepareReadOutcome(db: Db): (row: OpenRow) => string | null {
  const outcome = "SELECT status || ifnull('/' || reason, '') FROM remap_entry WHERE model = ? AND path = ?";
  const sql = `${outcome} AND v3_svc_id = ? AND region = ? AND v3_company_id = ? LIMIT 1`;
  const byV3 = db.prepare<(string | bigint | null)[], string>(sql).pluck();
  const byV4 = db
    .prepare<(string | bigint | null)[], string>(`${outcome} AND v4_svc_id = ? AND v4_company_id = ? LIMIT 1`)
    .pluck();
  return (row) => {
    const { model, path, region } = row;
    const found =
      row.v3_svc_id === null
        ? byV4.get(model, path, row.v4_svc_id, row.v4_company_id)
        : byV3.get(model, path, row.v3_svc_id, region, row.v3_company_id);
    return found ?? null;
  };
}

/** A stored record to test filters with. */
export interface ControlRecord {
  readonly companyId: bigint;
  readonly svcId: bigint;
  readonly platformId: string;
}

/** A stored live record with a key; undefined if there is none. */
export function readControlRecord(
  db: Db,
  generation: Generation,
  region: string,
  model: string,
): ControlRecord | undefined {
  const sql = `SELECT record.company_id AS companyId, record.svc_id AS svcId, record.platform_id AS platformId
    FROM stream CROSS JOIN record ON record.stream_id = stream.id
    WHERE generation = ? AND region = ? AND model = ? AND record.platform_id IS NOT NULL AND record.deleted = 0
    LIMIT 1`;
  return db.prepare<[string, string, string], ControlRecord>(sql).get(generation, region, model);
}

/** How the companies are paired. */
export interface CompanyPairs {
  /** V3 companies by V4 company id. */
  readonly v3Of: ReadonlyMap<bigint, { readonly region: string; readonly companyId: bigint }>;
  /** V4 companies without a pair. */
  readonly unpairedV4: readonly bigint[];
}

export function readCompanyPairs(db: Db): CompanyPairs {
  const v3Of = new Map<bigint, { readonly region: string; readonly companyId: bigint }>();
  const unpairedV4: bigint[] = [];
  for (const { region, v3_company_id: v3, v4_company_id: v4 } of iterateCompanyRows(db)) {
    if (v4 === null) continue;
    if (v3 === null) unpairedV4.push(v4);
    else if (region !== null) v3Of.set(v4, { region, companyId: v3 });
  }
  return { v3Of, unpairedV4 };
}
