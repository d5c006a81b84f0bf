import type { StaleReason } from '../domain.js';

/** What evidence alone says of an id that a decision names. */
export interface NamedObject {
  readonly deleted: boolean;
  /** It is in a pair that evidence proves. */
  readonly paired: boolean;
}

/** What a decision is judged by. */
export interface DecisionFacts {
  /** Whether the V3 company of the decision is paired. */
  readonly companyPaired: boolean;
  /** `none`: the decision names no id of that generation. */
  readonly v3: NamedObject | 'none' | 'not_exported' | 'several';
  readonly v4: NamedObject | 'none' | 'not_exported' | 'several';
  /** Evidence makes the two a pair. */
  readonly pairedTogether: boolean;
  /** Children only join inside a pair of records that is `matched`; true for records. */
  readonly parentsMatched: boolean;
  /** The list that would hold the counterpart was read in full. */
  readonly readInFull: boolean;
}

export type DecisionVerdict =
  | { readonly kind: 'taken' }
  | { readonly kind: 'not_needed' }
  | { readonly kind: 'stale'; readonly why: StaleReason };

/** Judges a decision by evidence alone: other decisions play no part, and no unique pair is ever given up. Pure. */
export function judgeDecision(facts: DecisionFacts): DecisionVerdict {
  const { v3, v4 } = facts;
  if (!facts.companyPaired) return stale('company_not_paired');
  if (v3 === 'not_exported') return stale('v3_not_exported');
  if (v4 === 'not_exported') return stale('v4_not_exported');
  if (v3 === 'several') return stale('v3_several');
  if (v4 === 'several') return stale('v4_several');
  if (facts.pairedTogether) return { kind: 'not_needed' };
  if (!facts.parentsMatched) return stale('parents_not_matched');
  if (v3 !== 'none' && v3.deleted) return stale('v3_deleted');
  if (v4 !== 'none' && v4.deleted) return stale('v4_deleted');
  if (v3 !== 'none' && v3.paired) return stale('v3_paired');
  if (v4 !== 'none' && v4.paired) return stale('v4_paired');
  // "none" is a conclusion from absence: what was not read may still hold the counterpart
  if ((v3 === 'none' || v4 === 'none') && !facts.readInFull) return stale('not_read_in_full');
  return { kind: 'taken' };
}

function stale(why: StaleReason): DecisionVerdict {
  return { kind: 'stale', why };
}
