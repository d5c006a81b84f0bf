import { basename } from 'node:path';
import type { Config } from '../config/config.js';
import type { StaleReason } from '../domain.js';
import { SvcError } from '../errors.js';
import { EXIT_BY_OUTCOME } from '../limits.js';
import { readFirstFindings, toFinding } from '../store/findings.js';
import { readStaleness } from '../store/readiness.js';
import { type RemapRun, readRemapRun, type Scope } from '../store/remap.js';
import {
  type AmbiguousCompany,
  type IdleDecision,
  readAmbiguousCompanies,
  readIdleDecisions,
  readLists,
  readMonths,
  readOutside,
  readWindows,
  readWorstCompanies,
} from '../store/report-rows.js';
import type { Db } from '../store/sqlite.js';
import { sumOf } from '../text/rows.js';
import { listCannotSee } from './cannot-see.js';
import { addUp, countReasons, listObstacles, sumStatuses } from './counts.js';
import { allModels, type JudgedRemap, judgeDatabase } from './judge-database.js';
import { nextStep } from './next-steps.js';
import type { Report } from './report-schema.js';
import { buildTimeline } from './timeline.js';

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
  const scope = allModels(config, given);
  const judgement = judgeDatabase(db, config, given, nowMs);
  const { outcome, blockers, gate, outcomes, exported, rows, lists, times, ageMs } = judgement;
  const totals = addUp(outcomes, exported);
  const windows = listWindows(db, scope);
  const companies = readWorstCompanies(db, scope);
  const ambiguous = readAmbiguousCompanies(db, scope);
  const streams = readLists(db, scope);
  const outside = readOutside(db, scope);
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
      settings: listNarrowing(config),
    },
    blockers,
    gate,
    totals,
    models: countModels(config, scope, judgement),
    companies: companies.rows.map(({ outcomes: ofCompany, exported: itsExports, ...company }) => ({
      ...company,
      ...addUp(ofCompany, itsExports),
    })),
    ambiguousCompanies: ambiguous.rows.map(toAmbiguous),
    reasons: countReasons(rows),
    windows,
    lists: [...lists],
    completeness: [...streams.rows],
    fullSync: [...outside.rows],
    omitted: {
      companies: companies.total - companies.rows.length,
      ambiguousCompanies: ambiguous.total - ambiguous.rows.length,
      completeness: streams.total - streams.rows.length,
      fullSync: outside.total - outside.rows.length,
    },
    findings: {
      total: sumStatuses(totals.byStatus) - totals.byStatus.matched,
      samples: readFirstFindings(db, scope, MAX_SAMPLES, false).map(toFinding),
      fullList: FULL_LIST,
    },
    decisions: summarizeDecisions(db, config, scope, judgement),
    cannotSee: listCannotSee(config, given, judgement),
    timeline: buildTimeline(readMonths(db, scope), times.newest ?? new Date(nowMs).toISOString()),
    evidence: {
      database: basename(config.database),
      oldestReadAt: times.oldest,
      newestReadAt: times.newest,
      ageHours: ageMs === null ? null : Math.max(0, Math.floor(ageMs / HOUR_MS)),
      ...describeRemap(readRemapRun(db), readStaleness(db, config), judgement, totals),
    },
  };
}

/** The settings that leave companies out. */
function listNarrowing({ companies, v3, v4 }: Config): Report['scope']['settings'] {
  const settings = [
    { name: 'companies.include', ids: companies.include },
    { name: 'companies.exclude', ids: companies.exclude },
    { name: 'v3.companies', ids: v3.companies },
    { name: 'v4.companies', ids: v4.companies },
  ];
  return settings
    .filter(({ ids }) => ids.length > 0)
    .map(({ name, ids }) => ({ name, companies: ids.map(String) }));
}

function countModels(
  { models }: Config,
  scope: Scope,
  { outcomes, exported }: JudgedRemap,
): Report['models'] {
  return (scope.models ?? []).map((model) => ({
    model,
    v4Model: models.find(({ v3 }) => v3 === model)?.v4 ?? null,
    ...addUp(
      outcomes.filter((row) => row.model === model),
      exported.filter((row) => row.model === model),
    ),
  }));
}

export function listWindows(db: Db, scope: Scope): Report['windows'] {
  return readWindows(db, scope).map(({ inferred, unknown, v4CompanyId, ...window }) => ({
    ...window,
    companies: { inferred, unknown },
    v4CompanyId: window.source === 'inferred' ? v4CompanyId : null,
  }));
}

type AmbiguousCompanies = Report['ambiguousCompanies'];

function toAmbiguous({ region, v3CompanyId, note }: AmbiguousCompany): AmbiguousCompanies[number] {
  return { region, v3CompanyId, candidates: candidatesIn(note) };
}

/** The candidates in a company's note, likeliest first. */
export function candidatesIn(note: string): AmbiguousCompanies[number]['candidates'] {
  const parsed: unknown = JSON.parse(note);
  if (!Array.isArray(parsed)) return [];
  return parsed.map((candidate: unknown) => {
    const numbers = new Map<string, unknown>(Object.entries(Object(candidate)));
    return {
      v4CompanyId: String(numbers.get('v4_company_id')),
      comparableKeys: Number(numbers.get('comparable_keys')),
      agreeingKeys: Number(numbers.get('agreeing_keys')),
    };
  });
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
function summarizeDecisions(
  db: Db,
  config: Config,
  scope: Scope,
  { decisions }: JudgedRemap,
): Report['decisions'] {
  if (config.decisions === null && decisions.length === 0) return null;
  const count = (wanted: string) =>
    sumOf(
      decisions.filter(({ outcome }) => outcome === wanted),
      (row) => row.decisions,
    );
  return {
    file: config.decisions === null ? 'decisions' : basename(config.decisions),
    taken: count('taken'),
    notNeeded: count('not_needed'),
    stale: count('stale'),
    idle: readIdleDecisions(db, scope).rows.map((row) => ({ ...row, text: describeIdle(row) })),
  };
}

function describeIdle({ outcome, why }: IdleDecision): string {
  if (outcome === 'not_needed') return 'not needed: the data prove it';
  return why === null ? 'not taken' : `not taken: ${WHY_STALE[why]}`;
}

/** @throws SvcError `internal` if the counts of the remap do not add up */
function describeRemap(
  run: RemapRun | null,
  changed: string[],
  { outcomes }: JudgedRemap,
  totals: Report['totals'],
): Pick<Report['evidence'], 'remap' | 'conservation'> {
  if (run === null) return { remap: null, conservation: null };
  const { v3Exported, v3Rows, v4Exported, v4Seen } = run.conservation;
  const counted = sumOf(outcomes, (row) => row.v3Rows);
  const exported = totals.v3Records + totals.v3Children;
  if (v3Exported !== v3Rows || v4Exported !== v4Seen || counted !== exported) {
    throw new SvcError('internal', 'The rows of the remap do not add up to what was exported.', {
      facts: { v3Exported, v3Rows, v4Exported, v4Seen, exported, counted },
    });
  }
  const remap = {
    sha256: run.sha256,
    builtAt: run.builtAt,
    rows: sumStatuses(totals.byStatus),
    stale: changed.length > 0,
    changed,
  };
  const conservation = {
    v3Exported: Number(v3Exported),
    v3Rows: Number(v3Rows),
    v4Exported: Number(v4Exported),
    v4Seen: Number(v4Seen),
  };
  return { remap, conservation };
}
