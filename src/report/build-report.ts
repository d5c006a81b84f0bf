import { basename } from 'node:path';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { readRemapRuns, readStoredFingerprint } from '../store/evidence.js';
import { readDayCounts } from '../store/exported.js';
import type { Db } from '../store/open.js';
import { readSamples, type Scope } from '../store/remap.js';
import type { StreamRow } from '../store/stream-row.js';
import { listCannotSee } from './cannot-see.js';
import { toFinding } from './finding.js';
import { type CompanyTally, type Folded, foldCounts } from './fold.js';
import { listFullSync } from './full-sync.js';
import { decideOutcome, EXIT_BY_OUTCOME, judge } from './gate.js';
import { readReadiness } from './read-readiness.js';
import { findIncomplete, findNotReady, isStale, type Readiness } from './readiness.js';
import type { Blocker, Report, ReportStream } from './schema.js';
import { finishTally } from './tally.js';
import { buildMonths } from './timeline.js';
import { buildTrend } from './trend.js';

export interface ReportInputs {
  readonly config: Config;
  readonly scope: Scope;
  /** ms since 1970. */
  readonly nowMs: number;
  readonly toolVersion: string;
}

const SAMPLES_PER_KIND = 5;
const SAMPLES = 500;
const RUNS = 50;
const HOUR_MS = 3_600_000;

/**
 * The report on what the database holds. The same database gives the same report, but for `generatedAt`
 * and what the clock says about its age. Call it inside a transaction.
 *
 * @throws SvcError `internal` where the counts of a current remap do not add up
 */
export function buildReport(db: Db, inputs: ReportInputs): Report {
  const { config } = inputs;
  const scope = { ...inputs.scope, models: inputs.scope.models ?? config.models.map((model) => model.v3) };
  const facts = readReadiness(db, config, scope);
  const { streams } = facts;
  const folded = foldCounts(db, config, scope);
  const runs = readRemapRuns(db, RUNS);
  const age = readAge(streams, inputs.nowMs);
  const gate = judgeFolded(folded, streams, age.ms, inputs);
  const blockers = findBlockers(facts, folded);
  const outcome = decideOutcome(blockers, gate.pass);
  return {
    schemaVersion: 1,
    tool: { name: 'svc-migrate', version: inputs.toolVersion },
    generatedAt: new Date(inputs.nowMs).toISOString(),
    outcome,
    exitCode: EXIT_BY_OUTCOME[outcome],
    scope: {
      models: inputs.scope.models?.slice() ?? null,
      companies: scope.companies?.map(String) ?? null,
    },
    blockers,
    gate,
    ...countParts(folded, config),
    completeness: streams.map((stream) => toReportStream(stream, config)),
    fullSync: listFullSync(db, folded.outside),
    findings: listFindings(db, scope, folded),
    cannotSee: listCannotSee({
      config,
      scope: inputs.scope,
      streams,
      totals: finishTally(folded.totals),
      deleted: folded.deleted,
    }),
    timeline: buildTimeline(db, config, scope, age.newest),
    trend: buildTrend(runs),
    evidence: describeEvidence(db, inputs, facts, folded, age),
  };
}

interface Age {
  readonly oldest: string | null;
  readonly newest: string | null;
  /** Of the oldest, null where there is none or it is unreadable. */
  readonly ms: number | null;
}

function readAge(streams: readonly StreamRow[], nowMs: number): Age {
  const times = streams.map((stream) => stream.readAt ?? stream.startedAt);
  const sorted = [...times].sort((a, b) => Date.parse(a) - Date.parse(b));
  const oldest = sorted[0] ?? null;
  const unreadable = times.some((time) => Number.isNaN(Date.parse(time)));
  const ms = oldest === null || unreadable ? null : nowMs - Date.parse(oldest);
  return { oldest, newest: sorted.at(-1) ?? null, ms };
}

function judgeFolded(
  folded: Folded,
  streams: readonly StreamRow[],
  ageMs: number | null,
  inputs: ReportInputs,
) {
  const short = new Map<string, number>();
  for (const { state, model } of streams)
    if (state === 'short') short.set(model, (short.get(model) ?? 0) + 1);
  const perModel = (pick: 'rejected' | 'uniqueIdConflicts') =>
    new Map([...folded.models].map(([model, tally]) => [model, tally[pick]]));
  const counts = {
    rows: folded.rows,
    v3Rows: folded.v3Rows,
    rejected: perModel('rejected'),
    shortStreams: short,
    uniqueIdConflicts: perModel('uniqueIdConflicts'),
    drift: null,
    ageMs,
  };
  return judge(counts, limitsInScope(inputs.config.limits, inputs.scope), inputs.config.maxAgeMs);
}

function limitsInScope(limits: Config['limits'], scope: Scope): Config['limits'] {
  const models = Object.entries(limits.models).filter(([model]) => scope.models?.includes(model) ?? true);
  return { global: limits.global, models: Object.fromEntries(models) };
}

function findBlockers(facts: Readiness, { totals, pairs }: Folded): Blocker[] {
  const incomplete = findIncomplete(facts);
  if (incomplete.length > 0) return incomplete;
  return findNotReady({ v3: totals.v3Records, v4: totals.v4Records, pairs });
}

function countParts(folded: Folded, config: Config): Pick<Report, 'totals' | 'models' | 'companies'> {
  return {
    totals: finishTally(folded.totals),
    models: [...folded.models].map(([model, tally]) => ({
      model,
      v4Model: v4NameOf(config, model),
      ...finishTally(tally),
    })),
    companies: folded.companies.map(toReportCompany),
  };
}

function toReportCompany(company: CompanyTally): Report['companies'][number] {
  return {
    region: company.region,
    v3CompanyId: company.v3CompanyId?.toString() ?? null,
    v4CompanyId: company.v4CompanyId?.toString() ?? null,
    matchedBy: company.matchedBy,
    ...finishTally(company.tally),
  };
}

function toReportStream(stream: StreamRow, config: Config): ReportStream {
  return {
    generation: stream.generation,
    region: stream.region,
    model: stream.model,
    v4Model: v4NameOf(config, stream.model),
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
  };
}

function v4NameOf(config: Config, model: string): string | null {
  return config.models.find((pair) => pair.v3 === model)?.v4 ?? null;
}

function listFindings(db: Db, scope: Scope, { totals }: Folded): Report['findings'] {
  const { unmatched, deleted, ambiguous, v4_only: v4Only } = totals.byStatus;
  return {
    total: unmatched + deleted + ambiguous + v4Only,
    samples: readSamples(db, scope, SAMPLES_PER_KIND, SAMPLES).map(toFinding),
    fullList: '`svc-migrate report --ndjson findings.ndjson`, or the table remap of the database',
  };
}

function buildTimeline(db: Db, config: Config, scope: Scope, newest: string | null): Report['timeline'] {
  const newestMs = newest === null ? Number.NaN : Date.parse(newest);
  const { sinceMs } = config.backfill;
  const months = Number.isNaN(newestMs)
    ? { months: [], earlier: null, later: null, undated: 0 }
    : buildMonths(readDayCounts(db, scope), newestMs);
  return {
    window: {
      since: sinceMs === null ? null : new Date(sinceMs).toISOString(),
      source: sinceMs === null ? 'inferred_per_company' : 'configured',
    },
    ...months,
  };
}

function describeEvidence(
  db: Db,
  { config }: ReportInputs,
  { lastRun, exportSeq }: Readiness,
  folded: Folded,
  age: Age,
): Report['evidence'] {
  const stale = lastRun === undefined || isStale(lastRun, exportSeq);
  const conservation = weighConservation(folded);
  if (!stale && !conservation.holds) {
    const { v3Exported, v3Rows } = conservation;
    throw new SvcError(
      'internal',
      `The remap has ${v3Rows} rows for ${v3Exported} exported V3 records and children.`,
    );
  }
  const rows = Object.values(folded.totals.byStatus).reduce((sum, n) => sum + n, 0);
  return {
    database: basename(config.database),
    oldestReadAt: age.oldest,
    newestReadAt: age.newest,
    ageHours: age.ms === null ? null : Math.max(0, Math.floor(age.ms / HOUR_MS)),
    fingerprint: readStoredFingerprint(db),
    remap: lastRun === undefined ? null : { sha256: lastRun.sha256, builtAt: lastRun.built_at, rows, stale },
    conservation,
  };
}

function weighConservation({ totals, v3Rows }: Folded): Report['evidence']['conservation'] {
  const v3Exported = totals.v3Records + totals.v3Children;
  const rows = [...v3Rows.values()].reduce((sum, n) => sum + n, 0);
  return { v3Exported, v3Rows: rows, holds: v3Exported === rows };
}
