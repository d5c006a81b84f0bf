import { basename } from 'node:path';
import type { Config } from '../config/config.js';
import type { StaleReason } from '../domain.js';
import { SvcError } from '../errors.js';
import { type Counter, decideOutcome, EXIT_BY_OUTCOME } from '../limits.js';
import { readFirstFindings, toFinding } from '../store/findings.js';
import { readStoredFingerprint } from '../store/fingerprint.js';
import { findIncomplete, findNotReady, readReadiness } from '../store/readiness.js';
import type { RemapRun, Scope } from '../store/remap.js';
import {
  type CompanyRow,
  type DecisionRow,
  iterateGroupCounts,
  type ListRow,
  readCompanies,
  readDays,
  readDecisionRows,
  readExportedCounts,
  readLists,
  readOutside,
  readWindows,
  type WindowRow,
} from '../store/report-rows.js';
import type { Db } from '../store/sqlite.js';
import { groupBy } from '../text/rows.js';
import { listCannotSee } from './cannot-see.js';
import { type CountedRows, countReasons, countRows, sumStatuses } from './count-rows.js';
import { type GateCounts, judge } from './gate.js';
import { nextStep } from './next-steps.js';
import { listObstacles } from './obstacles.js';
import type { Report, ReportStream } from './report-schema.js';
import { buildMonths, isoTime, summarizeWindows } from './timeline.js';

export interface ReportInputs {
  readonly config: Config;
  readonly scope: Scope;
  /** ms since 1970. */
  readonly nowMs: number;
  readonly toolVersion: string;
}

const HOUR_MS = 3_600_000;
const MAX_SAMPLES = 5;
const MAX_IDLE_DECISIONS = 1000;
const FULL_LIST = '`svc-migrate report --ndjson findings.ndjson`, or the table remap of the database';

/**
 * Builds the report from the database. The same database gives the same report, except for `generatedAt` and ages. Call
 * it inside a transaction.
 *
 * @throws SvcError `internal` if the counts of the remap do not add up
 */
export function buildReport(db: Db, { config, scope: given, nowMs, toolVersion }: ReportInputs): Report {
  // All configured models, unless models were named.
  const scope: Scope = { ...given, models: given.models ?? config.models.map(({ v3 }) => v3) };
  const facts = readReadiness(db, config, scope);
  const companies = readCompanies(db, scope);
  const counts = countRows({
    models: scope.models ?? [],
    companies,
    exported: readExportedCounts(db, scope),
    groups: iterateGroupCounts(db, scope),
  });
  const lists = readLists(db, scope);
  const age = readAge(lists, nowMs);
  const newestMs = age.newest === null ? nowMs : Date.parse(age.newest);
  const windowRows = readWindows(db, scope);
  const windows = summarizeWindows(windowRows, newestMs);
  const decisions = readDecisionRows(db, scope);
  const gate = judge(
    countForGate(counts, lists, decisions, age.ms),
    limitsInScope(config, given),
    config.maxAgeMs,
  );
  const incomplete = findIncomplete(facts);
  const blockers = incomplete.length > 0 ? incomplete : findNotReady(db, config, scope);
  const outcome = decideOutcome(blockers, gate.pass);
  const v4NameOf = (model: string) => config.models.find((pair) => pair.v3 === model)?.v4 ?? null;
  const streams = lists.map((list) => toReportStream(list, v4NameOf(list.model)));
  const { totals } = counts;
  return {
    schemaVersion: 1,
    tool: { name: 'svc-migrate', version: toolVersion },
    generatedAt: new Date(nowMs).toISOString(),
    outcome,
    exitCode: EXIT_BY_OUTCOME[outcome],
    next: nextStep(blockers, listObstacles(gate.limits), windows),
    scope: {
      models: given.models == null ? null : [...given.models],
      companies: given.companies == null ? null : given.companies.map(String),
    },
    blockers,
    gate,
    totals,
    models: [...counts.models].map(([model, own]) => ({ model, v4Model: v4NameOf(model), ...own })),
    companies: counts.companies.map(({ counts: own, ...company }) => ({
      region: company.region,
      v3CompanyId: company.v3CompanyId?.toString() ?? null,
      v4CompanyId: company.v4CompanyId?.toString() ?? null,
      matchedBy: company.matchedBy,
      ...own,
    })),
    ambiguousCompanies: companies.flatMap(toAmbiguous),
    reasons: countReasons(counts.rows),
    windows,
    completeness: streams,
    fullSync: listFullSync(db, scope),
    findings: {
      total: sumStatuses(totals.byStatus) - totals.byStatus.matched,
      samples: readFirstFindings(db, scope, MAX_SAMPLES, false).map(toFinding),
      fullList: FULL_LIST,
    },
    decisions: summarizeDecisions(config, decisions),
    cannotSee: listCannotSee({
      config,
      scope: given,
      streams,
      isV3ToppedUp: lists.some(({ generation, phase }) => generation === 'v3' && phase === 'sweep'),
      totals,
      deleted: counts.deleted,
    }),
    timeline: buildTimeline(db, config, scope, { windowRows, newestMs }),
    evidence: {
      database: basename(config.database),
      oldestReadAt: age.oldest,
      newestReadAt: age.newest,
      ageHours: age.ms === null ? null : Math.max(0, Math.floor(age.ms / HOUR_MS)),
      fingerprint: { ...readStoredFingerprint(db) },
      ...describeRemap(facts.run, facts.changes, counts),
    },
  };
}

/** Limits of models that are not in the scope judge nothing. */
function limitsInScope({ limits }: Config, { models }: Scope): Config['limits'] {
  const inScope = Object.entries(limits.models).filter(([model]) => models?.includes(model) ?? true);
  return { global: limits.global, models: Object.fromEntries(inScope) };
}

function countForGate(
  counts: CountedRows,
  lists: readonly ListRow[],
  decisions: readonly DecisionRow[],
  ageMs: number | null,
): GateCounts {
  const perModel = (pick: 'rejected' | 'uniqueIdConflicts' | 'merged') =>
    new Map([...counts.models].map(([model, own]) => [model, own[pick]]));
  const countBy = (rows: readonly { readonly model: string }[]) =>
    new Map([...groupBy(rows, ({ model }) => model)].map(([model, own]) => [model, own.length]));
  const counters: Record<Counter, ReadonlyMap<string, number>> = {
    rejected: perModel('rejected'),
    short: countBy(lists.filter(({ state }) => state === 'short')),
    unique_id_conflict: perModel('uniqueIdConflicts'),
    merged: perModel('merged'),
    decision_stale: countBy(decisions.filter(({ outcome }) => outcome === 'stale')),
  };
  return { rows: counts.rows, v3Rows: counts.v3Rows, counters, ageMs };
}

/** When lists were read: the start of the last complete reading of each. */
interface EvidenceAge {
  readonly oldest: string | null;
  readonly newest: string | null;
  /** Age of the oldest, ms; null if a list that was read to its end does not say when. */
  readonly ms: number | null;
}

function readAge(lists: readonly ListRow[], nowMs: number): EvidenceAge {
  const times = lists.flatMap(({ readAt }) => readAt ?? []).sort((a, b) => Date.parse(a) - Date.parse(b));
  const oldest = times[0] ?? null;
  const isDated = lists.every(
    ({ readAt, state }) => readAt !== null || state === 'running' || state === 'failed',
  );
  const ms = oldest === null || !isDated ? Number.NaN : nowMs - Date.parse(oldest);
  return { oldest, newest: times.at(-1) ?? null, ms: Number.isNaN(ms) ? null : ms };
}

function toReportStream(list: ListRow, v4Model: string | null): ReportStream {
  return {
    generation: list.generation,
    region: list.region,
    model: list.model,
    v4Model,
    companyId: list.companyId?.toString() ?? null,
    state: list.state,
    endReason: list.endReason,
    pages: Number(list.pages),
    records: Number(list.records),
    uniqueRecords: Number(list.uniqueRecords),
    duplicates: Number(list.duplicates),
    rejected: Number(list.rejected),
    totalCountFirst: list.totalCountFirst === null ? null : Number(list.totalCountFirst),
    totalCountLast: list.totalCountLast === null ? null : Number(list.totalCountLast),
    startedAt: list.startedAt,
    finishedAt: list.finishedAt,
  };
}

type AmbiguousCompanies = Report['ambiguousCompanies'];

function toAmbiguous({ region, v3CompanyId, matchedBy, note }: CompanyRow): AmbiguousCompanies {
  if (matchedBy !== 'ambiguous' || region === null || v3CompanyId === null) return [];
  return [{ region, v3CompanyId: String(v3CompanyId), candidates: candidatesIn(note) }];
}

/** The candidates in a company's note, likeliest first. */
export function candidatesIn(note: string): AmbiguousCompanies[number]['candidates'] {
  const parsed: unknown = JSON.parse(note);
  if (!Array.isArray(parsed)) return [];
  return parsed.map((candidate: unknown) => {
    const numbers = new Map<string, unknown>(Object.entries(Object(candidate)));
    const numberOf = (name: string) => Number(numbers.get(name) ?? 0);
    return {
      v4CompanyId: String(numbers.get('v4_company_id')),
      comparableKeys: numberOf('comparable_keys'),
      agreeingKeys: numberOf('agreeing_keys'),
    };
  });
}

function listFullSync(db: Db, scope: Scope): Report['fullSync'] {
  return readOutside(db, scope).map((row) => ({
    region: row.region,
    v3CompanyId: String(row.v3CompanyId),
    v4CompanyId: row.v4CompanyId?.toString() ?? null,
    model: row.model,
    records: Number(row.records),
    children: Number(row.children),
    earliest: isoTime(row.earliestMs),
    latest: isoTime(row.latestMs),
  }));
}

const WHY_STALE: Readonly<Record<StaleReason, string>> = {
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

/** What the last remap made of the decisions; null if there are none and none are configured. */
function summarizeDecisions(config: Config, rows: readonly DecisionRow[]): Report['decisions'] {
  if (config.decisions === null && rows.length === 0) return null;
  const countOfOutcome = (wanted: string) => rows.filter(({ outcome }) => outcome === wanted).length;
  return {
    file: config.decisions === null ? 'decisions' : basename(config.decisions),
    taken: countOfOutcome('taken'),
    notNeeded: countOfOutcome('not_needed'),
    stale: countOfOutcome('stale'),
    idle: rows
      .flatMap((row) => (row.outcome === 'taken' ? [] : [toIdle(row, row.outcome)]))
      .slice(0, MAX_IDLE_DECISIONS),
  };
}

type IdleDecision = NonNullable<Report['decisions']>['idle'][number];

function toIdle(row: DecisionRow, outcome: IdleDecision['outcome']): IdleDecision {
  const why = row.why === null ? '' : `: ${WHY_STALE[row.why]}`;
  return {
    line: row.line,
    model: row.model,
    path: row.path,
    region: row.region,
    v3_company_id: String(row.v3CompanyId),
    v3_svc_id: row.v3SvcId?.toString() ?? null,
    v4_svc_id: row.v4SvcId?.toString() ?? null,
    note: row.note,
    until: row.until,
    outcome,
    why: row.why,
    text: outcome === 'not_needed' ? 'not needed: the data prove it' : `not taken${why}`,
  };
}

function buildTimeline(
  db: Db,
  config: Config,
  scope: Scope,
  { windowRows, newestMs }: { readonly windowRows: readonly WindowRow[]; readonly newestMs: number },
): Report['timeline'] {
  const { sinceMs } = config.backfill;
  const starts = windowRows.flatMap((row) => (row.sinceMs === null ? [] : [Number(row.sinceMs)]));
  const startOf = (pick: (...starts: number[]) => number) =>
    starts.length === 0 ? null : isoTime(starts.reduce((a, b) => pick(a, b)));
  return {
    window: {
      since: isoTime(sinceMs),
      source: sinceMs === null ? 'inferred_per_company' : 'configured',
      earliest: startOf(Math.min),
      latest: startOf(Math.max),
    },
    ...buildMonths(readDays(db, scope), newestMs),
  };
}

/** @throws SvcError `internal` if the counts of the remap do not add up */
function describeRemap(
  run: RemapRun | null,
  changes: readonly string[],
  { totals, v3Rows }: CountedRows,
): Pick<Report['evidence'], 'remap' | 'conservation'> {
  if (run === null) {
    const none = { v3Exported: 0, v3Rows: 0, v4Exported: 0, v4Seen: 0, holds: null };
    return { remap: null, conservation: none };
  }
  const { v3Exported, v3Rows: inRows, v4Exported, v4Seen } = run.conservation;
  const counted = [...v3Rows.values()].reduce((sum, rows) => sum + rows, 0);
  const exported = totals.v3Records + totals.v3Children;
  if (v3Exported !== inRows || v4Exported !== v4Seen || counted !== exported) {
    throw new SvcError('internal', 'The rows of the remap do not add up to what was exported.', {
      facts: { v3Exported, v3Rows: inRows, v4Exported, v4Seen, exported, counted },
    });
  }
  const remap = {
    sha256: run.sha256,
    builtAt: run.builtAt,
    rows: sumStatuses(totals.byStatus),
    stale: changes.length > 0,
    changed: [...changes],
  };
  const conservation = {
    v3Exported: Number(v3Exported),
    v3Rows: Number(inRows),
    v4Exported: Number(v4Exported),
    v4Seen: Number(v4Seen),
    holds: true,
  };
  return { remap, conservation };
}
