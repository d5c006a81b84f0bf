/** An object that is joined by its key: a record within a company pair, or a child within a pair of records. */
export interface KeyMember {
  readonly gen: 3 | 4;
  readonly deleted: boolean;
  readonly uid: string | null;
}

/**
 * | kind       | of   | meaning                                                              |
 * | ---------- | ---- | -------------------------------------------------------------------- |
 * | pair       | 3    | `twin` is its V4 object, found `by`                                  |
 * | superseded | 3, 4 | deleted, and the group has a live object of the same generation      |
 * | absent     | 3, 4 | the other generation has no object with this key                     |
 * | dup_v3     | 3, 4 | several live V3 objects that cannot be told apart                    |
 * | dup_v4     | 3, 4 | several V4 candidates; for V4, also one that is left without a pair  |
 * | claimed    | 4    | the twin of a V3 object                                              |
 */
export type GroupVerdict<M> =
  | { readonly kind: 'pair'; readonly twin: M; readonly by: 'platform_id' | 'platform_unique_id' }
  | { readonly kind: 'superseded' | 'absent' | 'dup_v3' | 'dup_v4' | 'claimed' };

const ABSENT = { kind: 'absent' } as const;
const CLAIMED = { kind: 'claimed' } as const;
const SUPERSEDED = { kind: 'superseded' } as const;
const DUP_V3 = { kind: 'dup_v3' } as const;
const DUP_V4 = { kind: 'dup_v4' } as const;

/**
 * Judges a group: all objects of both generations with one key, within one company pair (records) or one field of one
 * pair of records (children). Returns the verdicts in the order of the members. Pure.
 */
export function judgeGroup<M extends KeyMember>(members: readonly M[]): readonly GroupVerdict<M>[] {
  const [a, b] = members;
  if (a !== undefined && b === undefined) return [ABSENT];
  if (a !== undefined && b !== undefined && members.length === 2 && a.gen !== b.gen) {
    const pair = { kind: 'pair', twin: a.gen === 3 ? b : a, by: 'platform_id' } as const;
    return a.gen === 3 ? [pair, CLAIMED] : [CLAIMED, pair];
  }
  const v3 = members.filter(({ gen }) => gen === 3);
  const v4Side = describeV4(members.filter(({ gen }) => gen === 4));
  const verdicts = new Map<M, GroupVerdict<M>>();
  const claimed = new Set<M>();
  for (const [at, verdict] of judgeV3Members(v3, v4Side).entries()) {
    const one = v3[at];
    if (one !== undefined) verdicts.set(one, verdict);
    if (verdict.kind === 'pair') claimed.add(verdict.twin);
  }
  const liveV3 = v3.filter(({ deleted }) => !deleted).length;
  const judgeV4 = (one: M): GroupVerdict<M> => {
    if (claimed.has(one)) return CLAIMED;
    if (one.deleted && v4Side.live > 0) return SUPERSEDED;
    if (v3.length === 0) return ABSENT;
    return liveV3 > 1 ? DUP_V3 : DUP_V4;
  };
  return members.map((one) => verdicts.get(one) ?? judgeV4(one));
}

/** The V4 objects of a group. */
export interface V4Side<M> {
  readonly live: number;
  /** The live ones, or the deleted ones if none is live. */
  readonly candidates: readonly M[];
  /** Candidates by unique id; null if several have it. */
  readonly byUid: ReadonlyMap<string, M | null>;
}

/** Indexes the V4 objects of a group for `judgeV3Members`. */
export function describeV4<M extends KeyMember>(v4: readonly M[]): V4Side<M> {
  const live = v4.filter(({ deleted }) => !deleted);
  const candidates = live.length > 0 ? live : v4;
  return { live: live.length, candidates, byUid: onlyByUid(candidates) };
}

/** The verdicts of the V3 objects of a group, in their order. Takes time linear in their number. */
export function judgeV3Members<M extends KeyMember>(
  v3: readonly M[],
  { candidates, byUid }: V4Side<M>,
): GroupVerdict<M>[] {
  const live = v3.filter(({ deleted }) => !deleted);
  const liveByUid = onlyByUid(live);
  const [first, second] = candidates;
  return v3.map((one) => {
    if (one.deleted && live.length > 0) return SUPERSEDED;
    if (first === undefined) return ABSENT;
    if (second === undefined && live.length < 2) return { kind: 'pair', twin: first, by: 'platform_id' };
    const twin = one.uid === null ? null : (byUid.get(one.uid) ?? null);
    const isOneOfSeveral = live.length > 1;
    const isOnly = !isOneOfSeveral || (one.uid !== null && liveByUid.get(one.uid) === one);
    if (twin !== null && isOnly) return { kind: 'pair', twin, by: 'platform_unique_id' };
    return isOneOfSeveral ? DUP_V3 : DUP_V4;
  });
}

function onlyByUid<M extends KeyMember>(members: readonly M[]): Map<string, M | null> {
  const only = new Map<string, M | null>();
  for (const one of members) if (one.uid !== null) only.set(one.uid, only.has(one.uid) ? null : one);
  return only;
}

/** The reason of a pair, by which of its objects are deleted; null if it is `matched`. */
export function pairReason(v3Deleted: boolean, v4Deleted: boolean): PairReason | null {
  if (v3Deleted) return v4Deleted ? 'deleted_in_both' : 'deleted_in_v3';
  return v4Deleted ? 'deleted_in_v4' : null;
}

type PairReason = 'deleted_in_v3' | 'deleted_in_v4' | 'deleted_in_both';

/** Evidence names at most this many ids. */
const MAX_NAMED_IDS = 5;

/** The lowest ids, as many as evidence names. */
export function lowestIds(ids: readonly bigint[]): bigint[] {
  return [...ids].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)).slice(0, MAX_NAMED_IDS);
}

/** The lowest ids as text, for evidence. */
export function nameIds(ids: readonly bigint[]): readonly string[] {
  return lowestIds(ids).map(String);
}

/** Ids of the objects of a group, for evidence. */
export interface GroupIds {
  readonly v3Live: readonly string[];
  readonly v4Live: readonly string[];
  readonly v4: readonly string[];
}

/** Lists the ids of a group, for evidence. */
export function listGroupIds<M extends KeyMember>(members: readonly M[], idOf: (one: M) => bigint): GroupIds {
  const v4 = members.filter(({ gen }) => gen === 4);
  return {
    v3Live: nameIds(members.filter(({ gen, deleted }) => gen === 3 && !deleted).map(idOf)),
    v4Live: nameIds(v4.filter(({ deleted }) => !deleted).map(idOf)),
    v4: nameIds(v4.map(idOf)),
  };
}

/** Evidence as JSON: the live objects that supersede, or the candidates that cannot be told apart. */
export function renderGroupEvidence(
  kind: 'superseded' | 'dup_v3' | 'dup_v4',
  gen: 3 | 4,
  { v3Live, v4Live, v4 }: GroupIds,
): string {
  if (kind !== 'superseded') return JSON.stringify({ v3_svc_ids: v3Live, v4_svc_ids: v4 });
  return JSON.stringify(gen === 3 ? { live_v3_svc_ids: v3Live } : { live_v4_svc_ids: v4Live });
}

/**
 * Evidence of a decided row as JSON: the previous evidence, the decision, and V4's key if it differs from the row's
 * (`v4Key`; undefined: they are equal).
 */
export function renderDecided(
  evidence: string | null,
  { note, insteadOf }: { readonly note: string; readonly insteadOf: string | null },
  v4Key?: string | null,
): string {
  const before: object = evidence === null ? {} : JSON.parse(evidence);
  return JSON.stringify({
    ...before,
    ...(v4Key === undefined ? {} : { v4_platform_id: v4Key }),
    decision: { note, instead_of: insteadOf },
  });
}
