import type { StreamRow } from '../store/stream-row.js';
import { type Dates, rangeKey } from './dates.js';
import type { OutsideCount } from './fold.js';
import type { Report } from './schema.js';

/**
 * What to ask the operator for: records that the backfill window left out, by company and model, with the request by
 * which the operator can see that V4 did not show them.
 */
export function listFullSync(
  outside: readonly OutsideCount[],
  ranges: Dates['ranges'],
  streams: readonly StreamRow[],
): Report['fullSync'] {
  const inV4 = streams.filter(({ generation }) => generation === 'v4');
  const asked = new Map(inV4.map((one) => [`${one.model} ${one.companyId}`, one.position.requestId]));
  return outside.map((row) => {
    const range = ranges.get(rangeKey(row.region, row.v3CompanyId, row.model));
    return {
      region: row.region,
      v3CompanyId: String(row.v3CompanyId),
      v4CompanyId: row.v4CompanyId === null ? null : String(row.v4CompanyId),
      model: row.model,
      records: row.records,
      children: row.children,
      earliest: isoOf(range?.earliest ?? null),
      latest: isoOf(range?.latest ?? null),
      requestId: asked.get(`${row.model} ${row.v4CompanyId}`) ?? null,
    };
  });
}

function isoOf(ms: bigint | null): string | null {
  if (ms === null) return null;
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
