import type { StaleReason } from '../domain.js';

export interface NamedObject {
  readonly deleted: boolean;
  /** Whether evidence pairs it with another object; for V3, with one that no other V3 object shares. */
  readonly paired: boolean;
}

export interface DecisionFacts {
  /** `none`: the decision names no id of that generation. */
  readonly v3: NamedObject | 'none' | 'not_exported' | 'several';
  readonly v4: NamedObject | 'none' | 'not_exported' | 'several';
  /** Whether evidence pairs the two with each other, and no other V3 object with the V4 one. */
  readonly pairedTogether: boolean;
  /** Whether the parents are a `matched` pair, as is needed to join children; true for records. */
  readonly parentsMatched: boolean;
  /** Whether the list that would hold the counterpart was read in full. */
  readonly readInFull: boolean;
}

/** `not_needed`: evidence alone gives the same pair. `stale`: not applied, see `why`. */
export type DecisionVerdict =
  | { readonly kind: 'taken' }
  | { readonly kind: 'not_needed' }
  | { readonly kind: 'stale'; readonly why: StaleReason };

/** Judges a decision by evidence alone: other decisions do not matter, and a unique pair is never undone. */
export function judgeDecision(facts: DecisionFacts): DecisionVerdict {
  const { v3, v4 } = facts;
  if (v3 === 'not_exported') return stale('v3_not_exported');
  if (v4 === 'not_exported') return stale('v4_not_exported');
  if (v3 === 'several') return stale('v3_several');
  if (v4 === 'several') return stale('v4_several');
  if (facts.pairedTogether) return { kind: 'not_needed' };
  if (!facts.parentsMatched) return stale('parents_not_matched');
  if (v3 !== 'none' && v3.deleted) return stale('v3_deleted');
  if (v4 !== 'none' && v4.deleted) return stale('v4_deleted');
  if (v3 !== 'none' && v3.paired) return stale('v3_paired');
  // several V3 ids may become one V4 id, but a V4 id with a V3 record is not without one
  if (v3 === 'none' && v4 !== 'none' && v4.paired) return stale('v4_paired');
  // "no counterpart" cannot be concluded from a list that was not read in full
  if ((v3 === 'none' || v4 === 'none') && !facts.readInFull) return stale('not_read_in_full');
  return { kind: 'taken' };
}

function stale(why: StaleReason): DecisionVerdict {
  return { kind: 'stale', why };
}
