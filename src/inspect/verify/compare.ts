import type { ParsedChild, ParsedRecord } from '../../domain.js';
import type { MappedPair } from '../../store/mapped-pairs.js';

/** How a pair can disagree with what the two APIs say now. */
export const DISAGREEMENTS = [
  'v3_not_found',
  'v4_not_found',
  'parent_not_mapped',
  'company_differs',
  'platform_id_differs',
  'platform_id_changed',
  'unique_id_differs',
] as const;
export type Disagreement = (typeof DISAGREEMENTS)[number];

/** The part of a record or child that a pair is proved by. */
export interface Side {
  readonly companyId: bigint;
  readonly platformId: string | null;
  readonly platformUniqueId: string | null;
  readonly deleted: boolean;
}

export type Comparison =
  | { readonly kind: 'agrees' /** Live when exported, deleted now. */; readonly deletedSince: boolean }
  | {
      readonly kind: 'disagrees';
      readonly code: Disagreement;
      readonly v3: Side | null;
      readonly v4: Side | null;
    }
  /** V4 no longer shows a record that it had deleted: nothing to compare, and nothing wrong. */
  | { readonly kind: 'gone' };

/** Holds a pair against both records as they are now; null where a side has none. */
export function comparePair(pair: MappedPair, v3: Side | null, v4: Side | null): Comparison {
  const code = findDisagreement(pair, v3, v4);
  if (code === null) return { kind: 'agrees', deletedSince: v4?.deleted === true && !isDeletedInV4(pair) };
  if (code === 'v4_not_found' && isDeletedInV4(pair)) return { kind: 'gone' };
  return { kind: 'disagrees', code, v3, v4 };
}

function findDisagreement(pair: MappedPair, v3: Side | null, v4: Side | null): Disagreement | null {
  if (v3 === null) return 'v3_not_found';
  if (v4 === null) return 'v4_not_found';
  if (v3.companyId !== pair.v3CompanyId || v4.companyId !== pair.v4CompanyId) return 'company_differs';
  if (pair.matchedBy === 'decision') {
    const isSame = v3.platformId === pair.platformId && v4.platformId === pair.v4PlatformId;
    return isSame ? null : 'platform_id_changed';
  }
  if (v3.platformId === null || v3.platformId !== v4.platformId) return 'platform_id_differs';
  if (v3.platformId !== pair.platformId) return 'platform_id_changed';
  // Then the key alone singles nothing out.
  const byUniqueId = pair.matchedBy === 'platform_unique_id';
  return byUniqueId && v3.platformUniqueId !== v4.platformUniqueId ? 'unique_id_differs' : null;
}

function isDeletedInV4({ status, reason }: MappedPair): boolean {
  return status === 'deleted' && /(^|_)deleted_in_(v4|both)$/.test(reason ?? '');
}

/** The record, or the child in it, that a side of a pair names. */
export function sideOf(record: ParsedRecord | null, path: string, svcId: bigint): Side | null {
  if (record === null || path === '') return record;
  const child = record.children.find((one: ParsedChild) => one.path === path && one.svcId === svcId);
  return child === undefined ? null : { ...child, companyId: record.companyId };
}
