import { DECIDABLE_REASONS, type Status } from '../reasons.js';
import { assertDigests } from './remap-digest.js';
import { iterateRows, type RemapRow, remapScope, type Scope, type ScopeSql } from './remap-rows.js';
import { RECORD_KEY } from './schema.js';
import type { Db } from './sqlite.js';

/** Filters of findings; null or left out: no filter. */
export interface FindingFilter extends Scope {
  readonly statuses?: readonly Status[] | null;
  /** As in the remap, with the prefix `parent_`. */
  readonly reasons?: readonly string[] | null;
  /** Leave out line items that are findings only because their records are. */
  readonly foldsLineItems?: boolean;
}

/** The number of rows with the same outcome: of records, or of line items. */
export interface OutcomeCount {
  readonly status: Status;
  readonly reason: string | null;
  readonly isChild: bigint;
  /** Rows with a V3 id, and all. */
  readonly v3: bigint;
  readonly n: bigint;
}

/** The rows that are not matched, in the remap's order; `limit` -1: all. */
export function readFindings(db: Db, filter: FindingFilter, limit = -1): IterableIterator<RemapRow> {
  return iterateRows(db, whereOf(db, filter), limit);
}

/**
 * The rows of the remap by outcome; of the findings alone with a filter.
 *
 * @throws SvcError `corrupt_database`
 */
export function countOutcomes(db: Db, filter: FindingFilter | null): OutcomeCount[] {
  assertDigests(db, ['remap_group']);
  const where = filter === null ? { sql: 'true', params: {} } : whereOf(db, filter);
  return db
    .prepare<[object], OutcomeCount>(
      `SELECT status, reason, path <> '' AS isChild, sum(iif(v3_company_id IS NULL, 0, count)) AS v3, sum(count) AS n
       FROM remap_group AS r WHERE ${where.sql} GROUP BY status, reason, isChild`,
    )
    .all(where.params);
}

function whereOf(
  db: Db,
  { statuses = null, reasons = null, foldsLineItems = false, ...scope }: FindingFilter,
): ScopeSql {
  const where = remapScope(db, scope);
  const parts = ["r.status <> 'matched'", where.sql];
  if (statuses !== null) parts.push('r.status IN (SELECT value FROM json_each(@statuses))');
  if (reasons !== null) parts.push('r.reason IN (SELECT value FROM json_each(@reasons))');
  if (foldsLineItems) parts.push("r.reason NOT LIKE 'parent\\_%' ESCAPE '\\'");
  const params = { statuses: JSON.stringify(statuses ?? []), reasons: JSON.stringify(reasons ?? []) };
  return { sql: parts.join(' AND '), params: { ...where.params, ...params } };
}

/** Findings that a person can decide: V3 ids that are ambiguous or whose key seems to have changed. */
export function* listUndecided(db: Db, filter: FindingFilter): Generator<RemapRow> {
  for (const row of readFindings(db, filter)) {
    if (row.v3_svc_id !== null && DECIDABLE_REASONS.some((reason) => reason === row.reason)) yield row;
  }
}

/** Makes the function that returns whether the V3 record of a row is deleted; always false for a child. */
export function prepareIsDeleted(db: Db): (row: RemapRow) => boolean {
  const sql = `SELECT deleted FROM stream JOIN record INDEXED BY ${RECORD_KEY} ON record.stream_id = stream.id
    WHERE generation = 'v3' AND region = ? AND model = ? AND record.company_id = ? AND svc_id = ?`;
  const find = db.prepare<[string | null, string, bigint | null, bigint | null], bigint>(sql).pluck();
  return ({ region, model, path, v3_company_id, v3_svc_id }) =>
    path === '' && find.get(region, model, v3_company_id, v3_svc_id) === 1n;
}

/** The parts of a stored V4 record by which a person can tell it from others. */
export interface StoredCandidate {
  readonly svcId: bigint;
  readonly platformId: string | null;
  readonly uniqueId: string | null;
  readonly deleted: bigint;
  /** ms since 1970. */
  readonly latestMs: bigint | null;
}

/** Makes the function that reads a V4 record by its id, in the model and V4 company of a row. */
export function prepareFindV4(db: Db): (row: RemapRow, v4SvcId: bigint) => StoredCandidate | undefined {
  const find = db.prepare<[string, bigint | null, bigint], StoredCandidate>(
    `SELECT svc_id AS svcId, platform_id AS platformId, unique_id AS uniqueId, deleted, latest_ms AS latestMs
     FROM stream JOIN record INDEXED BY ${RECORD_KEY} ON record.stream_id = stream.id
     WHERE generation = 'v4' AND model = ? AND stream.company_id = ? AND svc_id = ?`,
  );
  return ({ model, v4_company_id }, v4SvcId) => find.get(model, v4_company_id, v4SvcId);
}

type Json<T> = T extends bigint ? string : T;

/** A remap row in JSON. */
export type ReportFinding = { readonly [K in keyof Omit<RemapRow, 'evidence'>]: Json<RemapRow[K]> } & {
  readonly evidence: unknown;
};

/** Converts a remap row to JSON: ids become strings, the evidence is parsed. */
export function toFinding(row: RemapRow): ReportFinding {
  return { ...toFindingHead(row), evidence: parseEvidence(row.evidence) };
}

/** Like `toFinding`, without the evidence. */
export function toFindingHead(row: RemapRow): Omit<ReportFinding, 'evidence'> {
  return {
    model: row.model,
    path: row.path,
    region: row.region,
    v3_company_id: row.v3_company_id?.toString() ?? null,
    v4_company_id: row.v4_company_id?.toString() ?? null,
    platform_id: row.platform_id,
    parent_platform_id: row.parent_platform_id,
    v3_svc_id: row.v3_svc_id?.toString() ?? null,
    v4_svc_id: row.v4_svc_id?.toString() ?? null,
    status: row.status,
    reason: row.reason,
    matched_by: row.matched_by,
  };
}

/** Evidence that is not JSON is kept as text. */
function parseEvidence(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The V4 ids that a row's evidence names. */
export function listV4Candidates(evidence: string): readonly bigint[] {
  const parsed = parseEvidence(evidence);
  if (typeof parsed !== 'object' || parsed === null || !('v4_svc_ids' in parsed)) return [];
  const { v4_svc_ids: ids } = parsed;
  return Array.isArray(ids)
    ? ids
        .map(String)
        .filter((id) => /^-?\d+$/.test(id))
        .map(BigInt)
    : [];
}
