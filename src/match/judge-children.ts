import type { StoredChild } from '../json/stored-lists.js';
import type { Status } from '../reasons.js';
import { append } from '../text/rows.js';
import { foldKey } from './explain-records.js';
import {
  describeV4,
  type GroupIds,
  type GroupVerdict,
  judgeGroup,
  judgeV3Members,
  type KeyMember,
  listGroupIds,
  nameIds,
  pairReason,
  renderGroupEvidence,
  type V4Side,
} from './judge-group.js';

/** A child of a pair of records. */
export interface ChildMember extends KeyMember {
  readonly path: string;
  readonly svcId: string;
  readonly key: string | null;
}

/** The outcome of a child, in the order of the columns of `judged_child`. */
export type ChildRow = readonly [
  gen: 3 | 4,
  path: string,
  v3SvcId: string | null,
  v4SvcId: string | null,
  key: string | null,
  status: Status,
  reason: string | null,
  by: string | null,
  evidence: string | null,
  conflict: 0 | 1,
];

/** The outcomes of the children of a pair. */
export interface ChildRows {
  /** One for every V3 child. */
  readonly v3: readonly ChildRow[];
  /** One for every V4 child without a V3 child. */
  readonly v4: readonly ChildRow[];
}

type Outcome = readonly [status: Status, reason: string | null];

/**
 * Joins the children of a pair of records, by the same rules as records, within each field. If the pair is not
 * `matched`, its children inherit its reason, `parentReason`. The backfill window and dates are not considered. Pure.
 */
export function judgeChildren(
  v3: readonly StoredChild[],
  v4: readonly StoredChild[],
  parentReason: string | null,
): ChildRows {
  const inOrder = pairInOrder(v3, v4, inheritOutcome(parentReason));
  if (inOrder !== null) return inOrder;
  const twin = new TwinChildren(v4);
  const judged = { v3: twin.judge(v3), v4: twin.judgeUnclaimed() };
  const near = parentReason === null ? findNear([...judged.v3, ...judged.v4]) : NO_NEAR;
  return { v3: rowsOf(judged.v3, parentReason, near), v4: rowsOf(judged.v4, parentReason, near) };
}

/** The outcome of the children of a pair that is not `matched`, whose reason is given; null if it is matched. */
function inheritOutcome(parentReason: string | null): Outcome | null {
  return parentReason === null ? null : ['deleted', `parent_${parentReason}`];
}

/** Longer lists are not paired in order: checking them for duplicates compares each child with each. */
const MAX_IN_ORDER = 8;

/** The usual case: both sides have the same keys in the same order, without duplicates. Null in any other case. */
function pairInOrder(
  v3: readonly StoredChild[],
  v4: readonly StoredChild[],
  inherited: Outcome | null,
): ChildRows | null {
  if (v3.length !== v4.length || v3.length > MAX_IN_ORDER) return null;
  const rows: ChildRow[] = [];
  for (const [at, [path, svcId, key, uid, deleted]] of v3.entries()) {
    const twin = v4[at];
    if (twin === undefined || key === null || twin[0] !== path || twin[2] !== key) return null;
    if (rows.some((row) => row[1] === path && row[4] === key)) return null;
    const [status, reason] = inherited ?? pairOutcome(deleted === 1, twin[4] === 1);
    rows.push([3, path, svcId, twin[1], key, status, reason, 'platform_id', null, conflictOf(uid, twin[3])]);
  }
  return { v3: rows, v4: [] };
}

function membersOf(gen: 3 | 4, children: readonly StoredChild[]): ChildMember[] {
  return children.map(([path, svcId, key, uid, deleted]) => ({
    ...{ gen, path, svcId, key, uid },
    deleted: deleted === 1,
  }));
}

/** Groups children by field and key. A child without a key is a group of its own. */
function groupChildren(children: readonly ChildMember[]): Map<string, ChildMember[]> {
  const groups = new Map<string, ChildMember[]>();
  for (const [at, child] of children.entries()) {
    append(groups, child.key === null ? `${at}` : `${child.path}\0${child.key}`, child);
  }
  return groups;
}

/** A child with its verdict, and the evidence of its group. */
interface Judged {
  readonly child: ChildMember;
  readonly verdict: GroupVerdict<ChildMember>;
  readonly evidence: string | null;
}

/** The V4 children of one field and key. */
interface V4Group {
  readonly members: readonly ChildMember[];
  readonly side: V4Side<ChildMember>;
  readonly named: GroupIds;
  /** The V3 children with the key, of the last record that has any; the evidence of V4 children names them. */
  last: readonly ChildMember[];
}

const NO_V4: Pick<V4Group, 'named' | 'side'> = { named: nameChildren([]), side: describeV4([]) };

/**
 * The children of a V4 record, which are judged with those of each V3 record that is paired with it. They are indexed once, so
 * that the time for each V3 record depends only on its own children. Several V3 records share a twin only if they are deleted.
 */
export class TwinChildren {
  readonly #groups: ReadonlyMap<string, V4Group>;
  /** The V4 children that are paired with V3 ones. */
  readonly claimed = new Set<ChildMember>();

  constructor(children: readonly StoredChild[]) {
    const groupOf = (members: readonly ChildMember[]): V4Group => ({
      members,
      side: describeV4(members),
      named: nameChildren(members),
      last: [],
    });
    const groups = groupChildren(membersOf(4, children));
    this.#groups = new Map([...groups].map(([place, members]) => [place, groupOf(members)]));
  }

  /** Judges the children of a V3 record. */
  judge(children: readonly StoredChild[]): Judged[] {
    return [...groupChildren(membersOf(3, children))].flatMap(([place, members]) => {
      const group = members[0]?.key === null ? undefined : this.#groups.get(place);
      if (group !== undefined) group.last = members;
      const { named, side } = group ?? NO_V4;
      const verdicts = judgeV3Members(members, side);
      for (const verdict of verdicts) if (verdict.kind === 'pair') this.claimed.add(verdict.twin);
      return withEvidence(members, verdicts, () => ({ ...named, v3Live: nameChildren(members).v3Live }));
    });
  }

  /** Judges the V4 children without a V3 child, after those of all V3 records. */
  judgeUnclaimed(): Judged[] {
    return [...this.#groups.values()].flatMap(({ members, last }) => {
      const all = [...members, ...last];
      const judged = withEvidence(members, judgeGroup(all), () => nameChildren(all));
      return judged.filter(({ child }) => !this.claimed.has(child));
    });
  }
}

/** Adds the evidence of a group to the verdicts of its members. `name` is called once, and only if needed. */
function withEvidence(
  members: readonly ChildMember[],
  verdicts: readonly GroupVerdict<ChildMember>[],
  name: () => GroupIds,
): Judged[] {
  let ids: GroupIds | undefined;
  return members.flatMap((child, at) => {
    const verdict = verdicts[at];
    if (verdict === undefined) return [];
    const { kind } = verdict;
    if (kind !== 'superseded' && kind !== 'dup_v3' && kind !== 'dup_v4')
      return { child, verdict, evidence: null };
    ids ??= name();
    return { child, verdict, evidence: renderGroupEvidence(kind, child.gen, ids) };
  });
}

/** The ids of a group's children, for evidence. */
function nameChildren(members: readonly ChildMember[]): GroupIds {
  return listGroupIds(members, ({ svcId }) => BigInt(svcId));
}

/** The rows of children of one generation, by field and id, as children are stored. */
export function rowsOf(
  judged: readonly Judged[],
  parentReason: string | null,
  near: ReadonlyMap<ChildMember, string> = NO_NEAR,
): ChildRow[] {
  const inherited = inheritOutcome(parentReason);
  const idOf = ([gen, , v3, v4]: ChildRow) => BigInt((gen === 3 ? v3 : v4) ?? 0);
  return judged
    .map(({ child, verdict, evidence }) => {
      const found = near.get(child);
      const outcome = inherited ?? outcomeOf(child, verdict, found !== undefined);
      return rowOf(child, verdict, outcome, found ?? evidence);
    })
    .sort((a, b) => {
      if (a[1] !== b[1]) return a[1] < b[1] ? -1 : 1;
      return idOf(a) < idOf(b) ? -1 : 1;
    });
}

const NO_NEAR: ReadonlyMap<ChildMember, string> = new Map();

/** The row of a child; only a pair names both ids. */
function rowOf(
  { path, svcId, key, uid, gen }: ChildMember,
  verdict: GroupVerdict<ChildMember>,
  [status, reason]: Outcome,
  evidence: string | null,
): ChildRow {
  if (verdict.kind !== 'pair') {
    const [v3, v4] = gen === 3 ? [svcId, null] : [null, svcId];
    return [gen, path, v3, v4, key, status, reason, null, evidence, 0];
  }
  const { twin, by } = verdict;
  return [gen, path, svcId, twin.svcId, key, status, reason, by, null, conflictOf(uid, twin.uid)];
}

/** 1 if both unique ids are set and differ. */
export function conflictOf(uid: string | null, twinUid: string | null): 0 | 1 {
  return uid !== null && twinUid !== null && uid !== twinUid ? 1 : 0;
}

function outcomeOf(
  { gen, deleted, key }: ChildMember,
  verdict: GroupVerdict<ChildMember>,
  isNear: boolean,
): Outcome {
  switch (verdict.kind) {
    case 'pair':
      return pairOutcome(deleted, verdict.twin.deleted);
    case 'superseded':
      return ['deleted', `superseded_in_v${gen}`];
    case 'dup_v3':
      return ['ambiguous', 'duplicate_platform_id_v3'];
    case 'dup_v4':
      return ['ambiguous', 'duplicate_platform_id_v4'];
    default:
      if (deleted && gen === 4) return ['deleted', 'deleted_v4_only'];
      if (deleted) return ['deleted', key === null ? 'no_platform_id' : 'deleted_not_in_v4'];
      if (key === null) return [gen === 3 ? 'unmatched' : 'v4_only', 'no_platform_id'];
      return [gen === 3 ? 'unmatched' : 'v4_only', isNear ? 'key_changed' : 'unexplained'];
  }
}

function pairOutcome(v3Deleted: boolean, v4Deleted: boolean): Outcome {
  const reason = pairReason(v3Deleted, v4Deleted);
  return [reason === null ? 'matched' : 'deleted', reason];
}

/** Finds the children that share a unique id or folded key with one of the other generation, and their evidence. */
function findNear(judged: readonly Judged[]): Map<ChildMember, string> {
  const near = new Map<ChildMember, string>();
  const open = judged.flatMap(({ child, verdict }) =>
    verdict.kind === 'absent' && !child.deleted ? [child] : [],
  );
  const v3 = open.filter(({ gen }) => gen === 3);
  const v4 = open.filter(({ gen }) => gen === 4);
  for (const [own, others, name] of [
    [v3, v4, 'v4_svc_ids'],
    [v4, v3, 'v3_svc_ids'],
  ] as const) {
    const named = nameByNearKey(others);
    for (const child of own) {
      if (child.key === null) continue;
      const ids = new Set(nearKeysOf(child).flatMap((nearKey) => named.get(nearKey) ?? []));
      if (ids.size > 0) near.set(child, JSON.stringify({ [name]: nameIds([...ids].map(BigInt)) }));
    }
  }
  return near;
}

/** The ids to name in evidence, by near key. */
function nameByNearKey(children: readonly ChildMember[]): ReadonlyMap<string, readonly string[]> {
  const ids = new Map<string, bigint[]>();
  for (const child of children)
    for (const nearKey of nearKeysOf(child)) append(ids, nearKey, BigInt(child.svcId));
  return new Map([...ids].map(([nearKey, all]) => [nearKey, nameIds(all)]));
}

/** Two children with a near key in common may be one child whose key changed. */
function nearKeysOf({ path, uid, key }: ChildMember): string[] {
  const ofUid = uid === null ? [] : [`uid\0${path}\0${uid}`];
  return key === null ? ofUid : [...ofUid, `key\0${path}\0${foldKey(key)}`];
}
