import { basename } from 'node:path';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { toFinding } from '../store/finding-rows.js';
import { readStoredFingerprint } from '../store/fingerprint.js';
import type { Db } from '../store/open.js';
import {
  findIncomplete,
  findNotReady,
  findOpenLists,
  isStale,
  type Readiness,
  readReadiness,
} from '../store/readiness.js';
import { TABLE_PARTS } from '../store/remap-blocks.js';
import { assertDigests } from '../store/remap-digest.js';
import { EVERYTHING, hasSharedKey, hasV4Records, type Scope } from '../store/remap-rows.js';
import { type DecisionCount, readAmbiguousCompanies, readDecisionCounts } from '../store/remap-tables.js';
import { iterateStreams, type StreamFilter } from '../store/scoped-streams.js';
import { type ListRow, readV4Companies } from '../store/streams.js';
import { countReasons } from '../text/reason-counts.js';
import { rowsOf } from '../text/rows.js';
import { type CountedRows, countRows } from './count-rows.js';
import { decideOutcome, type EvidenceAge, EXIT_BY_OUTCOME, type GateCounts, judge, readAge } from './gate.js';
import type { DriftSection, Report, ReportStream } from './report-schema.js';
import {
  buildMonths,
  type Dates,
  listCannotSee,
  MAX_NAMED,
  prepareFullSync,
  readDates,
  readDecisions,
  readDrift,
} from './sections.js';

export interface ReportInputs {
  readonly config: Config;
  readonly scope: Scope;
  /** ms since 1970. */
  readonly nowMs: number;
  readonly toolVersion: string;
}

const HOUR_MS = 3_600_000;

/**
 * Builds the report from the database. The same database gives the same report, except for `generatedAt` and ages. Call
 * it inside a transaction.
 *
 * @throws SvcError `internal` if the counts of a current remap do not add up
 */
export function buildReport(db: Db, inputs: ReportInputs): Report {
  const { config, scope, nowMs } = inputs;
  // All configured models, unless models were named.
  const counted: Scope = { ...scope, models: scope.models ?? config.models.map((model) => model.v3) };
  const facts = readReadiness(db, config, counted);
  const counts = countRows(db, config, counted);
  const dates = readDates(db, counted);
  const age = readAge(facts.groups, nowMs);
  const drift = readDrift(db, counted, counts.matchedRecords);
  const parts = { facts, counts, age, drift };
  const { totals } = counts;
  const decisionCounts = readDecisionCounts(db, scope, nowMs);
  const limitedModels = Object.entries(config.limits.models).filter(
    ([model]) => scope.models?.includes(model) ?? true,
  );
  const limits = { global: config.limits.global, models: Object.fromEntries(limitedModels) };
  const gate = judge(countForGate(parts, decisionCounts), limits, config.maxAgeMs);
  const blockers = findBlockers(db, config, counted, parts);
  const outcome = decideOutcome(blockers, gate.pass);
  const v4NameOf = (model: string) => config.models.find((pair) => pair.v3 === model)?.v4 ?? null;
  const firstLists = (filter: StreamFilter) => [
    ...iterateStreams(db, counted, { ...filter, limit: MAX_NAMED }),
  ];
  return {
    schemaVersion: 1,
    tool: { name: 'svc-migrate', version: inputs.toolVersion },
    generatedAt: new Date(nowMs).toISOString(),
    outcome,
    exitCode: EXIT_BY_OUTCOME[outcome],
    scope: { models: scope.models?.slice() ?? null, companies: scope.companies?.map(String) ?? null },
    blockers,
    gate,
    totals,
    models: [...counts.models].map(([model, own]) => ({ model, v4Model: v4NameOf(model), ...own })),
    companies: rowsOf(counts.companies, ({ counts: own, ...company }) => ({
      region: company.region,
      v3CompanyId: company.v3CompanyId?.toString() ?? null,
      v4CompanyId: company.v4CompanyId?.toString() ?? null,
      matchedBy: company.matchedBy,
      ...own,
    })),
    ambiguousCompanies: readAmbiguousCompanies(db, scope).map(({ candidates, ...one }) => ({
      ...one,
      candidates: [...candidates],
    })),
    reasons: countReasons(counts.rows),
    completeness: rowsOf(
      () => iterateStreams(db, counted),
      (stream) => toReportStream(stream, v4NameOf(stream.model)),
    ),
    fullSync: rowsOf(() => counts.outside, prepareFullSync(dates.ranges)),
    findings: {
      total: sumRows(totals) - totals.byStatus.matched,
      samples: counts.samples.map(toFinding),
      fullList: '`svc-migrate report --ndjson findings.ndjson`, or the table remap of the database',
    },
    drift,
    decisions: readDecisions(db, config, scope, decisionCounts, nowMs),
    cannotSee: listCannotSee({
      ...{ config, scope, groups: facts.groups, drift, totals, deleted: counts.deleted },
      short: firstLists({ states: ['short'] }),
      absentInV3: firstLists({ generation: 'v3', states: ['absent'] }),
    }),
    timeline: buildTimeline(config, dates, age.newest),
    evidence: describeEvidence(db, config, parts),
  };
}

/** What `check` says of everything in the database. Call it inside a transaction; throws as `buildReport` and `assertDigests` do. */
export function readOutcome(db: Db, inputs: Pick<ReportInputs, 'config' | 'nowMs'>): Report['outcome'] {
  assertDigests(db, TABLE_PARTS);
  return buildReport(db, { ...inputs, scope: EVERYTHING, toolVersion: '' }).outcome;
}

interface Parts {
  readonly facts: Readiness;
  readonly counts: CountedRows;
  readonly age: EvidenceAge;
  readonly drift: DriftSection;
}

/** What limits are compared with. */
function countForGate({ facts, counts, age, drift }: Parts, decisions: readonly DecisionCount[]): GateCounts {
  const perModel = (pick: 'rejected' | 'uniqueIdConflicts') =>
    new Map([...counts.models].map(([model, own]) => [model, own[pick]]));
  const shortStreams = new Map<string, number>();
  for (const { state, model, lists } of facts.groups) {
    if (state === 'short') shortStreams.set(model, (shortStreams.get(model) ?? 0) + lists);
  }
  const stale = decisions.filter(({ outcome }) => outcome === 'stale');
  return {
    rows: counts.rows,
    v3Rows: counts.v3Rows,
    staleDecisions: new Map(stale.map(({ model, n }) => [model, Number(n)])),
    rejected: perModel('rejected'),
    shortStreams,
    uniqueIdConflicts: perModel('uniqueIdConflicts'),
    drift: drift.measured ? new Map(drift.models.map(({ model, differing }) => [model, differing])) : null,
    ageMs: age.ms,
  };
}

function sumRows({ byStatus }: Report['totals']): number {
  return Object.values(byStatus).reduce((sum, n) => sum + n, 0);
}

/** The rows are verified here, because no other part of a report reads all of them. */
function readsSharedKey(db: Db, scope: Scope): boolean {
  assertDigests(db, ['rows']);
  return hasSharedKey(db, scope);
}

/**
 * A scope of V3 companies contains no V4 records of unpaired companies, so V4 is checked as a whole: any list that was not
 * read may hold theirs.
 */
function findBlockers(db: Db, config: Config, scope: Scope, { facts, counts }: Parts): Report['blockers'] {
  const incomplete = findIncomplete(facts);
  if (incomplete.length > 0) return incomplete;
  const { v3Records, v4Records } = counts.totals;
  const notReady = findNotReady(
    {
      v3Records,
      hasV4Company: readV4Companies(db).length > 0,
      hasV4Records: v4Records > 0 || hasV4Records(db, scope.models),
      hasSharedKey: counts.pairs > 0 || readsSharedKey(db, scope),
    },
    facts.groups,
  );
  if (notReady.length === 0 || v3Records === 0 || scope.companies === null) return notReady;
  const open = findOpenLists(readReadiness(db, config, { ...scope, companies: null }));
  return open.length > 0 ? open : notReady;
}

function toReportStream(stream: ListRow, v4Model: string | null): ReportStream {
  return {
    generation: stream.generation,
    region: stream.region,
    model: stream.model,
    v4Model,
    companyId: stream.companyId?.toString() ?? null,
    state: stream.state,
    endReason: stream.endReason,
    pages: stream.pages,
    records: stream.records,
    uniqueRecords: stream.uniqueRecords,
    duplicates: stream.duplicates,
    rejected: stream.rejected,
    totalCountFirst: stream.totalCountFirst,
    totalCountLast: stream.totalCountLast,
    startedAt: stream.startedAt,
    finishedAt: stream.finishedAt,
    readBy: stream.readBy,
  };
}

function buildTimeline(config: Config, { days }: Dates, newest: string | null): Report['timeline'] {
  const newestMs = newest === null ? Number.NaN : Date.parse(newest);
  const { sinceMs } = config.backfill;
  return {
    window: {
      since: sinceMs === null ? null : new Date(sinceMs).toISOString(),
      source: sinceMs === null ? 'inferred_per_company' : 'configured',
    },
    ...(Number.isNaN(newestMs) ? buildMonths([], 0) : buildMonths(days, newestMs)),
  };
}

/**
 * Describes the data that the report is based on.
 *
 * @throws SvcError `internal` if the counts of a current remap do not add up
 */
function describeEvidence(db: Db, config: Config, { facts, counts, age }: Parts): Report['evidence'] {
  const { lastRun, exportSeq, changedInputs } = facts;
  const { totals } = counts;
  const isOutdated = lastRun === undefined || isStale(lastRun, exportSeq);
  const v3Exported = totals.v3Records + totals.v3Children;
  const v3Rows = [...counts.v3Rows.values()].reduce((sum, n) => sum + n, 0);
  if (!isOutdated && v3Exported !== v3Rows) {
    throw new SvcError(
      'internal',
      `The remap has ${v3Rows} rows for ${v3Exported} exported V3 records and children.`,
    );
  }
  const rows = sumRows(totals);
  const stale = isOutdated || changedInputs.length > 0;
  return {
    database: basename(config.database),
    oldestReadAt: age.oldest,
    newestReadAt: age.newest,
    ageHours: age.ms === null ? null : Math.max(0, Math.floor(age.ms / HOUR_MS)),
    fingerprint: readStoredFingerprint(db),
    remap: lastRun === undefined ? null : { sha256: lastRun.sha256, builtAt: lastRun.built_at, rows, stale },
    conservation: { v3Exported, v3Rows, holds: isOutdated ? null : true },
  };
}
