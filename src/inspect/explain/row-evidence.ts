import { formatTime } from '../../text/numbers.js';
import type { ExportedObject, StoryFacts } from './story.js';

/** A row's evidence, parsed; text that is no JSON object is empty. */
export type RowEvidence = Readonly<Record<string, unknown>>;

export function parseRowEvidence(text: string): RowEvidence {
  const value: unknown = JSON.parse(text);
  return isRowEvidence(value) ? value : {};
}

function isRowEvidence(value: unknown): value is RowEvidence {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Lists of ids by their name in the evidence, with the side they are of and what they are. */
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

/** The evidence as sentences. Members without a sentence of their own are shown as they are. */
export function describeRowEvidence({ row, named, parents, lists }: StoryFacts): string[] {
  const { provisional, ...evidence } = parseRowEvidence(row.evidence);
  const { window_start, window, latest_date, latest_from, created, v3_read_until, decision, ...rest } =
    evidence;
  const said: string[] = parents.map((parent) => `It is in ${parent}.`);
  if (latest_date !== undefined) {
    said.push(
      `Its latest date (from the ${latest_from === 'platform' ? 'platform' : 'service'}) is ${timeOf(latest_date)}; the window starts at ${timeOf(window_start)} (${window}).`,
    );
  }
  if (created !== undefined) {
    said.push(`The platform created it at ${timeOf(created)}; V3 was read until ${timeOf(v3_read_until)}.`);
  }
  for (const [name, value] of Object.entries(rest)) {
    const list = ID_LISTS.find(([key]) => key === name);
    if (list === undefined) {
      said.push(`${name}: ${JSON.stringify(value)}`);
      continue;
    }
    const [, side, usual] = list;
    const isChangedKey = row.reason?.endsWith('key_changed') === true;
    const what = isChangedKey ? `${side.toUpperCase()} records that look like its twin` : usual;
    const ids = idsOf(value).map((id) => describeId(id, side, named));
    if (ids.length > 0) said.push(`${what}: ${ids.join('; ')}.`);
  }
  if (isRowEvidence(decision)) {
    const { note, instead_of } = decision;
    const why = typeof note === 'string' && note !== '' ? `: ${note}` : '';
    said.push(
      `A person decided this in the decisions file${why}. Evidence alone says ${String(instead_of)}.`,
    );
  }
  if (row.unique_id_conflict === 1n) {
    said.push('The two have different platform_unique_ids; platform_id is the key, so they stay a pair.');
  }
  if (row.matched_by === 'platform_unique_id') {
    said.push('Several records have this platform_id; its platform_unique_id singled out this pair.');
  }
  if (provisional === true) said.push('Provisional: one of the lists involved was not read in full.');
  if (row.reason?.endsWith('scope_incomplete') !== true) return said;
  for (const { name, state, note } of lists) {
    if (state === 'complete' || state === 'short' || state === 'absent') continue;
    said.push(
      `Not read in full: ${name} (${[state ?? 'not begun', ...(note === null ? [] : [note])].join(', ')}).`,
    );
  }
  return said;
}

function describeId(id: string, side: 'v3' | 'v4', named: readonly ExportedObject[]): string {
  const object = named.find(({ generation, svc_id }) => generation === side && svc_id === id);
  if (object === undefined) return id;
  const { platform_id, platform_unique_id: uniqueId, deleted } = object;
  const unique = uniqueId === null ? 'no platform_unique_id' : `platform_unique_id ${uniqueId}`;
  return `${id} (platform_id ${platform_id ?? 'none'}, ${unique}${deleted ? ', deleted' : ''})`;
}

function timeOf(value: unknown): string {
  return typeof value === 'string' ? formatTime(value) : 'an unknown time';
}
