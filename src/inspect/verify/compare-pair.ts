import type { ParsedRecord } from '../../domain.js';
import type { MappedPair } from '../../store/mapped-pairs.js';

/** How a pair can disagree with what the two APIs say now. */
export const DISAGREEMENTS = {
  v3_not_found: 'V3 does not show it',
  v4_not_found: 'V4 does not show it',
  parent_not_mapped: 'it is in no pair of records',
  company_differs: 'another company',
  platform_id_differs: 'the two have different platform_ids',
  platform_id_changed: 'both have another platform_id than when they were exported',
  unique_id_differs: 'the two have different platform_unique_ids, and were told apart by these',
} as const;
export type Disagreement = keyof typeof DISAGREEMENTS;

/** The part of a record or child that a pair is compared by. */
export type PairSide = Pick<ParsedRecord, 'companyId' | 'platformId' | 'platformUniqueId' | 'deleted'>;

export interface Disagreeing {
  readonly kind: 'disagrees';
  readonly code: Disagreement;
  /** What the APIs say now; null where they show nothing. */
  readonly v3: PairSide | null;
  readonly v4: PairSide | null;
}

export type Comparison =
  | Disagreeing
  /** `deletedSince`: live in V4 when exported, deleted now. */
  | { readonly kind: 'agrees'; readonly deletedSince: boolean }
  /** V4 no longer shows a record that it had deleted: nothing to compare, and nothing wrong. */
  | { readonly kind: 'gone' };

/** Compares a pair with both records as they are now; null where a side has none. */
export function comparePair(pair: MappedPair, v3: PairSide | null, v4: PairSide | null): Comparison {
  const wasDeleted = pair.status === 'deleted' && /(^|_)deleted_in_(v4|both)$/.test(pair.reason ?? '');
  const code = findDisagreement(pair, v3, v4);
  if (code === null) return { kind: 'agrees', deletedSince: v4?.deleted === true && !wasDeleted };
  if (code === 'v4_not_found' && wasDeleted) return { kind: 'gone' };
  return { kind: 'disagrees', code, v3, v4 };
}

function findDisagreement(pair: MappedPair, v3: PairSide | null, v4: PairSide | null): Disagreement | null {
  if (v3 === null) return 'v3_not_found';
  if (v4 === null) return 'v4_not_found';
  if (v3.companyId !== pair.v3CompanyId || v4.companyId !== pair.v4CompanyId) return 'company_differs';
  if (pair.matchedBy === 'decision') {
    const isSame = v3.platformId === pair.platformId && v4.platformId === pair.v4PlatformId;
    return isSame ? null : 'platform_id_changed';
  }
  if (v3.platformId === null || v3.platformId !== v4.platformId) return 'platform_id_differs';
  if (v3.platformId !== pair.platformId) return 'platform_id_changed';
  // Several records have this key, so it alone does not identify the pair.
  const byUniqueId = pair.matchedBy === 'platform_unique_id';
  return byUniqueId && v3.platformUniqueId !== v4.platformUniqueId ? 'unique_id_differs' : null;
}

/** The record, or the child in it, that a side of a pair names. */
export function sideOf(record: ParsedRecord | null, path: string, svcId: bigint): PairSide | null {
  if (record === null || path === '') return record;
  const child = record.children.find((one) => one.path === path && one.svcId === svcId);
  return child === undefined ? null : { ...child, companyId: record.companyId };
}
