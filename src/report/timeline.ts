import type { Day } from './dates.js';
import type { Report } from './schema.js';

/** Months shown one by one: older ones are added up. */
const MONTHS = 60;
const DAY_MS = 86_400_000;

type Month = Report['timeline']['months'][number];

/** V3 records by month of their latest date; what is older or later than the shown months is added up. */
export function buildMonths(
  days: Iterable<Day>,
  newestMs: number,
): Pick<Report['timeline'], 'months' | 'earlier' | 'later' | 'undated'> {
  const last = monthOf(newestMs);
  const first = monthOf(Date.UTC(yearOf(newestMs), new Date(newestMs).getUTCMonth() - MONTHS + 1));
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

/** Months in order, with the empty ones between the first and the last. */
function fillGaps(months: ReadonlyMap<string, Month>): Month[] {
  const names = [...months.keys()].sort();
  const last = names.at(-1);
  const filled: Month[] = [];
  for (
    let name = names[0];
    name !== undefined && last !== undefined && name <= last;
    name = nextMonth(name)
  ) {
    filled.push(months.get(name) ?? newMonth(name));
  }
  return filled;
}

function nextMonth(name: string): string {
  const [year = 0, month = 0] = name.split('-').map(Number);
  return monthOf(Date.UTC(year, month));
}

/** null for days outside what a calendar of four-digit years holds: text comparison would mislead. */
function monthOfDay(day: bigint): string | null {
  const date = new Date(Number(day) * DAY_MS);
  const year = date.getUTCFullYear();
  return Number.isNaN(year) || year < 0 || year > 9999 ? null : monthOf(date.getTime());
}

function yearOf(ms: number): number {
  return new Date(ms).getUTCFullYear();
}

function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}
