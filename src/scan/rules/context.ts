import type { Certainty } from '../scan-settings.js';
import { lastBefore } from '../scopes.js';
import type { RuleInput } from './rule.js';

/** Maximum number of addresses before a read that are looked at. */
const MAX_BACK = 8;
/** How far before a read the names of hosts are looked for. */
const MAX_DISTANCE = 500;
const NAME = /[A-Za-z_]\w*/g;

/**
 * Where a read or a parameter stands: in a function that sends a request to V3, in one that names no address at all, or in one
 * whose nearest address is another service's.
 */
export function contextOf(input: RuleInput, at: number): 'request' | 'near' | 'other' {
  const { scopes, addresses, text } = input;
  const from = scopes.around(at).at(-1)?.start ?? 0;
  const last = lastBefore(addresses, at);
  const before = addresses
    .slice(Math.max(0, last + 1 - MAX_BACK), last + 1)
    .filter(({ start }) => start >= from);
  const nearest = before.findLast(
    ({ certainty, url }) => certainty !== null || url.kind === 'other' || url.kind === 'v4',
  );
  const named = text.code.slice(Math.max(from, nearest?.end ?? 0, at - MAX_DISTANCE), at).match(NAME);
  const owner = named?.map(input.kindOf).findLast((kind) => kind !== null);
  if (owner === 'other' || owner === 'v4') return 'other';
  if (owner === 'v3' || owner === 'like_v3') return 'request';
  if (nearest === undefined) return input.settings.v3Urls.length > 0 ? 'near' : 'other';
  return isOfV3(nearest.certainty) ? 'request' : 'other';
}

function isOfV3(certainty: Certainty | null): boolean {
  return certainty !== null && certainty !== 'look';
}
