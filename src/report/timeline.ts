import type { WindowRow } from '../store/report-rows.js';
import { at } from '../text/at.js';
import { groupBy } from '../text/rows.js';
import type { Report, ReportWindow } from './report-schema.js';

const DAY_MS = 86_400_000;
/** Starts that are doubtful by less than this are of no consequence. */
const LEAST_GAP_MS = 7 * DAY_MS;

/**
 * Whether an inferred start of V4's history is doubtful. Of records that are spread evenly over the history, nine in ten
 * are from its first tenth on; here that point comes only after a third of it, so that a few old records stand alone.
 *
 * @param newestMs when the newest list was read, ms since 1970
 */
function isDoubtful({ source, sinceMs, nineTenthsMs }: WindowRow, newestMs: number): boolean {
  if (source !== 'inferred' || sinceMs === null || nineTenthsMs === null) return false;
  const gap = Number(nineTenthsMs - sinceMs);
  return gap >= LEAST_GAP_MS && gap * 3 > newestMs - Number(sinceMs);
}

export function summarizeWindows(rows: readonly WindowRow[], newestMs: number): ReportWindow[] {
  return [...groupBy(rows, ({ model }) => model)].map(([model, companies]) => {
    const doubtful = companies.filter((row) => isDoubtful(row, newestMs));
    const inferred = companies.filter(({ source }) => source === 'inferred');
    const shown = mostDoubtful(doubtful) ?? earliest(inferred) ?? at(companies, 0);
    const isInferred = shown.source === 'inferred';
    return {
      model,
      source: shown.source,
      companies: {
        inferred: inferred.length,
        unknown: companies.filter(({ source }) => source === 'unknown').length,
      },
      since: isoTime(shown.sinceMs),
      v4CompanyId: isInferred ? String(shown.v4CompanyId) : null,
      v4SvcId: isInferred ? (shown.v4SvcId?.toString() ?? null) : null,
      platformId: isInferred ? shown.platformId : null,
      nineTenthsSince: isoTime(shown.nineTenthsMs),
      doubtful: doubtful.length,
    };
  });
}

function mostDoubtful(rows: readonly WindowRow[]): WindowRow | undefined {
  const gapOf = ({ sinceMs, nineTenthsMs }: WindowRow) => Number(nineTenthsMs) - Number(sinceMs);
  return [...rows].sort((a, b) => gapOf(b) - gapOf(a))[0];
}

function earliest(rows: readonly WindowRow[]): WindowRow | undefined {
  return [...rows].sort((a, b) => Number(a.sinceMs) - Number(b.sinceMs))[0];
}

/** A time in ms since 1970 as ISO 8601; null if there is none, or if it is no time. */
export function isoTime(ms: bigint | number | null): string | null {
  if (ms === null) return null;
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** V3 records of one day by outcome; `day` counts from 1970, null if no date is readable. */
interface Day {
  readonly day: bigint | null;
  readonly status: string;
  readonly records: bigint;
}

/** Months shown separately; older and newer ones are added up. */
const MAX_MONTHS = 60;

type Timeline = Report['timeline'];
type Month = Timeline['months'][number];

/** V3 records by month of their latest date, up to the month in which the newest list was read. */
export function buildMonths(
  days: readonly Day[],
  newestMs: number,
): Pick<Timeline, 'months' | 'earlier' | 'later' | 'undated'> {
  const last = monthNumber(newestMs);
  const first = last - MAX_MONTHS + 1;
  const months = new Map<number, Month>();
  let undated = 0;
  for (const { day, status, records } of days) {
    const number = day === null ? Number.NaN : monthNumber(Number(day) * DAY_MS);
    if (Number.isNaN(number)) {
      undated += Number(records);
      continue;
    }
    const place = Math.min(last + 1, Math.max(first - 1, number));
    const month = months.get(place) ?? newMonth(place);
    months.set(place, month);
    month[status === 'matched' || status === 'unmatched' ? status : 'other'] += Number(records);
  }
  const earlier = months.get(first - 1);
  const later = months.get(last + 1);
  const shown = [...months.keys()].filter((number) => number >= first && number <= last);
  const oldest = earlier === undefined ? Math.min(...shown) : first;
  // Empty months between the first and the last are shown too.
  const length = shown.length === 0 ? 0 : Math.max(...shown) - oldest + 1;
  return {
    months: Array.from({ length }, (_, index) => months.get(oldest + index) ?? newMonth(oldest + index)),
    earlier: earlier === undefined ? null : { ...earlier, month: `before ${monthName(first)}` },
    later: later === undefined ? null : { ...later, month: `after ${monthName(last)}` },
    undated,
  };
}

function newMonth(number: number): Month {
  return { month: monthName(number), matched: 0, unmatched: 0, other: 0 };
}

/** Months since the year 0; NaN if `ms` is no time. */
function monthNumber(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

function monthName(number: number): string {
  return new Date(Date.UTC(Math.floor(number / 12), number % 12)).toISOString().slice(0, 7);
}
