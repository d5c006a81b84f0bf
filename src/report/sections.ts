import { basename } from 'node:path';
import type { Config } from '../config/config.js';
import type { StaleReason } from '../domain.js';
import { readRemapInputs } from '../store/meta.js';
import type { Db } from '../store/open.js';
import { readDatedRecords } from '../store/remap-groups.js';
import type { Scope } from '../store/remap-rows.js';
import { type DecisionCount, readDriftCounts, readIdleDecisions } from '../store/remap-tables.js';
import { compare } from '../text/rows.js';
import type { OutsideCount } from './count-rows.js';
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

const WHY_IDLE: Readonly<Record<StaleReason, string>> = {
  expired: 'its date in the column until has come',
  company_not_paired: 'its V3 company has no V4 company',
  v3_not_exported: 'V3 shows no such id in this model, path, region and company',
  v4_not_exported: 'V4 shows no such id in this model, path and company (for a child: in the same record)',
  v3_several: 'several records hold a V3 child with this id',
  v4_several: 'several records hold a V4 child with this id',
  parents_not_matched: 'the records that hold the child are not matched',
  v3_deleted: 'the V3 record is deleted',
  v4_deleted: 'the V4 record is deleted',
  v3_paired: 'the V3 record is in a pair that the data prove',
  v4_paired: 'the V4 record is in a pair that the data prove',
  not_read_in_full: 'a list that may hold the counterpart was not read in full',
};

/** Why a decision changed nothing, as the end of a sentence. */
function whyIdle({ outcome, why }: { readonly outcome: string; readonly why: StaleReason | null }): string {
  if (outcome === 'not_needed') return 'not needed: the data prove it by themselves';
  return why === null ? 'not taken' : `not taken: ${WHY_IDLE[why]}`;
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
  const last = numberOfMonth(newestMs);
  const first = last - MAX_MONTHS + 1;
  const found = new Map<number, Month>();
  let undated = 0;
  for (const { day, matched, unmatched, other } of days) {
    const number = day === null ? Number.NaN : numberOfMonth(Number(day) * DAY_MS);
    if (Number.isNaN(number)) {
      undated += matched + unmatched + other;
      continue;
    }
    const at = Math.min(last + 1, Math.max(first - 1, number));
    const month = found.get(at) ?? newMonth(nameOfMonth(at));
    found.set(at, month);
    month.matched += matched;
    month.unmatched += unmatched;
    month.other += other;
  }
  const [earlier, later] = [found.get(first - 1), found.get(last + 1)];
  const shown = [...found.keys()].filter((at) => at >= first && at <= last);
  const oldest = Math.min(...shown);
  // Empty months between the first and the last are shown too.
  const count = shown.length === 0 ? 0 : Math.max(...shown) - oldest + 1;
  return {
    months: Array.from({ length: count }, (_, at) => {
      return found.get(oldest + at) ?? newMonth(nameOfMonth(oldest + at));
    }),
    earlier: earlier === undefined ? null : { ...earlier, month: `before ${nameOfMonth(first)}` },
    later: later === undefined ? null : { ...later, month: `after ${nameOfMonth(last)}` },
    undated,
  };
}

function newMonth(month: string): Month {
  return { month, matched: 0, unmatched: 0, other: 0 };
}

/** Months since the year 0; NaN for what is no date. */
function numberOfMonth(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** `2026-08`. */
function nameOfMonth(number: number): string {
  return new Date(Date.UTC(Math.floor(number / 12), number % 12)).toISOString().slice(0, 7);
}
