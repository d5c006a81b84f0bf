import type { Config } from '../config/config.js';
import type { Generation } from '../domain.js';
import { DECIDABLE_REASONS } from '../reasons.js';
import { type CompanyPair, listCompanyPairs, type RemapFilter, type Scope } from '../store/remap.js';
import {
  type RemapEntry,
  readEntries,
  readFindingEntries,
  readStoredSide,
  type StoredSide,
} from '../store/remap-entries.js';
import {
  readSpareV4Companies,
  readUnpairedCompanies,
  type SpareV4Company,
  type UnpairedCompany,
} from '../store/report-rows.js';
import type { Db } from '../store/sqlite.js';
import { must } from '../text/at.js';
import { escapeJson } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { cutText } from '../text/wrap.js';
import { idsInEvidence, readMembers } from './stored-members.js';

export interface Draft {
  readonly text: string;
  /** Lines to fill in. */
  readonly v3: number;
  readonly v4: number;
}

const DECISIONS_HEAD = `# Each id below is open, and nothing is decided until you edit it. To decide one, remove the # before its line and replace
# the ? with its id on the other side, or with nothing if it has none there; say why in the column note. A pair needs one
# line, that of its V3 id or that of its V4 id; a line that repeats another has no effect.
# Then set "decisions" to this file in the configuration, or add the lines to the file that it names, and run:
# svc-migrate remap
`;

const SHOWN_FIELDS = [
  ...['document_number', 'order_number', 'reference', 'code', 'name', 'order_name', 'legal_name'],
  ...['item_id', 'description', 'quantity', 'unit_amount'],
  ...['posted_date', 'total_amount', 'amount', 'amount_due', 'currency_id'],
];
/** Ids whose records are shown with their fields: each is read from its page. */
const MAX_DETAILED = 1000;

/**
 * A draft of the decisions file: a line for each V3 id that is ambiguous or whose key seems to have changed, for each V4 id
 * left over beside them, and for each V4 id without an explanation. Every line is a comment with `?` in place of an id, so
 * that the draft decides nothing.
 */
export function draftDecisions(db: Db, config: Config, filter: RemapFilter, header: string): Draft {
  const parts = [`${header}\n`, DECISIONS_HEAD];
  const counts = { v3: 0, v4: 0 };
  for (const row of iterateUndecided(db, filter)) {
    counts[row.v3_svc_id === null ? 'v4' : 'v3'] += 1;
    const isDetailed = counts.v3 + counts.v4 <= MAX_DETAILED;
    parts.push(...draftDecision(row, { db, config, isDetailed }));
  }
  return { text: parts.join(''), ...counts };
}

/** With the pair of their company where rows are of V4 alone. */
function* iterateUndecided(db: Db, filter: RemapFilter): Generator<RemapEntry> {
  const pairs = new Map<bigint | null, CompanyPair>(listCompanyPairs(db).map((pair) => [pair.v4, pair]));
  const decidable: readonly string[] = [...DECIDABLE_REASONS, 'unexplained'];
  const { reasons: wanted = [] } = filter;
  const reasons = wanted.length === 0 ? decidable : decidable.filter((reason) => wanted.includes(reason));
  // Without reasons, a filter selects all findings.
  if (reasons.length === 0) return;
  for (const row of readFindingEntries(db, { ...filter, reasons })) {
    const pair = pairs.get(row.v4_company_id);
    if (row.v3_svc_id !== null) {
      if (row.reason !== 'unexplained') yield row;
    } else if (pair !== undefined) {
      yield { ...row, region: pair.region, v3_company_id: pair.v3 };
    }
  }
}

interface DraftSources {
  readonly db: Db;
  readonly config: Config;
  readonly isDetailed: boolean;
}

/** The lines of an id: what is known of it, its candidates, and the line to fill in. */
function draftDecision(row: RemapEntry, sources: DraftSources): string[] {
  const { model, path, status, reason, region, v3_company_id, v3_svc_id, v4_svc_id } = row;
  const [side, other] = v3_svc_id === null ? (['v4', 'v3'] as const) : (['v3', 'v4'] as const);
  const id = must(v3_svc_id ?? v4_svc_id);
  const stored = readStoredSide(sources.db, row, side);
  const name = `${side.toUpperCase()} ${id}${path === '' ? '' : ` (${path})`}`;
  const facts = describeStored(side, path, stored, sources);
  const head = `#\n# ${[name, `${status}/${reason}`, describeKey(row.platform_id), ...facts].join(' | ')}\n`;
  if (side === 'v3' && stored?.deleted === 1n) {
    return [head, '#   deleted in V3: cannot be decided; a limit accepts it\n'];
  }
  const candidates = idsInEvidence(row, other).map((svcId) => describeCandidate(row, other, svcId, sources));
  const ids = side === 'v3' ? [id, '?'] : ['?', id];
  return [
    head,
    ...(candidates.length === 0 ? [`#   no ${other.toUpperCase()} candidate is known\n`] : candidates),
    `#${[model, path, region, v3_company_id, ...ids, '', ''].join(',')}\n`,
  ];
}

function describeCandidate(
  row: RemapEntry,
  generation: Generation,
  id: bigint,
  sources: DraftSources,
): string {
  const stored = readStoredSide(sources.db, row, generation, id);
  const twin = findTwin(row, generation, id, sources.db);
  const parts = [
    `#   ${generation.toUpperCase()} ${id}`,
    ...(stored === undefined ? [] : [describeKey(stored.platform_id)]),
    ...describeStored(generation, row.path, stored, sources),
    ...(stored?.deleted === 1n ? ['deleted: cannot be decided'] : []),
    ...(twin === undefined ? [] : [`paired with ${generation === 'v3' ? 'V4' : 'V3'} ${twin}`]),
  ];
  return `${parts.join(' | ')}\n`;
}

/** The id on the other side that a candidate is paired with. The same number may also be an id of the other side. */
function findTwin(row: RemapEntry, generation: Generation, id: bigint, db: Db): bigint | undefined {
  const { model, path } = row;
  const [region, companyId] =
    generation === 'v3' ? [row.region, row.v3_company_id] : [null, row.v4_company_id];
  const [own, other] =
    generation === 'v3' ? (['v3_svc_id', 'v4_svc_id'] as const) : (['v4_svc_id', 'v3_svc_id'] as const);
  const rows = readEntries(db, { model, path, region, companyId, id }, MAX_ROWS_WITH_ID);
  return rows.find((pair) => pair[own] === id && pair[other] !== null)?.[other] ?? undefined;
}

const MAX_ROWS_WITH_ID = 100;

function describeKey(platformId: string | null): string {
  return `platform_id ${platformId === null ? 'none' : quote(platformId)}`;
}

/** What a person knows a stored record by; its fields are not stored with `payload: "ids"`. */
function describeStored(
  generation: Generation,
  path: string,
  stored: StoredSide | undefined,
  { config, isDetailed }: DraftSources,
): string[] {
  if (stored === undefined) return [];
  const { unique_id, latest_ms, created_ms } = stored;
  const dayOf = (ms: bigint) => new Date(Number(ms)).toISOString().slice(0, 10);
  const members = (isDetailed && readMembers(stored, config, generation, path)) || {};
  return [
    ...(unique_id === null ? [] : [`platform_unique_id ${quote(unique_id)}`]),
    ...(latest_ms === null ? [] : [`latest date ${dayOf(latest_ms)}`]),
    ...(created_ms === null ? [] : [`created ${dayOf(created_ms)}`]),
    ...SHOWN_FIELDS.flatMap((name) => {
      const value = members[name];
      const isShown = value !== null && value !== undefined && typeof value !== 'object';
      return isShown ? [`${name} ${quote(String(value))}`] : [];
    }),
  ];
}

const COMPANIES_HEAD = `# Each V3 company below could not be paired for certain. To pair one, remove the # before its line and replace the ?
# with its V4 company, or with nothing if it is not in V4; each V4 company once.
# Then set "companies": {"match": {"file": "…"}} to this file in the configuration, or add the lines to the file that it
# names, and run: svc-migrate remap
`;

const MAX_SPARE = 20;

/**
 * A draft of the companies file, commented out in the same way: ambiguous companies, and those without a pair if V4 has
 * companies without one.
 */
export function draftCompanies(db: Db, scope: Scope, header: string): Omit<Draft, 'v4'> {
  const spare = describeSpare(readSpareV4Companies(db));
  const rows = readUnpairedCompanies(db, scope).filter((row) => row.isAmbiguous === 1 || spare.length > 0);
  const parts = [`${header}\n`, COMPANIES_HEAD];
  for (const company of rows) {
    const { region, v3CompanyId, v3Keys, isAmbiguous } = company;
    const candidates = isAmbiguous === 1 ? describeCandidates(company) : spare;
    parts.push(
      `#\n# V3 company ${v3CompanyId} in ${region} | ${v3Keys} keys\n`,
      ...(candidates.length === 0 ? ['#   no V4 candidate is known\n'] : candidates),
      `#${region},${v3CompanyId},?\n`,
    );
  }
  return { text: parts.join(''), v3: rows.length };
}

function describeSpare(companies: readonly SpareV4Company[]): string[] {
  const lines = companies.slice(0, MAX_SPARE).map(({ v4CompanyId, records }) => {
    return `#   V4 company ${v4CompanyId} | ${records === 0 ? 'no records' : countOf(records, 'record')}\n`;
  });
  const more = companies.length - lines.length;
  return more > 0 ? [...lines, `#   and ${countOf(more, 'more V4 company', 'more V4 companies')}\n`] : lines;
}

/** The candidates for an ambiguous company, likeliest first. */
function describeCandidates({ note }: UnpairedCompany): string[] {
  const parsed: unknown = JSON.parse(note);
  if (!Array.isArray(parsed)) return [];
  return parsed.map((candidate: unknown) => {
    const numbers = new Map<string, unknown>(Object.entries(Object(candidate)));
    const agree = `${numbers.get('agreeing_keys')} of ${numbers.get('comparable_keys')} compared keys agree`;
    return `#   V4 company ${numbers.get('v4_company_id')} | ${agree}\n`;
  });
}

const MAX_VALUE_CHARS = 200;

/** A value for a comment: as JSON, so that it stays on its line, without what starts a new cell in a spreadsheet. */
function quote(value: string): string {
  return escapeJson(JSON.stringify(cutText(value, MAX_VALUE_CHARS)))
    .replaceAll(',', '\\u002c')
    .replaceAll(';', '\\u003b');
}
