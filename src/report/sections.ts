import { basename } from 'node:path';
import type { Config } from '../config/config.js';
import type { StaleReason } from '../domain.js';
import { readRemapInputs } from '../store/meta.js';
import type { Db } from '../store/open.js';
import { nameOfList } from '../store/planned-lists.js';
import { readDatedRecords } from '../store/remap-groups.js';
import type { Scope } from '../store/remap-rows.js';
import { type DecisionCount, readDriftCounts, readIdleDecisions } from '../store/remap-tables.js';
import type { StreamGroup } from '../store/scoped-streams.js';
import type { ListRow } from '../store/streams.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { compare } from '../text/rows.js';
import type { OutsideCount } from './count-rows.js';
import type { Counts, DecisionsSection, DriftSection, FullSync, Report } from './report-schema.js';

/**
 * Differences between matched records, as found by the last remap.
 *
 * @param matchedRecords their number in the scope; if fewer were compared, drift is not measured
 */
export function readDrift(db: Db, scope: Scope, matchedRecords: number): DriftSection {
  const models = readDriftCounts(db, scope).map(({ model, pairs, compared, differing, sample }) => ({
    model,
    pairs: Number(pairs),
    compared: Number(compared),
    differing: Number(differing),
    sample: sample?.toString() ?? null,
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

/** Counts V3 records by date and outcome. */
export function readDates(db: Db, scope: Scope): Dates {
  const days = new Map<bigint | null, Day>();
  const ranges = new Map<string, DateRange>();
  for (const row of readDatedRecords(db, scope)) {
    const day = days.get(row.day) ?? { day: row.day, matched: 0, unmatched: 0, other: 0 };
    days.set(row.day, day);
    const isNamed = row.status === 'matched' || row.status === 'unmatched';
    day[isNamed ? row.status : 'other'] += Number(row.n);
    if (row.reason !== 'outside_backfill_window') continue;
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
  const oldest = earlier === undefined ? Math.min(...shown) : first;
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

export interface ReadFacts {
  readonly config: Config;
  readonly scope: Scope;
  readonly groups: readonly StreamGroup[];
  /** The first lists with a disputed count, and the first that V3 does not have. */
  readonly short: readonly ListRow[];
  readonly absentInV3: readonly ListRow[];
  readonly drift: DriftSection;
  readonly totals: Counts;
  /** Number of deleted records in the lists of V3 and V4. */
  readonly deleted: { readonly v3: number; readonly v4: number };
}

/** What a passed gate does not prove, given how the database was exported. */
export function listCannotSee(facts: ReadFacts): Report['cannotSee'] {
  const all = [...whatReadingMissed(facts), ...whatWasNotAsked(facts), ...whatNoRunSees(facts)];
  return all.filter(([applies]) => applies).map(([, code, name, text]) => ({ code, name, text }));
}

/** Something that the report cannot prove; `applies`: in this database. */
type Limitation = readonly [applies: boolean, code: string, name: string, text: string];

function whatReadingMissed({ config, groups, totals, deleted, ...first }: ReadFacts): readonly Limitation[] {
  const isAsked = config.v4.includeDeleted !== false;
  const countOfLists = (isWanted: (group: StreamGroup) => boolean) =>
    groups.filter(isWanted).reduce((sum, { lists }) => sum + lists, 0);
  const short = countOfLists(({ state }) => state === 'short');
  const absent = countOfLists(({ generation, state }) => generation === 'v3' && state === 'absent');
  return [
    [
      groups.some(({ generation, toppedUp }) => generation === 'v3' && toppedUp > 0),
      'v3_vanished',
      'records that vanished from V3 without a tombstone',
      'What an earlier export read from V3 is not read again in full: a record that has vanished since then without a tombstone is still counted as live. `svc-migrate export v3 --restart` reads V3 again in full.',
    ],
    [
      !isAsked,
      'v4_deleted_not_asked',
      'deletions in V4',
      'V4 was read without its deleted records: what V4 deleted looks unmatched.',
    ],
    [
      isAsked && deleted.v4 === 0 && deleted.v3 > 0,
      'v4_deleted_not_shown',
      'deletions in V4',
      'V4 was asked for deleted records and showed none, though V3 has some: perhaps it does not honour include_deleted_records, and what it deleted looks unmatched.',
    ],
    [
      short > 0,
      'short_lists',
      'records that a list counts and does not show',
      `The service counts more records than it shows (${nameFirst(first.short.map(nameOfList), short)}): what it did not show is not checked.`,
    ],
    [
      absent > 0,
      'absent_in_v3',
      'models that V3 answered 404 for',
      `V3 answered 404 for ${nameFirst(first.absentInV3.map(nameOfList), absent)}: ids you may hold of it are not checked.`,
    ],
    [
      totals.rejected > 0,
      'rejected_objects',
      'rejected objects',
      'Rejected objects have no readable id or company: no row of the remap stands for them.',
    ],
  ];
}

function whatWasNotAsked({ config, scope, groups }: ReadFacts): readonly Limitation[] {
  const { include, exclude } = config.companies;
  const split = config.v3.companies === 'auto' ? [] : config.v3.companies;
  const listed = [include, exclude, split, config.v4.companies].flat();
  const absent = groups.filter(({ generation, state }) => generation === 'v4' && state === 'absent');
  const guessed = config.models
    .filter((pair) => pair.v4Guessed && absent.some(({ model }) => model === pair.v3))
    .map((pair) => pair.v3);
  return [
    [
      scope.models !== null || scope.companies !== null || listed.length > 0,
      'narrowed_scope',
      'other models and companies',
      'Only some models or companies were selected: the others were not judged.',
    ],
    [
      guessed.length > 0,
      'guessed_model_names',
      'models under another V4 name',
      `V4 does not know the guessed names of ${nameFirst(guessed, guessed.length)}: the models may exist under another name.`,
    ],
    [
      config.backfill.sinceMs === null,
      'inferred_window',
      "whether the inferred start of V4's history is right",
      "Where V4's history starts is not configured: it was inferred per company from V4's own records, or left unknown. Set backfill.since to what the operator says.",
    ],
    [
      true,
      'nested_objects',
      'objects inside records without a configured field',
      'Objects inside records are mapped only where "children" of the model names their field and they have an id.',
    ],
  ];
}

function whatNoRunSees({ config, drift }: ReadFacts): readonly Limitation[] {
  const { match } = config.companies;
  return [
    [
      true,
      'ghosts',
      'ghosts (V3 records whose source record is gone)',
      'Records that V3 still shows though their source deleted them long ago: they look unmatched, or like data V4 did not load.',
    ],
    [
      true,
      'shared_platform_id',
      'two source records that share an id',
      'Two source records that share a platform_id, one seen only by V3 and one only by V4: they look like one record.',
    ],
    [
      true,
      'after_the_export',
      'what changed after the export',
      'Records that appeared, changed or were deleted after the lists were read.',
    ],
    [
      drift.measured,
      'other_fields',
      'fields that only one side has',
      'Fields of a matched pair that only one side has, fields of children, and fields that drift.ignore names: they are not compared.',
    ],
    [
      !drift.measured,
      'drift_not_measured',
      'whether the contents of matched records agree',
      `Whether the fields of matched records agree (drift): only ${groupDigits(drift.compared)} of ${countOf(drift.pairs, 'pair')} had both payloads in the database when the remap was built.`,
    ],
    [
      match === 'same_id',
      'same_id_trusted',
      'companies paired wrongly by equal ids',
      'Companies were paired by equal ids because the configuration says so.',
    ],
    [
      typeof match === 'object',
      'file_trusted',
      'companies paired wrongly by your file',
      'Companies were paired by your file, which is trusted.',
    ],
  ];
}

/** Most lists or models that a sentence names. */
export const MAX_NAMED = 3;

function nameFirst(names: readonly string[], count: number): string {
  const shown = names.slice(0, MAX_NAMED).join('; ');
  return count > MAX_NAMED ? `${shown}; and ${count - MAX_NAMED} more` : shown;
}
