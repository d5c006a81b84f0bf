import type { Status } from '../reasons.js';
import type { RemapRow } from './remap.js';

/** A remap row in JSON. */
export interface ReportFinding {
  readonly model: string;
  readonly path: string;
  readonly region: string | null;
  readonly v3_company_id: string | null;
  readonly v4_company_id: string | null;
  readonly platform_id: string | null;
  readonly parent_platform_id: string | null;
  readonly v3_svc_id: string | null;
  readonly v4_svc_id: string | null;
  readonly status: Status;
  readonly reason: string | null;
  readonly matched_by: string | null;
  readonly evidence: unknown;
}

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
