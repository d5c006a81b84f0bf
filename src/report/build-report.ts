import { basename } from 'node:path';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { EXIT_BY_OUTCOME } from '../limits.js';
import { outcomeKey, rankOfKey, type Status } from '../reasons.js';
import { assertUndamaged } from '../store/integrity.js';
import { nameOfStream, readStaleness } from '../store/readiness.js';
import { type RemapRun, readRemapRun, type Scope, toFinding } from '../store/remap.js';
import {
  countSpareV4Companies,
  type ListGroup,
  type RowTally,
  readFirstFindings,
  readFullSync,
  readIdleDecisions,
  readLists,
  readMonths,
  readWindows,
  readWorstCompanies,
} from '../store/report-rows.js';
import type { Db } from '../store/sqlite.js';
import { listFirst } from '../text/numbers.js';
import { groupBy, sumBy, sumOf } from '../text/rows.js';
import { allModels, countIds, type JudgedRemap, judgeDatabase } from './gate.js';
import { listObstacles, nextStep, titleOfKey } from './next-steps.js';
import { type Report, type RowCounts, reportSchema } from './report-schema.js';

export interface ReportInputs {
  readonly config: Config;
  readonly scope: Scope;
  /** ms since 1970. */
  readonly nowMs: number;
  readonly toolVersion: string;
}

const HOUR_MS = 3_600_000;
const MAX_SAMPLES = 5;
const FULL_LIST = '`svc-migrate report --ndjson findings.ndjson`, or the table remap of the database';

/**
 * Builds the report from the database. The same database gives the same report, except for `generatedAt` and ages. Call
 * it inside a transaction.
 *
 * @throws SvcError `internal` if the counts of the remap do not add up
 */
export function buildReport(db: Db, { config, scope: given, nowMs, toolVersion }: ReportInputs): Report {
  const { models = [], companies = [] } = given;
  const scope = allModels(config, given);
  const judgement = judgeDatabase(db, config, given, nowMs);
  const { outcome, blockers, gate, outcomes, exported, lists, times, ageMs } = judgement;
  const totals = { ...addUpExported(exported), ...addUp(outcomes) };
  const facts = { windows: readWindows(db, scope), spareV4Companies: countSpareV4Companies(db) };
  const worst = readWorstCompanies(db, scope);
  const streams = readLists(db, scope);
  const fullSync = readFullSync(db, scope);
  const report: Report = {
    schemaVersion: 1,
    tool: { name: 'svc-migrate', version: toolVersion },
    generatedAt: new Date(nowMs).toISOString(),
    outcome,
    exitCode: EXIT_BY_OUTCOME[outcome],
    next: nextStep(blockers, listObstacles(gate.limits), facts),
    scope: {
      models: models.length === 0 ? null : [...models],
      companies: companies.length === 0 ? null : companies.map(String),
      settings: listNarrowing(config),
    },
    blockers,
    gate,
    totals,
    models: countModels(config, scope, judgement),
    companies: worst.rows.map(({ outcomes: tallies, ...company }) => ({ ...company, ...addUp(tallies) })),
    reasons: countReasons(outcomes),
    ...facts,
    lists: [...lists],
    completeness: streams.rows,
    fullSync: fullSync.rows,
    omitted: {
      companies: worst.total - worst.rows.length,
      completeness: streams.total - streams.rows.length,
      fullSync: fullSync.total - fullSync.rows.length,
    },
    findings: {
      total: sumStatuses(totals.byStatus) - totals.byStatus.matched,
      samples: readFirstFindings(db, scope, MAX_SAMPLES, false).map(toFinding),
      fullList: FULL_LIST,
    },
    decisions: summarizeDecisions(db, config, scope, judgement),
    cannotSee: listCannotSee(config, given, judgement),
    timeline: buildTimeline(db, scope, times.newest ?? new Date(nowMs).toISOString()),
    evidence: {
      database: basename(config.database),
      oldestReadAt: times.oldest,
      newestReadAt: times.newest,
      ageHours: ageMs === null ? null : Math.max(0, Math.floor(ageMs / HOUR_MS)),
      ...describeRemap(readRemapRun(db), readStaleness(db, config), judgement, totals),
    },
  };
  // A damaged file can hold values of other types than its columns.
  if (!reportSchema.safeParse(report).success) assertUndamaged(db);
  return report;
}

/** The settings that leave companies out. */
function listNarrowing({ companies, v3, v4 }: Config): Report['scope']['settings'] {
  const settings = {
    'companies.include': companies.include,
    'companies.exclude': companies.exclude,
    'v3.companies': v3.companies,
    'v4.companies': v4.companies,
  };
  return Object.entries(settings)
    .filter(([, ids]) => ids.length > 0)
    .map(([name, ids]) => ({ name, companies: ids.map(String) }));
}

function countModels(
  { models }: Config,
  scope: Required<Scope>,
  { outcomes, exported }: JudgedRemap,
): Report['models'] {
  return scope.models.map((name) => ({
    model: name,
    v4Model: models.find(({ v3 }) => v3 === name)?.v4 ?? null,
    ...addUpExported(exported.filter(({ model }) => model === name)),
    ...addUp(outcomes.filter(({ model }) => model === name)),
  }));
}

function addUpExported(rows: JudgedRemap['exported']) {
  return {
    v3Records: sumOf(rows, (row) => row.v3Records),
    v3Children: sumOf(rows, (row) => row.v3Children),
    v4Records: sumOf(rows, (row) => row.v4Records),
    v4Children: sumOf(rows, (row) => row.v4Children),
    rejected: sumOf(rows, (row) => row.rejected),
  };
}

function addUp(outcomes: readonly RowTally[]): RowCounts {
  const records = outcomes.filter(({ isChild }) => isChild === 0);
  const children = outcomes.filter(({ isChild }) => isChild === 1);
  return {
    uniqueIdConflicts: sumOf(outcomes, (row) => row.conflicts),
    merged: sumOf(outcomes, (row) => row.merged),
    byStatus: {
      ...countStatuses(outcomes, ({ rows }) => rows),
      v4_only: sumOf(outcomes, ({ status, rows }) => (status === 'v4_only' ? rows : 0)),
    },
    v3ByStatus: countStatuses(outcomes, ({ v3Rows }) => v3Rows),
    v3RecordsByStatus: countStatuses(records, ({ v3Rows }) => v3Rows),
    v3ChildrenByStatus: countStatuses(children, ({ v3Rows }) => v3Rows),
    recordsByReason: countByReason(records),
    childrenByReason: countByReason(children),
  };
}

function countStatuses(
  outcomes: readonly RowTally[],
  numberOf: (row: RowTally) => number,
): RowCounts['v3ByStatus'] {
  const sum = (status: Status) => sumOf(outcomes, (row) => (row.status === status ? numberOf(row) : 0));
  return {
    matched: sum('matched'),
    unmatched: sum('unmatched'),
    deleted: sum('deleted'),
    ambiguous: sum('ambiguous'),
  };
}

function countByReason(outcomes: readonly RowTally[]): Record<string, number> {
  const findings = outcomes.filter(({ reason }) => reason !== null);
  const sums = sumBy(
    findings,
    ({ status, reason }) => `${status}/${reason}`,
    ({ rows }) => rows,
  );
  return Object.fromEntries([...sums].sort(([a], [b]) => compareKeys(a, b)));
}

/** In the order of statuses and reasons, each reason before its `parent_` form. */
function compareKeys(a: string, b: string): number {
  return rankOfKey(a) - rankOfKey(b) || a.length - b.length;
}

export function sumStatuses(counts: Readonly<Partial<Record<Status, number>>>): number {
  return sumOf(Object.values(counts), (count) => count);
}

/** The findings by the reasons of their records. */
function countReasons(outcomes: readonly RowTally[]): Report['reasons'] {
  const findings = outcomes.filter(({ reason }) => reason !== null);
  const groups = groupBy(findings, ({ status, reason }) => outcomeKey(status, reason));
  return [...groups]
    .sort(([a], [b]) => compareKeys(a, b))
    .map(([key, ofKey]) => ({ key, title: titleOfKey(key), ...countIds(ofKey) }));
}

/** What the last remap made of the decisions; null if there are none and none are configured. */
function summarizeDecisions(
  db: Db,
  config: Config,
  scope: Scope,
  { decisions }: JudgedRemap,
): Report['decisions'] {
  if (config.decisions === null && decisions.length === 0) return null;
  const count = (wanted: string) => sumOf(decisions, (row) => (row.outcome === wanted ? row.decisions : 0));
  return {
    file: config.decisions === null ? 'decisions' : basename(config.decisions),
    taken: count('taken'),
    notNeeded: count('not_needed'),
    stale: count('stale'),
    idle: readIdleDecisions(db, scope).rows,
  };
}

/** Months shown separately, up to the one in which the newest list was read; earlier and later ones are added up. */
const MAX_MONTHS = 60;

function buildTimeline(db: Db, scope: Scope, newest: string): Report['timeline'] {
  const first = new Date(`${newest.slice(0, 7)}-01`);
  first.setUTCMonth(first.getUTCMonth() - MAX_MONTHS + 1);
  const counts = readMonths(db, scope, first.toISOString().slice(0, 7), newest.slice(0, 7));
  const undated = counts.filter(({ month }) => month === null);
  return {
    months: counts.flatMap(({ month, ...row }) => (month === null ? [] : [{ month, ...row }])),
    undated: sumOf(undated, (row) => row.matched + row.unmatched + row.other),
  };
}

/** @throws SvcError `internal` if the counts of the remap do not add up */
function describeRemap(
  run: RemapRun | null,
  changed: string[],
  { outcomes }: JudgedRemap,
  totals: Report['totals'],
): Pick<Report['evidence'], 'remap' | 'conservation'> {
  if (run === null) return { remap: null, conservation: null };
  const conservation = {
    v3Exported: Number(run.conservation.v3Exported),
    v3Rows: Number(run.conservation.v3Rows),
    v4Exported: Number(run.conservation.v4Exported),
    v4Seen: Number(run.conservation.v4Seen),
  };
  const { v3Exported, v3Rows, v4Exported, v4Seen } = conservation;
  const counted = sumOf(outcomes, (row) => row.v3Rows);
  const exported = totals.v3Records + totals.v3Children;
  if (v3Exported !== v3Rows || v4Exported !== v4Seen || counted !== exported) {
    throw new SvcError('internal', 'The rows of the remap do not add up to what was exported.', {
      facts: { ...conservation, exported, counted },
    });
  }
  const { sha256, builtAt } = run;
  const rows = sumStatuses(totals.byStatus);
  return { remap: { sha256, builtAt, rows, stale: changed.length > 0, changed }, conservation };
}

/** What a passed gate does not prove, given how the database was exported: sentences by code. */
function listCannotSee(config: Config, scope: Scope, judgement: JudgedRemap): Report['cannotSee'] {
  const limitations = {
    ...describeReadingGaps(config, judgement),
    ...describeScopeGaps(config, scope),
    ...GENERAL_GAPS,
  };
  return Object.entries(limitations).flatMap(([code, text]) => (text === false ? [] : [{ code, text }]));
}

function describeReadingGaps({ v4 }: Config, { lists, exported, outcomes, times }: JudgedRemap) {
  const isAsked = v4.includeDeleted !== false;
  const isDeletedShown =
    !exported.some((row) => row.v3Deleted > 0) || exported.some((row) => row.v4Deleted > 0);
  const open = outcomes.filter(({ status }) => status === 'unmatched' || status === 'ambiguous');
  const isOpen = open.some(({ v3Rows }) => v3Rows > 0) || outcomes.some(({ merged }) => merged > 0);
  const short = lists.filter(({ state }) => state === 'short');
  const absent = lists.filter(({ generation, state }) => generation === 'v3' && state === 'absent');
  return {
    v3_vanished:
      times.toppedUp > 0 &&
      isOpen &&
      'V3 was updated, not read again in full: V3 ids that are unmatched, ambiguous or merged may have vanished from V3 since. `svc-migrate export v3 --restart` reads V3 again in full.',
    v4_deleted_not_asked:
      !isAsked && 'V4 was read without its deleted records: what V4 deleted looks unmatched.',
    v4_deleted_not_shown:
      isAsked &&
      !isDeletedShown &&
      'V4 was asked for deleted records and showed none, though V3 has some: it may not honour include_deleted_records, and then what it deleted looks unmatched.',
    short_lists:
      short.length > 0 &&
      `The service counts more records than it shows (${nameFirst(short)}): what it did not show is not checked.`,
    absent_in_v3:
      absent.length > 0 &&
      `V3 answered 404 for ${nameFirst(absent)}: its ids that were not read before are not checked.`,
    rejected_objects:
      exported.some(({ rejected }) => rejected > 0) &&
      'Rejected objects have no readable id or company: they are in no row of the remap.',
  };
}

function nameFirst(lists: readonly ListGroup[]): string {
  return listFirst(lists.map(nameOfStream), 3, '; ');
}

function describeScopeGaps(config: Config, { models = [], companies = [] }: Scope) {
  const { match } = config.companies;
  const isNarrowed = models.length + companies.length + listNarrowing(config).length > 0;
  return {
    narrowed_scope: isNarrowed && 'Only some models or companies were selected: the others were not judged.',
    configured_pairs:
      match !== 'auto' &&
      `Companies were paired by ${match === 'same_id' ? 'equal ids' : 'your file'}, as the configuration says.`,
  };
}

const GENERAL_GAPS = {
  nested_objects:
    'Objects inside records are mapped only where "children" of the model names their field and they have an id.',
  ghosts:
    'Records that V3 still shows though their source deleted them long ago look unmatched, or like data that V4 did not load.',
  shared_platform_id:
    'Two source records that share a platform_id, one seen only by V3 and one only by V4, look like one record.',
  after_the_export: 'Records may have appeared, changed or been deleted after the lists were read.',
  contents:
    'Ids are compared, not amounts or texts: `svc-migrate verify` shows fields that differ in a sample.',
};
