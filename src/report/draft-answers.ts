import type { StoredRecord } from '../store/findings.js';
import type { RemapRow } from '../store/remap.js';
import type { CompanyRow } from '../store/report-rows.js';
import { escapeJson } from '../text/escape.js';
import { cutText } from '../text/wrap.js';
import type { Report } from './report-schema.js';

/** A record that the record to decide may be, on the other side. */
export interface DraftCandidate extends Pick<StoredRecord, 'svcId'> {
  /** Null for line items: of them only the id is known. */
  readonly stored: StoredRecord | null;
  /** The other id that it is paired with. */
  readonly twin: bigint | null;
}

/** A V3 id, or a V4 id without a V3 id, that a person can decide. */
export interface Undecided {
  readonly row: RemapRow;
  /** What tells the record from others with its key; null for line items. */
  readonly stored: StoredRecord | null;
  readonly candidates: readonly DraftCandidate[];
}

const DECISIONS_HEAD = `# Each id below is open, and nothing is decided until you edit it. To decide one, remove the # before its line and replace
# the ? by the id that it is on the other side, or by nothing if it is not there; say why in the column note.
# Then set "decisions" to this file in the configuration and run: svc-migrate remap
`;

/** A draft of the decisions file: every line is a comment with `?` in place of an id, so that it decides nothing. */
export function draftDecisions(header: string, undecided: Iterable<Undecided>): string {
  const parts = [`${header}\n`, DECISIONS_HEAD];
  for (const { row, stored, candidates } of undecided) {
    const isV3 = row.v3_svc_id !== null;
    const side = isV3 ? 'V3' : 'V4';
    const name = row.path === '' ? '' : ` (${row.path})`;
    parts.push(
      `#\n# ${side} ${row.v3_svc_id ?? row.v4_svc_id}${name} | ${row.status}/${row.reason} | ${describeStored(row.platform_id, stored)}\n`,
    );
    if (isV3 && stored?.deleted === 1n) {
      parts.push('#   deleted in V3: cannot be decided; a limit accepts it\n');
      continue;
    }
    const other = isV3 ? 'V4' : 'V3';
    if (candidates.length === 0) parts.push(`#   no ${other} candidate is known\n`);
    for (const candidate of candidates) parts.push(`#   ${describeCandidate(candidate, other, side)}\n`);
    const ids = isV3 ? [row.v3_svc_id, '?'] : ['?', row.v4_svc_id];
    parts.push(`#${[row.model, row.path, row.region, row.v3_company_id, ...ids, '', ''].join(',')}\n`);
  }
  return parts.join('');
}

function describeCandidate({ svcId, stored, twin }: DraftCandidate, other: string, side: string): string {
  const paired = twin === null ? '' : ` | paired with ${side} ${twin}`;
  const deleted = stored?.deleted === 1n ? ' | deleted: cannot be decided' : '';
  const details = stored === null ? '' : ` | ${describeStored(stored.platformId, stored)}`;
  return `${other} ${svcId}${details}${deleted}${paired}`;
}

function describeStored(platformId: string | null, stored: StoredRecord | null): string {
  const dates = [
    ['latest date', stored?.latestMs],
    ['created', stored?.createdMs],
  ] as const;
  return [
    `platform_id ${quote(platformId)}`,
    ...(stored === null || stored.uniqueId === null ? [] : [`platform_unique_id ${quote(stored.uniqueId)}`]),
    ...dates.flatMap(([name, ms]) =>
      ms === null || ms === undefined ? [] : [`${name} ${new Date(Number(ms)).toISOString().slice(0, 10)}`],
    ),
  ].join(' | ');
}

const COMPANIES_HEAD = `# Each V3 company below could not be paired beyond doubt. To pair one, remove the # before its line and replace the ? by its
# V4 company, or by nothing if it is not in V4; each V4 company once.
# Then set "companies": {"match": {"file": "…"}} to this file in the configuration and run: svc-migrate remap
`;

interface UnpairedCompany extends Pick<CompanyRow, 'region' | 'v3CompanyId' | 'v3Keys'> {
  readonly candidates: Report['ambiguousCompanies'][number]['candidates'];
}

/** A draft of the companies file, commented out in the same way. */
export function draftCompanies(header: string, companies: Iterable<UnpairedCompany>): string {
  const parts = [`${header}\n`, COMPANIES_HEAD];
  for (const { region, v3CompanyId, v3Keys, candidates } of companies) {
    parts.push(`#\n# V3 company ${v3CompanyId} in ${region} | ${v3Keys} keys\n`);
    if (candidates.length === 0) parts.push('#   no V4 candidate is known\n');
    for (const { v4CompanyId, agreeingKeys, comparableKeys } of candidates) {
      parts.push(
        `#   V4 company ${v4CompanyId} | ${agreeingKeys} of ${comparableKeys} compared keys agree\n`,
      );
    }
    parts.push(`#${region},${v3CompanyId},?\n`);
  }
  return parts.join('');
}

const MAX_VALUE_CHARS = 200;

/** A value for a comment: as JSON, so that it stays on its line, without what starts a new cell in a spreadsheet. */
function quote(value: string | null): string {
  if (value === null) return 'none';
  return escapeJson(JSON.stringify(cutText(value, MAX_VALUE_CHARS)))
    .replaceAll(',', '\\u002c')
    .replaceAll(';', '\\u003b');
}
