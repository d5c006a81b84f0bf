import type { MonthCount } from '../store/report-rows.js';
import { sumOf } from '../text/rows.js';
import type { Report } from './report-schema.js';

/** Months shown separately; older and newer ones are added up. */
const MAX_MONTHS = 60;

type Timeline = Report['timeline'];
type Month = Timeline['months'][number];

/**
 * V3 records by month of their latest date, up to the month in which the newest list was read.
 *
 * @param newest ISO 8601
 */
export function buildTimeline(counts: readonly MonthCount[], newest: string): Timeline {
  const last = numberOf(newest);
  const first = last - MAX_MONTHS + 1;
  const dated = counts.flatMap(({ month, ...rest }) =>
    month === null ? [] : [{ ...rest, at: numberOf(month) }],
  );
  const undated = counts.filter(({ month }) => month === null);
  const earlier = dated.filter(({ at }) => at < first);
  const later = dated.filter(({ at }) => at > last);
  const shown = dated.filter(({ at }) => at >= first && at <= last);
  const oldest = earlier.length > 0 ? first : Math.min(...shown.map(({ at }) => at));
  // Empty months between the first and the last are shown too.
  const length = shown.length === 0 ? 0 : Math.max(...shown.map(({ at }) => at)) - oldest + 1;
  return {
    months: Array.from({ length }, (_, index) =>
      addUpMonths(
        nameOf(oldest + index),
        shown.filter(({ at }) => at === oldest + index),
      ),
    ),
    earlier: earlier.length === 0 ? null : addUpMonths(`before ${nameOf(first)}`, earlier),
    later: later.length === 0 ? null : addUpMonths(`after ${nameOf(last)}`, later),
    undated: sumOf(undated, (row) => row.matched + row.unmatched + row.other),
  };
}

function addUpMonths(month: string, counts: readonly Omit<MonthCount, 'month'>[]): Month {
  return {
    month,
    matched: sumOf(counts, (row) => row.matched),
    unmatched: sumOf(counts, (row) => row.unmatched),
    other: sumOf(counts, (row) => row.other),
  };
}

/** Months since the year 0 of a time such as `2026-10`. */
function numberOf(time: string): number {
  return Number(time.slice(0, 4)) * 12 + Number(time.slice(5, 7)) - 1;
}

function nameOf(month: number): string {
  return new Date(Date.UTC(Math.floor(month / 12), month % 12)).toISOString().slice(0, 7);
}
