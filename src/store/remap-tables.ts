import type { AmbiguousCompany, CompanyMatch, Decision, StaleReason } from '../domain.js';
import * as z from '../zod.js';
import { damaged, isIntact } from './checksum.js';
import { type RemapRow, type Scope, scopeParams, v3Scope } from './remap-rows.js';
import type { Db } from './sqlite.js';

/** How a company was paired. */
export interface CompanyRow {
  readonly region: string | null;
  readonly v3_company_id: bigint | null;
  readonly v4_company_id: bigint | null;
  readonly matched_by: CompanyMatch;
  readonly shared_keys: bigint;
  readonly agreeing_keys: bigint;
  readonly v3_keys: bigint;
  readonly v4_keys: bigint;
  /** The best candidates as JSON. */
  readonly note: string;
}

/** The company pairs of the last remap: V3 companies first, then V4 companies without a pair. */
export function readCompanyRows(db: Db): CompanyRow[] {
  return [...iterateCompanyRows(db)];
}

/** Like `readCompanyRows`, row by row. Nothing may be written until the last one is read. */
export function iterateCompanyRows(db: Db): IterableIterator<CompanyRow> {
  return db
    .prepare<[], CompanyRow>(
      'SELECT * FROM company ORDER BY v3_company_id IS NULL, region, v3_company_id, v4_company_id',
    )
    .iterate();
}

/** The V3 companies in a scope that could not be paired beyond doubt. */
export function listUnpaired(db: Db, { companies }: Scope): CompanyRow[] {
  const found: CompanyRow[] = [];
  for (const row of iterateCompanyRows(db)) {
    const { matched_by, v3_company_id: id } = row;
    if (matched_by === 'ambiguous' && id !== null && (companies?.includes(id) ?? true)) found.push(row);
  }
  return found;
}

const noteSchema = z
  .array(z.object({ v4_company_id: z.string(), comparable_keys: z.number(), agreeing_keys: z.number() }))
  .catch([]);

/** The companies of `listUnpaired` with their candidates. */
export function readAmbiguousCompanies(db: Db, scope: Scope): readonly AmbiguousCompany[] {
  return listUnpaired(db, scope).map(({ region, v3_company_id, note }) => ({
    region: region ?? '',
    v3CompanyId: String(v3_company_id),
    candidates: readCandidates(note),
  }));
}

/** The V4 companies in the note of a company, with what its keys say of them. */
export function readCandidates(note: string): AmbiguousCompany['candidates'] {
  return noteSchema.parse(JSON.parse(note)).map((one) => ({
    v4CompanyId: one.v4_company_id,
    comparableKeys: one.comparable_keys,
    agreeingKeys: one.agreeing_keys,
  }));
}

/** One build of the remap. */
export interface RemapRun {
  readonly id: bigint;
  readonly built_at: string;
  readonly sha256: string;
  readonly export_seq: bigint;
  /** JSON: the digest of each part of the remap. */
  readonly digests: string;
}

interface StoredRun extends RemapRun {
  readonly intact: bigint;
}

const RUN = `SELECT id, built_at, sha256, export_seq, digests, ${isIntact('remap_run')} AS intact FROM remap_run`;

/** The latest build; undefined if there is none. */
export function readLastRun(db: Db): RemapRun | undefined {
  const found = db.prepare<[], StoredRun>(`${RUN} ORDER BY id DESC LIMIT 1`).get();
  if (found === undefined) return undefined;
  const { intact, ...run } = found;
  if (intact !== 1n) throw damaged(`The record of build ${run.id} of the remap`);
  return run;
}

/** The result of the last remap for a line of `decisions.csv`. */
export interface DecisionResult extends Decision {
  readonly outcome: DecisionOutcome;
  /** Set if the decision is stale. */
  readonly why: StaleReason | null;
}

export type DecisionOutcome = 'taken' | 'not_needed' | 'stale';

/** Replaces the results of the previous remap; part of the remap's transaction. */
export function saveDecisionResults(db: Db, results: readonly DecisionResult[]): void {
  db.exec('DELETE FROM decision');
  const insert = db.prepare(`
    INSERT INTO decision(line, model, path, region, v3_company_id, v3_svc_id, v4_svc_id, note, until, outcome, why)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const { line, model, path, region, v3CompanyId, v3SvcId, v4SvcId, ...rest } of results) {
    const { note, until, outcome, why } = rest;
    insert.run(BigInt(line), model, path, region, v3CompanyId, v3SvcId, v4SvcId, note, until, outcome, why);
  }
}

/** The number of decisions of a model with an outcome. */
export interface DecisionCount {
  readonly model: string;
  readonly outcome: DecisionOutcome;
  readonly n: bigint;
}

/** The results as they stand on the day `@today`: a decision that has expired since the remap is stale. */
const DECISION = `(
  SELECT line, model, path, region, v3_company_id, v3_svc_id, v4_svc_id, note, until,
    iif(until <= @today, 'stale', outcome) AS outcome, iif(until <= @today, 'expired', why) AS why FROM decision)`;

function dayOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10);
}

/** @param nowMs ms since 1970 */
export function readDecisionCounts(db: Db, scope: Scope, nowMs: number): DecisionCount[] {
  const sql = `SELECT model, outcome, count(*) AS n FROM ${DECISION} AS r WHERE ${v3Scope(scope)}
    GROUP BY model, outcome ORDER BY model, outcome`;
  return db.prepare<[object], DecisionCount>(sql).all({ ...scopeParams(db, scope), today: dayOf(nowMs) });
}

/** Decisions that changed nothing, in the order of the file, stale ones first. */
export function readIdleDecisions(db: Db, scope: Scope, nowMs: number, limit: number): DecisionResult[] {
  return db
    .prepare<[object], Omit<DecisionResult, 'line'> & { readonly line: bigint }>(
      `SELECT line, model, path, region, v3_company_id AS v3CompanyId, v3_svc_id AS v3SvcId, v4_svc_id AS v4SvcId,
         note, until, outcome, why
       FROM ${DECISION} AS r WHERE outcome <> 'taken' AND ${v3Scope(scope)} ORDER BY outcome = 'not_needed', line LIMIT @limit`,
    )
    .all({ ...scopeParams(db, scope), today: dayOf(nowMs), limit: BigInt(limit) })
    .map((row) => ({ ...row, line: Number(row.line) }));
}

/** Matched pairs of one model, and how many of them were compared and differ. */
export interface DriftCount {
  readonly model: string;
  readonly pairs: bigint;
  readonly compared: bigint;
  readonly differing: bigint;
  /** The V3 id of a pair that differs. */
  readonly sample: bigint | null;
}

/** The counts of the last remap's comparison, by model. */
export function readDriftCounts(db: Db, scope: Scope): DriftCount[] {
  const where = v3Scope(scope);
  const sql = `WITH found AS (SELECT r.model, count(*) AS n, min(r.v3_svc_id) AS sample FROM drift AS r WHERE ${where} GROUP BY r.model)
    SELECT r.model, sum(r.pairs) AS pairs, sum(r.compared) AS compared, ifnull(max(found.n), 0) AS differing, max(found.sample) AS sample
    FROM drift_scope AS r LEFT JOIN found ON found.model = r.model
    WHERE ${where} GROUP BY r.model ORDER BY r.model`;
  return db.prepare<[object], DriftCount>(sql).all(scopeParams(db, scope));
}

/** Every differing pair as a row of the remap, with the differing fields as evidence. */
export function readDriftFindings(db: Db, scope: Scope): IterableIterator<RemapRow> {
  const sql = `SELECT r.model, '' AS path, r.region, r.v3_company_id, r.v4_company_id, nullif(r.platform_id, '') AS platform_id,
      NULL AS parent_platform_id, r.v3_svc_id, r.v4_svc_id, 'matched' AS status, NULL AS reason,
      (SELECT matched_by FROM remap_entry AS entry
       WHERE entry.model = r.model AND entry.v3_svc_id = r.v3_svc_id AND entry.path = '' AND entry.region = r.region
         AND entry.v3_company_id = r.v3_company_id) AS matched_by,
      '{"drift":' || r.fields || '}' AS evidence
    FROM drift AS r WHERE ${v3Scope(scope)} ORDER BY r.rowid`;
  return db.prepare<[object], RemapRow>(sql).iterate(scopeParams(db, scope));
}
