import { formatTime } from './numbers.js';

/** The parsed evidence of a row. */
export type RowEvidence = Readonly<Record<string, unknown>>;

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
  const sentences: string[] = [];
  if (latest_date !== undefined) {
    sentences.push(
      `Its latest date (from the ${latest_from === 'platform' ? 'platform' : 'service'}) is ${timeOf(latest_date)}; the window starts at ${timeOf(window_start)} (${window}).`,
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
    const isChangedKey = reason?.endsWith('key_changed') === true;
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
