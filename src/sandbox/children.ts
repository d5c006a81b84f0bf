import type { Block } from './blocks.js';
import { CHILD_FATES } from './child-fates.js';
import type { Fate, Scenario } from './fate.js';
import type { Json } from './json.js';
import { noKey, variantOf, writtenKey } from './keys.js';
import { hexOf, mix } from './random.js';

const MOST_GROUPS = 4;
const SLOTS_PER_GROUP = 2;
const TOTAL_WEIGHT = {
  clean: CHILD_FATES.reduce((sum, fate) => sum + fate.weight.clean, 0),
  ugly: CHILD_FATES.reduce((sum, fate) => sum + fate.weight.ugly, 0),
};

/** Line items that share a key and a fate. */
export interface ChildGroup {
  readonly number: number;
  readonly hash: number;
  readonly fate: Fate;
}

/** One line item of a record on one side. */
export interface Child {
  readonly group: ChildGroup;
  /** Its place beneath the record, below `CHILD_PLACES`. */
  readonly place: number;
  /** Its key; null where `written` is none. */
  readonly key: string | null;
  readonly written: Json;
}

/** The line items with ids of a thing on the platform; none where the model has no such line items. */
export function childGroupsOf(block: Block, entityHash: number, scenario: Scenario): readonly ChildGroup[] {
  if (block.shape.lineItems !== 'ids') return [];
  const hash = mix(entityHash, 0xc1);
  return Array.from({ length: hash % MOST_GROUPS }, (_, number) => {
    const own = mix(hash, number);
    return { number, hash: own, fate: drawFate(mix(own, 1), scenario) };
  });
}

function drawFate(hash: number, scenario: Scenario): Fate {
  let ticket = hash % TOTAL_WEIGHT[scenario];
  for (const fate of CHILD_FATES) {
    ticket -= fate.weight[scenario];
    if (ticket < 0) return fate;
  }
  throw new RangeError('No fate has the ticket.');
}

/** The line items of those groups that one side's record carries. */
export function childrenOn(
  side: 'v3' | 'v4',
  groups: readonly ChildGroup[],
  block: Block,
  scenario: Scenario,
): readonly Child[] {
  return groups.flatMap((group) =>
    group.fate[side].map((_, slot) => childAt(side, group, slot, block, scenario)),
  );
}

/** The line item of a group at a place of its fate. */
export function childAt(
  side: 'v3' | 'v4',
  group: ChildGroup,
  slot: number,
  block: Block,
  scenario: Scenario,
): Child {
  const kind = group.fate[side][slot]?.key;
  const place = group.number * SLOTS_PER_GROUP + slot;
  const sideHash = mix(group.hash, side === 'v3' ? 3 : 4);
  if (kind === 'none') return { group, place, key: null, written: noKey(sideHash) };
  // Documents often number their lines alike.
  const base = block.hash % 3 === 0 ? hexOf(group.hash) : String(group.number + 1);
  const key = kind === 'variant' ? variantOf(base, group.hash) : base;
  return { group, place, key, written: writtenKey(key, scenario, sideHash) };
}
