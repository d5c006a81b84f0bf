import type { Db } from '../store/open.js';
import { readDatedRecords } from '../store/remap-groups.js';
import type { Scope } from '../store/remap-rows.js';
import { compare } from '../text/rows.js';
import type { Report } from './report-schema.js';

/** V3 records of one day by outcome; `day` counts from 1970, null if the date is unreadable. */
export interface Day {
  readonly day: bigint | null;
  matched: number;
  unmatched: number;
  other: number;
}

/** Earliest and latest date of some records, ms since 1970. */
interface DateRange {
  readonly earliest: bigint | null;
  readonly latest: bigint | null;
}

export interface Dates {
  readonly days: readonly Day[];
  /** Ranges of the records outside the backfill window, by `rangeKey`. */
  readonly ranges: ReadonlyMap<string, DateRange>;
}

/** Counts V3 records by date and outcome; needs a current remap. */
export function readDates(db: Db, scope: Scope): Dates {
  const days = new Map<bigint | null, Day>();
  const ranges = new Map<string, DateRange>();
  for (const row of readDatedRecords(db, scope)) {
    const day = days.get(row.day) ?? { day: row.day, matched: 0, unmatched: 0, other: 0 };
    days.set(row.day, day);
    const isNamed = row.status === 'matched' || row.status === 'unmatched';
    day[isNamed ? row.status : 'other'] += Number(row.n);
    if (row.status !== 'unmatched' || row.reason !== 'outside_backfill_window') continue;
    const key = rangeKey(row.region, row.v3_company_id, row.model);
    const known = ranges.get(key);
    const dates = [known?.earliest, known?.latest, row.earliest, row.latest].filter((ms) => ms != null);
    dates.sort(compare);
    ranges.set(key, { earliest: dates[0] ?? null, latest: dates.at(-1) ?? null });
  }
  return { days: [...days.values()], ranges };
}

/** The key of `Dates.ranges` for the records of a V3 company and model. */
export function rangeKey(region: string, companyId: bigint, model: string): string {
  return JSON.stringify([region, String(companyId), model]);
}

/** Months shown separately; older ones are added up. */
const MAX_MONTHS = 60;
const DAY_MS = 86_400_000;

type Month = Report['timeline']['months'][number];

/** V3 records by month of their latest date; records outside the shown months are added up. */
export function buildMonths(
  days: Iterable<Day>,
  newestMs: number,
): Pick<Report['timeline'], 'months' | 'earlier' | 'later' | 'undated'> {
  const newest = new Date(newestMs);
  const last = monthOf(newestMs);
  const first = monthOf(Date.UTC(newest.getUTCFullYear(), newest.getUTCMonth() - MAX_MONTHS + 1));
  const months = new Map<string, Month>();
  const [earlier, later] = [newMonth(`before ${first}`), newMonth(`after ${last}`)];
  let undated = 0;
  for (const { day, matched, unmatched, other } of days) {
    const name = day === null ? null : monthOfDay(day);
    if (name === null) {
      undated += matched + unmatched + other;
      continue;
    }
    const month = name < first ? earlier : name > last ? later : (months.get(name) ?? newMonth(name));
    if (month !== earlier && month !== later) months.set(name, month);
    month.matched += matched;
    month.unmatched += unmatched;
    month.other += other;
  }
  return { months: fillGaps(months), earlier: orNull(earlier), later: orNull(later), undated };
}

function newMonth(month: string): Month {
  return { month, matched: 0, unmatched: 0, other: 0 };
}

function orNull(month: Month): Month | null {
  return month.matched + month.unmatched + month.other === 0 ? null : month;
}

/** Months in order, including empty ones between the first and the last. */
function fillGaps(months: ReadonlyMap<string, Month>): Month[] {
  const names = [...months.keys()].sort();
  const [first = '', last = ''] = [names[0], names.at(-1)];
  const filled: Month[] = [];
  for (let name = first; name !== '' && name <= last; ) {
    filled.push(months.get(name) ?? newMonth(name));
    const [year = 0, month = 0] = name.split('-').map(Number);
    name = monthOf(Date.UTC(year, month));
  }
  return filled;
}

/** The month of a day; null outside the years 0 to 9999, whose names could not be compared as text. */
function monthOfDay(day: bigint): string | null {
  const date = new Date(Number(day) * DAY_MS);
  const year = date.getUTCFullYear();
  return Number.isNaN(year) || year < 0 || year > 9999 ? null : monthOf(date.getTime());
}

function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}
