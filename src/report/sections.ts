import { basename } from 'node:path';
import type { Config } from '../config/config.js';
import { readRemapInputs } from '../store/meta.js';
import type { Db } from '../store/open.js';
import { readDatedRecords } from '../store/remap-groups.js';
import type { Scope } from '../store/remap-rows.js';
import { type DecisionCount, readDriftCounts, readIdleDecisions } from '../store/remap-tables.js';
import { compare } from '../text/rows.js';
import type { OutsideCount } from './count-rows.js';
import { whyIdle } from './describe.js';
import type { DecisionsSection, DriftSection, FullSync, Report } from './report-schema.js';

/**
 * Differences between matched records, as found by the last remap.
 *
 * @param matchedRecords their number in the scope; if fewer were compared, drift is not measured
 */
export function readDrift(db: Db, scope: Scope, matchedRecords: number): DriftSection {
  const models = readDriftCounts(db, scope).map(({ model, pairs, compared, differing }) => ({
    model,
    pairs: Number(pairs),
    compared: Number(compared),
    differing: Number(differing),
  }));
  const sum = (pick: 'pairs' | 'compared' | 'differing') => models.reduce((all, one) => all + one[pick], 0);
  const [pairs, compared] = [sum('pairs'), sum('compared')];
  return {
    measured: pairs === compared && pairs === matchedRecords,
    pairs,
    compared,
    differing: sum('differing'),
    models,
  };
}

const MAX_DECISIONS = 1000;

/** The outcome of the decisions in the last remap; null if there were none and none are configured. */
export function readDecisions(
  db: Db,
  config: Config,
  scope: Scope,
  counts: readonly DecisionCount[],
  nowMs: number,
): DecisionsSection | null {
  const sha256 = readRemapInputs(db)['decisions'] ?? null;
  if (config.decisions === null && sha256 === null && counts.length === 0) return null;
  const total = (wanted: string) =>
    counts.reduce((sum, { outcome, n }) => sum + (outcome === wanted ? Number(n) : 0), 0);
  return {
    file: config.decisions === null ? 'decisions' : basename(config.decisions),
    sha256,
    taken: total('taken'),
    notNeeded: total('not_needed'),
    stale: total('stale'),
    idle: readIdleDecisions(db, scope, nowMs, MAX_DECISIONS).map((row) => ({
      line: row.line,
      model: row.model,
      path: row.path,
      region: row.region,
      v3_company_id: String(row.v3CompanyId),
      v3_svc_id: row.v3SvcId?.toString() ?? null,
      v4_svc_id: row.v4SvcId?.toString() ?? null,
      note: row.note,
      until: row.until,
      outcome: row.outcome === 'not_needed' ? 'not_needed' : 'stale',
      why: row.why,
      text: whyIdle(row),
    })),
  };
}

/**
 * Returns a function that builds a row of what to ask the operator for: records of a company and model outside the
 * backfill window.
 */
export function prepareFullSync(ranges: Dates['ranges']): (row: OutsideCount) => FullSync {
  const isoOf = (ms: bigint | null | undefined) => {
    const date = ms == null ? null : new Date(Number(ms));
    return date === null || Number.isNaN(date.getTime()) ? null : date.toISOString();
  };
  return (row) => {
    const range = ranges.get(rangeKey(row.region, row.v3CompanyId, row.model));
    return {
      region: row.region,
      v3CompanyId: String(row.v3CompanyId),
      v4CompanyId: row.v4CompanyId === null ? null : String(row.v4CompanyId),
      model: row.model,
      records: row.records,
      children: row.children,
      earliest: isoOf(range?.earliest),
      latest: isoOf(range?.latest),
    };
  };
}

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
function rangeKey(region: string, companyId: bigint, model: string): string {
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
