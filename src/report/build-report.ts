import type { Config } from '../config/config.js';
import type { Blocker } from '../domain.js';
import type { Pause } from '../runtime/pause.js';
import { readRemapRuns } from '../store/evidence.js';
import { toFinding } from '../store/finding.js';
import type { Db } from '../store/open.js';
import { readReadiness } from '../store/read-readiness.js';
import { findIncomplete, findNotReady, isStale, type Readiness } from '../store/readiness.js';
import { hasSharedKey, hasV4Records, type Scope } from '../store/remap.js';
import type { StreamRow } from '../store/stream-row.js';
import { type Accepted, applyBaseline, withoutAccepted } from './apply-baseline.js';
import type { Baseline } from './baseline.js';
import { listCannotSee } from './cannot-see.js';
import { type Dates, readDates } from './dates.js';
import { type Age, describeEvidence, readAge } from './describe-evidence.js';
import { readDrift } from './drift-section.js';
import { type CompanyTally, type Folded, foldCounts } from './fold.js';
import { listFullSync } from './full-sync.js';
import { decideOutcome, EXIT_BY_OUTCOME } from './gate.js';
import { judgeFolded } from './judge-folded.js';
import { countStaleDecisions, readDecisions } from './read-decisions.js';
import type { Report, ReportStream } from './schema.js';
import type { DriftSection } from './section-schemas.js';
import { readSince, type Since } from './since.js';
import { finishTally } from './tally.js';
import { buildMonths } from './timeline.js';
import { buildTrend } from './trend.js';

export interface ReportInputs {
  readonly config: Config;
  readonly scope: Scope;
  /** ms since 1970. */
  readonly nowMs: number;
  readonly toolVersion: string;
  readonly pause: Pause;
  /** Findings that no limit judges. */
  readonly baseline?: Baseline | undefined;
  /** An earlier build to compare with. */
  readonly since?: Since | undefined;
}

const RUNS = 50;

/** Everything the report is made of. */
interface Parts {
  readonly facts: Readiness;
  readonly folded: Folded;
  readonly dates: Dates;
  readonly age: Age;
  readonly drift: DriftSection;
  readonly accepted: Accepted | null;
}

/**
 * The report on what the database holds. The same database gives the same report, but for `generatedAt`
 * and what the clock says about its age. Call it inside a transaction.
 *
 * @throws SvcError `internal` where the counts of a current remap do not add up; what `pause` throws
 */
export async function buildReport(db: Db, inputs: ReportInputs): Promise<Report> {
  const { config, pause } = inputs;
  const scope = { ...inputs.scope, models: inputs.scope.models ?? config.models.map((model) => model.v3) };
  const facts = readReadiness(db, config, scope);
  const folded = await foldCounts(db, config, scope, pause);
  const current = facts.lastRun !== undefined && !isStale(facts.lastRun, facts.exportSeq);
  const dates = current ? await readDates(db, scope, pause) : { days: [], ranges: new Map() };
  const age = readAge(facts.streams, inputs.nowMs);
  const drift = readDrift(db, scope, folded.matchedRecords);
  const { baseline } = inputs;
  const accepted = baseline === undefined ? null : applyBaseline(db, baseline, inputs.scope, inputs.nowMs);
  return assemble(db, inputs, { facts, folded, dates, age, drift, accepted });
}

function assemble(db: Db, inputs: ReportInputs, parts: Parts): Report {
  const { facts, folded, dates, age, drift, accepted } = parts;
  const { config, scope } = inputs;
  const { streams } = facts;
  const rows = withoutAccepted(folded.rows, accepted?.rows ?? []);
  const staleDecisions = countStaleDecisions(db, scope);
  const gate = judgeFolded(
    { ...folded, rows },
    { streams, ageMs: age.ms, drift, staleDecisions },
    config,
    scope,
  );
  const blockers = findBlockers(db, scope, facts, folded);
  const outcome = decideOutcome(blockers, gate.pass);
  const counts = countParts(folded, config);
  return {
    schemaVersion: 1,
    tool: { name: 'svc-migrate', version: inputs.toolVersion },
    generatedAt: new Date(inputs.nowMs).toISOString(),
    outcome,
    exitCode: EXIT_BY_OUTCOME[outcome],
    scope: { models: scope.models?.slice() ?? null, companies: scope.companies?.map(String) ?? null },
    blockers,
    gate,
    ...counts,
    completeness: streams.map((stream) => toReportStream(stream, config)),
    fullSync: listFullSync(folded.outside, dates.ranges, streams),
    findings: listFindings(folded),
    drift,
    decisions: readDecisions(db, config, scope),
    baseline: accepted?.section ?? null,
    cannotSee: listCannotSee({
      config,
      scope,
      streams,
      drift,
      totals: counts.totals,
      deleted: folded.deleted,
    }),
    timeline: buildTimeline(config, dates, age.newest),
    trend: buildTrend(readRemapRuns(db, RUNS)),
    since: inputs.since === undefined ? null : readSince(db, inputs.since),
    evidence: describeEvidence(db, config, facts, folded, age),
  };
}

/** Companies that are not paired have no V4 records in the scope of a company: V4 is looked at as a whole. */
function findBlockers(db: Db, scope: Scope, facts: Readiness, { totals, pairs }: Folded): Blocker[] {
  const incomplete = findIncomplete(facts);
  if (incomplete.length > 0) return incomplete;
  const { v3Records, v4Records } = totals;
  return findNotReady({
    v3Records,
    hasV4Records: v4Records > 0 || hasV4Records(db, scope.models),
    hasSharedKey: pairs > 0 || hasSharedKey(db, scope),
  });
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

function listFindings({ totals, samples }: Folded): Report['findings'] {
  const { unmatched, deleted, ambiguous, v4_only: v4Only } = totals.byStatus;
  return {
    total: unmatched + deleted + ambiguous + v4Only,
    samples: samples.map(toFinding),
    fullList: '`svc-migrate report --ndjson findings.ndjson`, or the table remap of the database',
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
    ...buildMonths(Number.isNaN(newestMs) ? [] : days, Number.isNaN(newestMs) ? 0 : newestMs),
  };
}
