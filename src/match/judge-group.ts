import { at, must } from '../text/at.js';
import { append, compare } from '../text/rows.js';
import { numberOf, type OutcomeName, withFlags } from './outcomes.js';

/** An object that is joined by its key: a record within a company pair, or a child within a pair of records. */
export interface KeyMember {
  /** 3 or 4 */
  readonly gen: bigint;
  readonly svcId: bigint;
  readonly uid: string | null;
  /** 0 or 1 */
  readonly deleted: bigint;
}

/**
 * | kind       | of   | meaning                                                                      |
 * | ---------- | ---- | ---------------------------------------------------------------------------- |
 * | pair       | 3    | `twin` is its V4 object; `merged` names the other live V3 objects that have it |
 * | superseded | 3, 4 | deleted, and the group has a live object of the same generation              |
 * | absent     | 3, 4 | the other generation has no object with this key                             |
 * | dup_v3     | 3, 4 | several live V3 objects, and it is open which V4 object this is              |
 * | dup_v4     | 3, 4 | several V4 candidates, and none is singled out                               |
 * | claimed    | 4    | the twin of a V3 object                                                      |
 */
export type GroupVerdict<M> =
  | {
      readonly kind: 'pair';
      readonly twin: M;
      readonly by: 'platform_id' | 'platform_unique_id';
      readonly merged: readonly bigint[];
    }
  | { readonly kind: 'superseded' | 'absent' | 'dup_v3' | 'dup_v4' | 'claimed' };

const ABSENT = { kind: 'absent' } as const;
const CLAIMED = { kind: 'claimed' } as const;
const SUPERSEDED = { kind: 'superseded' } as const;
const DUP_V3 = { kind: 'dup_v3' } as const;
const DUP_V4 = { kind: 'dup_v4' } as const;

/**
 * Judges a group: all objects of both generations with one key, within one company pair (records) or one field of one
 * pair of records (children). Returns the verdicts in the order of the members.
 */
export function judgeGroup<M extends KeyMember>(members: readonly M[]): readonly GroupVerdict<M>[] {
  const v3 = members.filter(({ gen }) => gen === 3n);
  const v4 = describeV4(members.filter(({ gen }) => gen === 4n));
  const ofV3 = judgeV3Members(v3, v4);
  const verdicts = new Map<M, GroupVerdict<M>>(v3.map((member, index) => [member, at(ofV3, index)]));
  const claimed = new Set(ofV3.flatMap((verdict) => (verdict.kind === 'pair' ? [verdict.twin] : [])));
  const side = describeV3(v3);
  return members.map((member) => verdicts.get(member) ?? judgeV4Member(member, side, v4, claimed));
}

export interface V3Side {
  readonly count: number;
  readonly live: number;
}

export function describeV3(v3: readonly KeyMember[]): V3Side {
  return { count: v3.length, live: v3.filter(({ deleted }) => !deleted).length };
}

/** Judges a V4 object after the V3 objects of its group, which claim some of the V4 objects. */
export function judgeV4Member<M extends KeyMember>(
  member: M,
  v3: V3Side,
  { live }: V4Side<M>,
  claimed: ReadonlySet<M>,
): GroupVerdict<M> {
  if (claimed.has(member)) return CLAIMED;
  if (member.deleted && live > 0) return SUPERSEDED;
  if (v3.count === 0) return ABSENT;
  return v3.live > 1 ? DUP_V3 : DUP_V4;
}

export interface V4Side<M> {
  readonly live: number;
  /** The live ones, or the deleted ones if none is live. */
  readonly candidates: readonly M[];
  /** Candidates by unique id; null if several have it. */
  readonly byUid: ReadonlyMap<string, M | null>;
}

export function describeV4<M extends KeyMember>(v4: readonly M[]): V4Side<M> {
  const live = v4.filter(({ deleted }) => !deleted);
  const candidates = live.length > 0 ? live : v4;
  const byUid = new Map<string, M | null>();
  for (const member of candidates) {
    if (member.uid !== null) byUid.set(member.uid, byUid.has(member.uid) ? null : member);
  }
  return { live: live.length, candidates, byUid };
}

/** The verdicts of the V3 objects of a group, in their order. Takes time linear in their number. */
export function judgeV3Members<M extends KeyMember>(v3: readonly M[], v4: V4Side<M>): GroupVerdict<M>[] {
  const { live } = describeV3(v3);
  const verdicts = v3.map((member) => judgeV3Member(member, live, v4));
  return live > 1 ? nameMerged(v3, verdicts) : verdicts;
}

function judgeV3Member<M extends KeyMember>(
  member: M,
  live: number,
  { candidates, byUid }: V4Side<M>,
): GroupVerdict<M> {
  if (member.deleted && live > 0) return SUPERSEDED;
  const [candidate] = candidates;
  if (candidate === undefined) return ABSENT;
  const isOneOfSeveral = live > 1;
  if (candidates.length > 1) {
    const twin = member.uid === null ? null : byUid.get(member.uid);
    if (twin != null) return { kind: 'pair', twin, by: 'platform_unique_id', merged: [] };
    return isOneOfSeveral ? DUP_V3 : DUP_V4;
  }
  if (isOneOfSeveral && areDifferent(member.uid, candidate.uid)) return DUP_V3;
  const isToldApart = isOneOfSeveral && member.uid !== null && member.uid === candidate.uid;
  const by = isToldApart ? 'platform_unique_id' : 'platform_id';
  return { kind: 'pair', twin: candidate, by, merged: [] };
}

/** Names for each live V3 object the others with the same twin. */
function nameMerged<M extends KeyMember>(
  v3: readonly M[],
  verdicts: readonly GroupVerdict<M>[],
): GroupVerdict<M>[] {
  const sharers = new Map<M, bigint[]>();
  for (const [index, verdict] of verdicts.entries()) {
    if (verdict.kind === 'pair') append(sharers, verdict.twin, at(v3, index).svcId);
  }
  const lowest = new Map([...sharers].map(([twin, ids]) => [twin, lowestIds(ids, MAX_NAMED_IDS + 1)]));
  return verdicts.map((verdict, index) => {
    if (verdict.kind !== 'pair') return verdict;
    const { svcId } = at(v3, index);
    const others = must(lowest.get(verdict.twin), 'sharers').filter((id) => id !== svcId);
    return { ...verdict, merged: others.slice(0, MAX_NAMED_IDS) };
  });
}

export function areDifferent(uid: string | null, other: string | null): boolean {
  return uid !== null && other !== null && uid !== other;
}

const MAX_NAMED_IDS = 5;

function lowestIds(ids: readonly bigint[], count: number): bigint[] {
  return [...ids].sort(compare).slice(0, count);
}

function nameIds(ids: readonly bigint[]): readonly string[] {
  return lowestIds(ids, MAX_NAMED_IDS).map(String);
}

export interface GroupIds {
  readonly v3Live: readonly string[];
  readonly v4Live: readonly string[];
  readonly v4: readonly string[];
}

export function listGroupIds(members: readonly KeyMember[]): GroupIds {
  const idsOf = (gen: bigint, isLive: boolean) =>
    nameIds(
      members.flatMap((member) => (member.gen === gen && !(isLive && member.deleted) ? [member.svcId] : [])),
    );
  return { v3Live: idsOf(3n, true), v4Live: idsOf(4n, true), v4: idsOf(4n, false) };
}

/** The evidence of a verdict as JSON; null if it needs none. */
export function renderGroupEvidence(
  verdict: GroupVerdict<KeyMember>,
  gen: bigint,
  { v3Live, v4Live, v4 }: GroupIds,
): string | null {
  switch (verdict.kind) {
    case 'pair':
      return verdict.merged.length === 0
        ? null
        : JSON.stringify({ merged_v3_svc_ids: verdict.merged.map(String) });
    case 'superseded':
      return JSON.stringify(gen === 3n ? { live_v3_svc_ids: v3Live } : { live_v4_svc_ids: v4Live });
    case 'dup_v3':
    case 'dup_v4':
      return JSON.stringify({ v3_svc_ids: v3Live, v4_svc_ids: v4 });
    case 'absent':
    case 'claimed':
      return null;
  }
}

/** The outcome of a verdict; null if it follows from what the other generation lacks. */
export function outcomeOf(member: KeyMember, verdict: GroupVerdict<KeyMember>): number | null {
  const isV4 = member.gen === 4n;
  switch (verdict.kind) {
    case 'pair':
      return withFlags(numberOf(pairOutcome(member.deleted, verdict.twin.deleted)), {
        by_key: verdict.by === 'platform_id',
        by_unique_id: verdict.by === 'platform_unique_id',
        conflict: areDifferent(member.uid, verdict.twin.uid),
        merged: verdict.merged.length > 0,
      });
    case 'superseded':
      return withFlags(numberOf(isV4 ? 'superseded_in_v4' : 'superseded_in_v3'), { only_v4: isV4 });
    case 'dup_v3':
      return withFlags(numberOf('duplicate_v3'), { only_v4: isV4 });
    case 'dup_v4':
      return withFlags(numberOf('duplicate_v4'), { only_v4: isV4 });
    case 'absent':
    case 'claimed':
      return null;
  }
}

function pairOutcome(v3Deleted: bigint, v4Deleted: bigint): OutcomeName {
  if (v3Deleted) return v4Deleted ? 'deleted_in_both' : 'deleted_in_v3';
  return v4Deleted ? 'deleted_in_v4' : 'matched';
}
