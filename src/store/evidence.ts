import type { CompanyMatch, Generation } from '../domain.js';
import { damaged, isIntact } from './checksum.js';
import type { Db } from './open.js';

export interface CompanyFacts {
  readonly region: string | null;
  readonly v3_company_id: bigint | null;
  readonly v4_company_id: bigint | null;
  readonly matched_by: CompanyMatch;
}

/** The company pairs of the last remap. */
export function readCompanyFacts(db: Db): CompanyFacts[] {
  return db
    .prepare<[], CompanyFacts>(
      `SELECT region, v3_company_id, v4_company_id, matched_by FROM company
       ORDER BY v3_company_id IS NULL, region, v3_company_id, v4_company_id`,
    )
    .all();
}

export interface RejectedCount {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly company_id: bigint | null;
  readonly n: bigint;
}

export function readRejectedCounts(db: Db): RejectedCount[] {
  return db
    .prepare<[], RejectedCount>(
      `SELECT generation, region, model, company_id, count(*) AS n FROM rejected
       GROUP BY generation, region, model, company_id ORDER BY generation, region, model, company_id`,
    )
    .all();
}

/** One build of the remap. */
export interface RemapRun {
  readonly id: bigint;
  readonly built_at: string;
  readonly sha256: string;
  readonly export_seq: bigint;
  readonly counts: string;
  /** JSON: the digest of each part of the remap. */
  readonly digests: string;
}

interface StoredRun extends RemapRun {
  readonly intact: bigint;
}

const RUN = `SELECT id, built_at, sha256, export_seq, counts, digests, ${isIntact('remap_run')} AS intact FROM remap_run`;

function toRun({ intact, ...run }: StoredRun): RemapRun {
  if (intact === 1n) return run;
  throw damaged(`The record of build ${run.id} of the remap`);
}

/** The latest builds, oldest first. */
export function readRemapRuns(db: Db, limit: number): RemapRun[] {
  return db
    .prepare<[bigint], StoredRun>(`${RUN} ORDER BY id DESC LIMIT ?`)
    .all(BigInt(limit))
    .reverse()
    .map(toRun);
}

/** The build with this number. */
export function findRemapRun(db: Db, id: bigint): RemapRun | undefined {
  const run = db.prepare<[bigint], StoredRun>(`${RUN} WHERE id = ?`).get(id);
  return run === undefined ? undefined : toRun(run);
}
