import { checksumOf, damaged, isIntact } from './checksum.js';
import type { Db } from './sqlite.js';
import { readV4Companies } from './streams.js';

/** The part of a V3 list that holds one company's records, while the list is read company by company. */
export interface Part {
  readonly companyId: bigint;
  /** Cursor of the next page; null at the start of the part. */
  readonly cursor: string | null;
  readonly ended: boolean;
  /** The count that its pages report; null before the first. */
  readonly totalCount: number | null;
  /** Whether a cursor led to an empty last page. */
  readonly emptyEnd: boolean;
  /** Consecutive pages without a record new to the walk. */
  readonly idlePages: number;
}

/** A part of which nothing was read. */
export function newPart(companyId: bigint): Part {
  return { companyId, cursor: null, ended: false, totalCount: null, emptyEnd: false, idlePages: 0 };
}

interface StoredPart {
  readonly companyId: bigint;
  readonly cursor: string | null;
  readonly ended: bigint;
  readonly totalCount: bigint | null;
  readonly emptyEnd: bigint;
  readonly idlePages: bigint;
  readonly intact: bigint;
}

/**
 * The parts of a list, by company.
 *
 * @throws SvcError `corrupt_database`
 */
export function readParts(db: Db, streamId: bigint): Map<bigint, Part> {
  const rows = db.prepare<[bigint], StoredPart>(`
    SELECT company_id AS companyId, cursor, ended, total_count AS totalCount, empty_end AS emptyEnd,
      idle_pages AS idlePages, ${isIntact('part')} AS intact
    FROM part WHERE stream_id = ? ORDER BY company_id`);
  const parts = rows
    .all(streamId)
    .map(({ intact, totalCount, idlePages, ended, emptyEnd, ...rest }): Part => {
      if (intact !== 1n) throw damaged('The part of a V3 list');
      return {
        ...rest,
        ended: ended === 1n,
        emptyEnd: emptyEnd === 1n,
        totalCount: totalCount === null ? null : Number(totalCount),
        idlePages: Number(idlePages),
      };
    });
  return new Map(parts.map((part) => [part.companyId, part]));
}

/** Makes the function that saves a part. Call it inside a transaction. */
export function prepareSavePart(db: Db): (streamId: bigint, part: Part) => void {
  const save = db.prepare(`
    INSERT OR REPLACE INTO part(stream_id, company_id, cursor, ended, total_count, empty_end, idle_pages)
    VALUES (?, ?, ?, ?, ?, ?, ?)`);
  const seal = db.prepare(
    `UPDATE part SET checksum = ${checksumOf('part')} WHERE stream_id = ? AND company_id = ?`,
  );
  return (streamId, { companyId, cursor, ended, totalCount, emptyEnd, idlePages }) => {
    save.run(streamId, companyId, cursor, ended ? 1n : 0n, totalCount, emptyEnd ? 1n : 0n, idlePages);
    seal.run(streamId, companyId);
  };
}

/** Deletes the parts of a list that is no longer read company by company. */
export function dropParts(db: Db, streamId: bigint): void {
  db.prepare('DELETE FROM part WHERE stream_id = ?').run(streamId);
}

/** The companies that a V3 region may hold, as far as they are known. */
export interface KnownCompanies {
  /** Those of all records that were read from the region. */
  readonly inV3: readonly bigint[];
  /** Those that V4 lists; empty before its list is read. */
  readonly inV4: readonly bigint[];
}

/** @throws SvcError `corrupt_database` */
export function readKnownCompanies(db: Db, region: string): KnownCompanies {
  const inV3 = db
    .prepare<[string], bigint>(`
      SELECT DISTINCT company_id FROM record
      WHERE stream_id IN (SELECT id FROM stream WHERE generation = 'v3' AND region = ?)`)
    .pluck()
    .all(region);
  return { inV3, inV4: readV4Companies(db) };
}
