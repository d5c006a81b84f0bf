import type { Pause } from '../runtime/pause.js';
import { type DatedFinding, type DayCount, readDatedFindings, readDayCounts } from '../store/exported.js';
import type { Db } from '../store/open.js';
import type { Scope } from '../store/remap.js';

/** V3 records of one day by verdict; `day` counts from 1970, null where no date is readable. */
export interface Day {
  readonly day: bigint | null;
  matched: number;
  unmatched: number;
  other: number;
}

/** Earliest and latest date of some records, ms since 1970. */
export interface DateRange {
  readonly earliest: bigint | null;
  readonly latest: bigint | null;
}

export interface Dates {
  readonly days: readonly Day[];
  /** Of the records outside the backfill window, by `rangeKey`. */
  readonly ranges: ReadonlyMap<string, DateRange>;
}

/** When the V3 records are from. Only a current remap says which of them are matched. */
export async function readDates(db: Db, scope: Scope, pause: Pause): Promise<Dates> {
  const days = new Map<bigint | null, Day>();
  const ranges = new Map<string, DateRange>();
  for (const slice of readDayCounts(db, scope)) {
    for (const row of slice.rows) dayOf(days, row).matched += Number(row.n);
    await pause({ name: 'date the records', done: slice.done, total: slice.total });
  }
  for (const slice of readDatedFindings(db, scope)) {
    for (const row of slice.rows) addFinding(days, ranges, row);
    await pause({ name: 'date the findings', done: slice.done, total: slice.total });
  }
  return { days: [...days.values()], ranges };
}

/** All records were taken for matched; those that are not are moved. */
function addFinding(days: Map<bigint | null, Day>, ranges: Map<string, DateRange>, row: DatedFinding): void {
  const day = dayOf(days, row);
  day.matched -= Number(row.n);
  day[row.status === 'unmatched' ? 'unmatched' : 'other'] += Number(row.n);
  if (row.status !== 'unmatched' || row.reason !== 'outside_backfill_window') return;
  const key = rangeKey(row.region, row.v3_company_id, row.model);
  const known = ranges.get(key);
  ranges.set(key, {
    earliest: least(known?.earliest ?? null, row.earliest),
    latest: greatest(known?.latest ?? null, row.latest),
  });
}

function dayOf(days: Map<bigint | null, Day>, { day }: DayCount): Day {
  const known = days.get(day);
  if (known !== undefined) return known;
  const fresh = { day, matched: 0, unmatched: 0, other: 0 };
  days.set(day, fresh);
  return fresh;
}

export function rangeKey(region: string, companyId: bigint, model: string): string {
  return JSON.stringify([region, String(companyId), model]);
}

function least(a: bigint | null, b: bigint | null): bigint | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}

function greatest(a: bigint | null, b: bigint | null): bigint | null {
  if (a === null || b === null) return a ?? b;
  return a > b ? a : b;
}
