/** An object with a key in its place: a record of a company pair, or a child of a parent pair. */
export interface Member {
  readonly gen: 3 | 4;
  readonly deleted: boolean;
  readonly uid: string | null;
}

/**
 * | kind       | of   | meaning                                                              |
 * | ---------- | ---- | -------------------------------------------------------------------- |
 * | pair       | 3    | `twin` is the one V4 object it became, found `by`                    |
 * | superseded | 3, 4 | deleted, and the group holds a live one of its own generation        |
 * | absent     | 3, 4 | the other generation has nothing under this key                      |
 * | dup_v3     | 3, 4 | several live V3 objects, not told apart                              |
 * | dup_v4     | 3, 4 | several V4 candidates, not told apart; or left over beside the twin  |
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
 * The join itself, the same for records and for children: product.md's table from "B is empty" down, applied to all
 * objects with one key in one place. Verdicts come in the order of the members. Pure.
 */
export function judgeGroup<M extends Member>(members: readonly M[]): readonly GroupVerdict<M>[] {
  const [a, b] = members;
  if (a !== undefined && b === undefined) return [ABSENT];
  if (a !== undefined && b !== undefined && members.length === 2 && a.gen !== b.gen) {
    const pair = { kind: 'pair', twin: a.gen === 3 ? b : a, by: 'platform_id' } as const;
    return a.gen === 3 ? [pair, CLAIMED] : [CLAIMED, pair];
  }
  return judgeSeveral(members);
}

function judgeSeveral<M extends Member>(members: readonly M[]): GroupVerdict<M>[] {
  const v3 = members.filter(({ gen }) => gen === 3);
  const v4 = members.filter(({ gen }) => gen === 4);
  const live3 = v3.filter(({ deleted }) => !deleted);
  const live4 = v4.filter(({ deleted }) => !deleted);
  const group: Group<M> = {
    v3Count: v3.length,
    live3: live3.length,
    live4: live4.length,
    candidates: live4.length > 0 ? live4 : v4,
    byUid: onlyByUid(live4.length > 0 ? live4 : v4),
    live3ByUid: onlyByUid(live3),
  };
  const verdicts = new Map<M, GroupVerdict<M>>();
  const claimed = new Set<M>();
  for (const one of v3) {
    const verdict = judgeV3(one, group);
    verdicts.set(one, verdict);
    if (verdict.kind === 'pair') claimed.add(verdict.twin);
  }
  return members.map((one) => verdicts.get(one) ?? (claimed.has(one) ? CLAIMED : judgeV4(one, group)));
}

interface Group<M> {
  readonly v3Count: number;
  readonly live3: number;
  readonly live4: number;
  /** V4's live ones, or its deleted ones if none is live. */
  readonly candidates: readonly M[];
  /** The only candidate with a unique id; the only live V3 object with one. Null: there are several. */
  readonly byUid: ReadonlyMap<string, M | null>;
  readonly live3ByUid: ReadonlyMap<string, M | null>;
}

function onlyByUid<M extends Member>(members: readonly M[]): Map<string, M | null> {
  const only = new Map<string, M | null>();
  for (const one of members) if (one.uid !== null) only.set(one.uid, only.has(one.uid) ? null : one);
  return only;
}

function judgeV3<M extends Member>(one: M, group: Group<M>): GroupVerdict<M> {
  const { candidates, live3 } = group;
  const [first, second] = candidates;
  if (one.deleted && live3 > 0) return SUPERSEDED;
  if (first === undefined) return ABSENT;
  if (second === undefined && (one.deleted || live3 === 1)) {
    return { kind: 'pair', twin: first, by: 'platform_id' };
  }
  const twin = one.uid === null ? null : (group.byUid.get(one.uid) ?? null);
  const isSingled = !one.deleted && live3 > 1;
  const isOnly = !isSingled || (one.uid !== null && group.live3ByUid.get(one.uid) === one);
  if (twin !== null && isOnly) return { kind: 'pair', twin, by: 'platform_unique_id' };
  return isSingled ? DUP_V3 : DUP_V4;
}

function judgeV4<M extends Member>(one: M, group: Group<M>): GroupVerdict<M> {
  if (one.deleted && group.live4 > 0) return SUPERSEDED;
  if (group.v3Count === 0) return ABSENT;
  return group.live3 > 1 ? DUP_V3 : DUP_V4;
}

/** The reason of a pair of records or children by which of them is deleted; null where it is `matched`. */
export function pairReason(v3Deleted: boolean, v4Deleted: boolean): PairReason | null {
  if (v3Deleted) return v4Deleted ? 'deleted_in_both' : 'deleted_in_v3';
  return v4Deleted ? 'deleted_in_v4' : null;
}

type PairReason = 'deleted_in_v3' | 'deleted_in_v4' | 'deleted_in_both';
