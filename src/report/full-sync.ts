import { readOutsideRanges } from '../store/exported.js';
import type { Db } from '../store/open.js';
import type { OutsideCount } from './fold.js';
import type { Report } from './schema.js';

/** What to ask the operator for: records that the backfill window left out, by company and model. */
export function listFullSync(db: Db, outside: readonly OutsideCount[]): Report['fullSync'] {
  if (outside.length === 0) return [];
  const ranges = new Map(
    readOutsideRanges(db).map((range) => [keyOf(range.region, range.v3_company_id, range.model), range]),
  );
  return outside.map((row) => {
    const range = ranges.get(keyOf(row.region, row.v3CompanyId, row.model));
    return {
      region: row.region,
      v3CompanyId: String(row.v3CompanyId),
      v4CompanyId: row.v4CompanyId === null ? null : String(row.v4CompanyId),
      model: row.model,
      records: row.records,
      children: row.children,
      earliest: isoOf(range?.earliest ?? null),
      latest: isoOf(range?.latest ?? null),
    };
  });
}

function keyOf(region: string, companyId: bigint, model: string): string {
  return JSON.stringify([region, String(companyId), model]);
}

function isoOf(ms: bigint | null): string | null {
  if (ms === null) return null;
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
