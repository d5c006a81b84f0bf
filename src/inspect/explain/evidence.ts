import { formatTime } from '../../text/numbers.js';
import type { SeenObject, StoryFacts } from './story.js';

/** A row's evidence, parsed; text that is no JSON object is none. */
export type Evidence = Readonly<Record<string, unknown>>;

export function parseEvidence(text: string): Evidence {
  const value: unknown = JSON.parse(text);
  return isEvidence(value) ? value : {};
}

function isEvidence(value: unknown): value is Evidence {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Lists of ids by their name in the evidence, with the side they are of and what they are. */
const NAMED = {
  v3_svc_ids: { side: 'v3', what: 'V3 records with this platform_id' },
  v4_svc_ids: { side: 'v4', what: 'V4 records with this platform_id' },
  live_v3_svc_ids: { side: 'v3', what: 'Live V3 records with its platform_id' },
  live_v4_svc_ids: { side: 'v4', what: 'Live V4 records with its platform_id' },
} as const;

/** Ids that the evidence names, side by side with their generation. */
export function namedIds(evidence: Evidence): { readonly side: 'v3' | 'v4'; readonly svcId: bigint }[] {
  return Object.entries(NAMED).flatMap(([name, { side }]) =>
    idsOf(evidence[name]).map((id) => ({ side, svcId: BigInt(id) })),
  );
}

function idsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.map(String).filter((id) => /^-?\d+$/.test(id));
}

/** The evidence as sentences. What has no words of its own is shown as it is. */
export function describeEvidence({ row, named, parents, lists }: StoryFacts): string[] {
  const { provisional, ...evidence } = parseEvidence(row.evidence);
  const { window_start, window, latest_date, latest_from, created, v3_read_until, decision, ...rest } =
    evidence;
  const said: string[] = parents.map((parent) => `It lies in ${parent}.`);
  if (latest_date !== undefined) {
    said.push(
      `Its latest date (from the ${latest_from === 'platform' ? 'platform' : 'service'}) is ${timeOf(latest_date)}; the window starts at ${timeOf(window_start)} (${window}).`,
    );
  }
  if (created !== undefined) {
    said.push(`The platform created it at ${timeOf(created)}; V3 was read until ${timeOf(v3_read_until)}.`);
  }
  for (const [name, value] of Object.entries(rest)) said.push(...describeOne(name, value, row.reason, named));
  if (isEvidence(decision)) said.push(describeDecision(decision));
  if (row.unique_id_conflict === 1n) {
    said.push('The two have different platform_unique_ids; platform_id is the key, so they stay a pair.');
  }
  if (row.matched_by === 'platform_unique_id') {
    said.push('Several records have this platform_id; its platform_unique_id singled out this pair.');
  }
  if (provisional === true) said.push('Provisional: one of the lists involved was not read in full.');
  if (row.reason?.endsWith('scope_incomplete') === true) {
    const open = lists.filter(({ state }) => state !== 'complete' && state !== 'short' && state !== 'absent');
    said.push(
      ...open.map(
        ({ name, state, note }) =>
          `Not read in full: ${name} (${[state ?? 'not begun', note].filter((part) => part !== null).join(', ')}).`,
      ),
    );
  }
  return said;
}

function describeDecision({ note, instead_of }: Evidence): string {
  const why = typeof note === 'string' && note !== '' ? `: ${note}` : '';
  return `A person decided this in the decisions file${why}. Evidence alone says ${String(instead_of)}.`;
}

function describeOne(
  name: string,
  value: unknown,
  reason: string | null,
  named: readonly SeenObject[],
): string[] {
  const known = Object.entries(NAMED).find(([key]) => key === name)?.[1];
  if (known === undefined) return [`${name}: ${JSON.stringify(value)}`];
  const ids = idsOf(value);
  if (ids.length === 0) return [];
  const what =
    reason?.endsWith('key_changed') === true
      ? `${known.side.toUpperCase()} records that look like its twin`
      : known.what;
  const shown = ids.map((id) => describeNamed(id, known.side, named));
  return [`${what}: ${shown.join('; ')}.`];
}

function describeNamed(id: string, side: 'v3' | 'v4', named: readonly SeenObject[]): string {
  const seen = named.find(({ generation, svcId }) => generation === side && String(svcId) === id);
  if (seen === undefined) return id;
  const unique =
    seen.platformUniqueId === null ? 'no platform_unique_id' : `platform_unique_id ${seen.platformUniqueId}`;
  return `${id} (platform_id ${seen.platformId ?? 'none'}, ${unique}${seen.deleted ? ', deleted' : ''})`;
}

function timeOf(value: unknown): string {
  return typeof value === 'string' ? formatTime(value) : 'an unknown time';
}
