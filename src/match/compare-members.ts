import { areEqualDigests, LIST_WORDS } from '../api/member-digests.js';
import { type DriftRules, isCompared } from './compare-payloads.js';

/** The compared members of two records: their places in the one and in the other, in turn. */
export interface SharedMembers {
  readonly places: Uint32Array;
  readonly v3Count: number;
  readonly v4Count: number;
}

/** Finds the members that records with these names share and that are compared. Of members with one name, the last counts. */
export function shareMembers(
  v3Names: readonly string[],
  v4Names: readonly string[],
  rules: DriftRules,
): SharedMembers {
  const v4Places = new Map(v4Names.map((name, place) => [name, place]));
  const places: number[] = [];
  for (const [name, place] of new Map(v3Names.map((one, at) => [one, at]))) {
    const v4Place = v4Places.get(name);
    if (v4Place !== undefined && isCompared(name, rules)) places.push(place, v4Place);
  }
  return { places: Uint32Array.from(places), v3Count: v3Names.length, v4Count: v4Names.length };
}

/** Whether the digests of all shared members are equal. The words of the records begin at `v3Start` and `v4Start`. */
export function areEqualMembers(
  { places, v3Count, v4Count }: SharedMembers,
  v3Words: Int32Array,
  v3Start: number,
  v4Words: Int32Array,
  v4Start: number,
): boolean {
  const v3 = { words: v3Words, first: v3Start + LIST_WORDS, count: v3Count };
  const v4 = { words: v4Words, first: v4Start + LIST_WORDS, count: v4Count };
  for (let at = 0; at < places.length; at += 2) {
    if (!areEqualDigests(v3, places[at] ?? 0, v4, places[at + 1] ?? 0)) return false;
  }
  return true;
}
