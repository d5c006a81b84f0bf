import { decodeBody } from '../api/body.js';
import { pageFormat } from '../api/pages.js';
import { findRecordInPage } from '../api/single-record.js';
import type { Config } from '../config/config.js';
import type { Generation } from '../domain.js';
import { DECIDABLE_REASONS } from '../reasons.js';
import {
  type FindingFilter,
  idsInEvidence,
  iterateFindings,
  prepareFindStored,
  prepareFindTwin,
  prepareFindV3Company,
  type StoredRecord,
} from '../store/findings.js';
import type { RemapRow, Scope } from '../store/remap.js';
import { readAmbiguousCompanies } from '../store/report-rows.js';
import type { Db } from '../store/sqlite.js';
import { must } from '../text/at.js';
import { escapeJson } from '../text/escape.js';
import { cutText } from '../text/wrap.js';
import { candidatesIn } from './build-report.js';

export interface Draft {
  readonly text: string;
  /** Lines to fill in. */
  readonly v3: number;
  readonly v4: number;
}

const DECISIONS_HEAD = `# Each id below is open, and nothing is decided until you edit it. To decide one, remove the # before its line and replace
# the ? by the id that it is on the other side, or by nothing if it is not there; say why in the column note.
# Then set "decisions" to this file in the configuration and run: svc-migrate remap
`;

const SHOWN_FIELDS = [
  ...['document_number', 'order_number', 'reference', 'code', 'name', 'order_name', 'legal_name'],
  ...['posted_date', 'total_amount', 'amount', 'amount_due', 'currency_id'],
];
/** Ids whose records are shown with their fields: each is read from its page. */
const MAX_DETAILED = 1000;

/**
 * A draft of the decisions file: a line for each V3 id that is ambiguous or whose key seems to have changed, for each V4 id
 * left over beside them, and for each V4 id without an explanation. Every line is a comment with `?` in place of an id, so
 * that the draft decides nothing.
 */
export function draftDecisions(db: Db, config: Config, filter: FindingFilter, header: string): Draft {
  const describer = describerOf(db, config);
  const parts = [`${header}\n`, DECISIONS_HEAD];
  const counts = { v3: 0, v4: 0 };
  for (const row of iterateUndecided(db, filter)) {
    counts[row.v3_svc_id === null ? 'v4' : 'v3'] += 1;
    parts.push(...describer(row, counts.v3 + counts.v4 <= MAX_DETAILED));
  }
  return { text: parts.join(''), ...counts };
}

/** With the pair of their company where rows are of V4 alone. */
function* iterateUndecided(db: Db, filter: FindingFilter): Generator<RemapRow> {
  const findV3Company = prepareFindV3Company(db);
  const decidable: readonly string[] = [...DECIDABLE_REASONS, 'unexplained'];
  const reasons = filter.reasons?.filter((reason) => decidable.includes(reason)) ?? decidable;
  for (const row of iterateFindings(db, { ...filter, reasons })) {
    const pair = findV3Company(row.v4_company_id);
    if (row.v3_svc_id !== null) {
      if (row.reason !== 'unexplained') yield row;
    } else if (pair !== undefined) {
      yield { ...row, region: pair.region, v3_company_id: pair.v3CompanyId };
    }
  }
}

function describerOf(db: Db, config: Config): (row: RemapRow, isDetailed: boolean) => string[] {
  const findStored = prepareFindStored(db);
  const findTwin = prepareFindTwin(db);
  return (row, isDetailed) => {
    const { model, path } = row;
    const isV3 = row.v3_svc_id !== null;
    const [side, other] = isV3 ? (['v3', 'v4'] as const) : (['v4', 'v3'] as const);
    const find = (generation: Generation, svcId: bigint) => {
      const companyId = generation === 'v3' ? row.v3_company_id : row.v4_company_id;
      const region = generation === 'v3' ? row.region : '';
      if (path !== '' || companyId === null || region === null) return undefined;
      return findStored({ generation, region, model, companyId, svcId });
    };
    const describe = (generation: Generation, platformId: string | null, stored: StoredRecord | undefined) =>
      [
        ...describeKeys(platformId, stored),
        ...(isDetailed ? describeFields(config, model, generation, stored) : []),
      ].join(' | ');
    const id = must(row[`${side}_svc_id`]);
    const stored = find(side, id);
    const name = path === '' ? '' : ` (${path})`;
    const head = `#\n# ${side.toUpperCase()} ${id}${name} | ${row.status}/${row.reason} | ${describe(side, row.platform_id, stored)}\n`;
    if (isV3 && stored?.deleted === 1n) {
      return [head, '#   deleted in V3: cannot be decided; a limit accepts it\n'];
    }
    const candidates = idsInEvidence(row.evidence, `${other}_svc_ids`).map((svcId) => {
      const candidate = find(other, svcId);
      const twin = findTwin({ model, path, generation: other, svcId });
      const parts = [
        `#   ${other.toUpperCase()} ${svcId}`,
        ...(candidate === undefined ? [] : [describe(other, candidate.platformId, candidate)]),
        ...(candidate?.deleted === 1n ? ['deleted: cannot be decided'] : []),
        ...(twin === null ? [] : [`paired with ${side.toUpperCase()} ${twin}`]),
      ];
      return `${parts.join(' | ')}\n`;
    });
    const none = candidates.length === 0 ? [`#   no ${other.toUpperCase()} candidate is known\n`] : [];
    const ids = isV3 ? [id, '?'] : ['?', id];
    const line = `#${[model, path, row.region, row.v3_company_id, ...ids, '', ''].join(',')}\n`;
    return [head, ...none, ...candidates, line];
  };
}

function describeKeys(platformId: string | null, stored: StoredRecord | undefined): string[] {
  const { uniqueId = null, latestMs = null, createdMs = null } = stored ?? {};
  const dayOf = (ms: bigint) => new Date(Number(ms)).toISOString().slice(0, 10);
  return [
    `platform_id ${platformId === null ? 'none' : quote(platformId)}`,
    ...(uniqueId === null ? [] : [`platform_unique_id ${quote(uniqueId)}`]),
    ...(latestMs === null ? [] : [`latest date ${dayOf(latestMs)}`]),
    ...(createdMs === null ? [] : [`created ${dayOf(createdMs)}`]),
  ];
}

/** The fields of a stored record that a person knows it by; none with `payload: "ids"`. */
function describeFields(
  config: Config,
  model: string,
  generation: Generation,
  stored: StoredRecord | undefined,
): string[] {
  const pair = config.models.find(({ v3 }) => v3 === model);
  if (stored === undefined || stored.body === null || stored.encoding === null || pair === undefined)
    return [];
  const text = decodeBody(stored.body, stored.encoding);
  const members = findRecordInPage(text, pageFormat(config, generation, pair), stored.svcId) ?? {};
  return SHOWN_FIELDS.flatMap((name) => {
    const value = members[name];
    return value === null || value === undefined || typeof value === 'object'
      ? []
      : [`${name} ${quote(String(value))}`];
  });
}

const COMPANIES_HEAD = `# Each V3 company below could not be paired beyond doubt. To pair one, remove the # before its line and replace the ? by its
# V4 company, or by nothing if it is not in V4; each V4 company once.
# Then set "companies": {"match": {"file": "…"}} to this file in the configuration and run: svc-migrate remap
`;

/** A draft of the companies file, commented out in the same way. */
export function draftCompanies(db: Db, scope: Scope, header: string): Omit<Draft, 'v4'> {
  const parts = [`${header}\n`, COMPANIES_HEAD];
  const { rows } = readAmbiguousCompanies(db, scope, Number.MAX_SAFE_INTEGER);
  for (const { region, v3CompanyId, v3Keys, note } of rows) {
    const candidates = candidatesIn(note).map(
      ({ v4CompanyId, agreeingKeys, comparableKeys }) =>
        `#   V4 company ${v4CompanyId} | ${agreeingKeys} of ${comparableKeys} compared keys agree\n`,
    );
    parts.push(
      `#\n# V3 company ${v3CompanyId} in ${region} | ${v3Keys} keys\n`,
      ...(candidates.length === 0 ? ['#   no V4 candidate is known\n'] : candidates),
      `#${region},${v3CompanyId},?\n`,
    );
  }
  return { text: parts.join(''), v3: rows.length };
}

const MAX_VALUE_CHARS = 200;

/** A value for a comment: as JSON, so that it stays on its line, without what starts a new cell in a spreadsheet. */
function quote(value: string): string {
  return escapeJson(JSON.stringify(cutText(value, MAX_VALUE_CHARS)))
    .replaceAll(',', '\\u002c')
    .replaceAll(';', '\\u003b');
}
