import { decodeBody } from '../api/body.js';
import { findMembers, findRecordInPage, type RecordMembers } from '../api/pages.js';
import type { Config } from '../config/config.js';
import { type Generation, parseSvcId } from '../domain.js';
import type { RemapRow } from '../store/remap.js';
import type { StoredSide } from '../store/remap-entries.js';

/** The members of a stored record or child; null with `payload: "ids"`. */
export function readMembers(
  { body, encoding, holder, svcId }: StoredSide,
  config: Config,
  generation: Generation,
  path: string,
): RecordMembers | null {
  if (body === null || encoding === null) return null;
  const record = findRecordInPage(decodeBody(body, encoding), { generation, ...config }, holder);
  return path === '' || record === null
    ? record
    : findMembers(record[path], `${config.fieldPrefix}id`, svcId);
}

/** The ids of a generation that a row's evidence names. */
export function idsInEvidence({ evidence }: RemapRow, generation: Generation): bigint[] {
  const members = new Map<string, unknown>(Object.entries(Object(JSON.parse(evidence))));
  const ids = members.get(`${generation}_svc_ids`);
  return Array.isArray(ids) ? ids.flatMap((id) => parseSvcId(String(id)) ?? []) : [];
}
