import type { AmbiguousCompany } from '../domain.js';
import { countOf, formatTime, groupDigits } from './numbers.js';
import { append } from './rows.js';

/** The parsed evidence of a row. */
export type RowEvidence = Readonly<Record<string, unknown>>;

/** Whether a parsed JSON value is an object, as evidence is. */
export function isRowEvidence(value: unknown): value is RowEvidence {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Lists of ids in the evidence: name, side, and description. */
const ID_LISTS = [
  ['v3_svc_ids', 'v3', 'V3 records with this platform_id'],
  ['v4_svc_ids', 'v4', 'V4 records with this platform_id'],
  ['live_v3_svc_ids', 'v3', 'Live V3 records with its platform_id'],
  ['live_v4_svc_ids', 'v4', 'Live V4 records with its platform_id'],
] as const;

/** The ids that the evidence names. */
export function namedIds(evidence: RowEvidence): { readonly side: 'v3' | 'v4'; readonly svcId: bigint }[] {
  return ID_LISTS.flatMap(([name, side]) => idsOf(evidence[name]).map((id) => ({ side, svcId: BigInt(id) })));
}

function idsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String).filter((id) => /^-?\d+$/.test(id)) : [];
}

/**
 * The evidence as sentences; `describeId` says what is known of an id it names. Members without a sentence of their own are
 * shown as JSON.
 */
export function describeEvidence(
  { provisional, ...evidence }: RowEvidence,
  reason: string | null,
  describeId: (id: string, side: 'v3' | 'v4') => string = (id) => id,
): string[] {
  const { window_start, window, latest_date, latest_from, created, v3_read_until, decision, ...rest } =
    evidence;
  // A decided row has no reason; what the evidence alone says tells what it names.
  const before = isRowEvidence(decision) ? String(decision['instead_of']) : null;
  const sentences: string[] = [];
  if (latest_date !== undefined) {
    sentences.push(
      `Its latest date (from the ${latest_from === 'platform' ? 'platform' : 'service'}) is ${timeOf(latest_date)}; V4's history starts at ${timeOf(window_start)} (${window}).`,
    );
  }
  if (created !== undefined) {
    sentences.push(
      `The platform created it at ${timeOf(created)}; V3 was read until ${timeOf(v3_read_until)}.`,
    );
  }
  for (const [name, value] of Object.entries(rest)) {
    const list = ID_LISTS.find(([key]) => key === name);
    if (list === undefined) {
      sentences.push(`${name}: ${JSON.stringify(value)}`);
      continue;
    }
    const [, side, usual] = list;
    const isChangedKey = (reason ?? before)?.endsWith('key_changed') === true;
    const what = isChangedKey ? `${side.toUpperCase()} records that look like its twin` : usual;
    const ids = idsOf(value).map((id) => describeId(id, side));
    if (ids.length > 0) sentences.push(`${what}: ${ids.join('; ')}.`);
  }
  if (isRowEvidence(decision)) {
    const { note, instead_of } = decision;
    const why = typeof note === 'string' && note !== '' ? `: ${note}` : '';
    sentences.push(
      `A person decided this in the decisions file${why}. Evidence alone says ${String(instead_of)}.`,
    );
  }
  if (provisional === true) sentences.push('Provisional: one of the lists involved was not read in full.');
  return sentences;
}

function timeOf(value: unknown): string {
  return typeof value === 'string' ? formatTime(value) : 'an unknown time';
}

/**
 * Makes the function that describes one of `all` companies that could not be paired: `V3 company 61 in eu: V4 company 63 (92
 * of 92 shared records agree) or 59 (92 of 92); V3 company 62 in us may be 63 too`. Candidates whose records all differ are
 * left out after better ones.
 */
export function prepareDescribeAmbiguous(
  all: readonly AmbiguousCompany[],
): (company: AmbiguousCompany) => string {
  const likely = new Map<string, string[]>();
  for (const company of all) {
    for (const v4CompanyId of new Set(likelyOf(company))) append(likely, v4CompanyId, nameOf(company));
  }
  return (company) => describeAmbiguous(company, likely);
}

/** `92 of 93 shared records agree`. */
export function describeAgreement({
  agreeingKeys,
  comparableKeys,
}: Pick<AmbiguousCompany['candidates'][number], 'agreeingKeys' | 'comparableKeys'>): string {
  const agree = agreeingKeys === 1 || comparableKeys === 1 ? 'agrees' : 'agree';
  return `${groupDigits(agreeingKeys)} of ${countOf(comparableKeys, 'shared record')} ${agree}`;
}

/** `likely`: the names of the companies that a V4 company may be. */
function describeAmbiguous(
  company: AmbiguousCompany,
  likely: ReadonlyMap<string, readonly string[]>,
): string {
  const [first, ...others] = company.candidates;
  if (first === undefined) return `${nameOf(company)}: no V4 candidate is known`;
  const known = `V4 company ${first.v4CompanyId} (${describeAgreement(first)})`;
  const more = others
    .filter(({ agreeingKeys }) => agreeingKeys > 0 || first.agreeingKeys === 0)
    .map((one) => `${one.v4CompanyId} (${one.agreeingKeys} of ${one.comparableKeys})`);
  const rivals = (likely.get(first.v4CompanyId) ?? []).filter((name) => name !== nameOf(company));
  const rest = rivals.length === 0 ? '' : `; ${rivals.join(' or ')} may be ${first.v4CompanyId} too`;
  return `${nameOf(company)}: ${[known, ...more].join(' or ')}${rest}`;
}

function nameOf({ region, v3CompanyId }: AmbiguousCompany): string {
  return `V3 company ${v3CompanyId} in ${region}`;
}

function likelyOf({ candidates }: AmbiguousCompany): string[] {
  return candidates.flatMap((one) => (one.agreeingKeys > 0 ? one.v4CompanyId : []));
}
