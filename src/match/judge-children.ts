import type { StoredChild } from '../json/stored-lists.js';
import type { Status } from '../reasons.js';
import { append } from '../text/rows.js';
import { foldKey } from './explain-records.js';
import {
  type GroupIds,
  type GroupVerdict,
  judgeGroup,
  type KeyMember,
  listGroupIds,
  nameIds,
  pairReason,
  renderGroupEvidence,
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
  const inherited = parentReason === null ? null : inheritOutcome(parentReason);
  return pairInOrder(v3, v4, inherited) ?? judgeByKey([...membersOf(3, v3), ...membersOf(4, v4)], inherited);
}

/** The outcome of the children of a pair that is not `matched`. */
export function inheritOutcome(parentReason: string): Outcome {
  return ['deleted', `parent_${parentReason}`];
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

/** Stored children as members of their groups. */
export function membersOf(gen: 3 | 4, children: readonly StoredChild[]): ChildMember[] {
  return children.map(([path, svcId, key, uid, deleted]) => ({
    gen,
    path,
    svcId,
    key,
    uid,
    deleted: deleted === 1,
  }));
}

/** Groups children by field and key. A child without a key is a group of its own. */
export function groupChildren(children: readonly ChildMember[]): Map<string, ChildMember[]> {
  const groups = new Map<string, ChildMember[]>();
  for (const [at, child] of children.entries()) {
    append(groups, child.key === null ? `${at}` : `${child.path}\0${child.key}`, child);
  }
  return groups;
}

function judgeByKey(children: readonly ChildMember[], inherited: Outcome | null): ChildRows {
  const judged = [...groupChildren(children).values()].flatMap((members) => {
    const verdicts = judgeGroup(members);
    const evidenceOf = prepareChildEvidence(() => nameChildren(members));
    return members.flatMap((child, at) => {
      const verdict = verdicts[at];
      return verdict === undefined ? [] : [{ child, verdict, evidence: evidenceOf(child, verdict) }];
    });
  });
  const open = judged.filter(({ child, verdict }) => verdict.kind === 'absent' && !child.deleted);
  const near = inherited === null ? findNear(open.map(({ child }) => child)) : new Map<ChildMember, string>();
  const rows = { v3: [] as ChildRow[], v4: [] as ChildRow[] };
  for (const { child, verdict, evidence } of judged) {
    if (verdict.kind === 'claimed') continue;
    const found = near.get(child);
    const outcome = inherited ?? outcomeOf(child, verdict, found !== undefined);
    rows[child.gen === 3 ? 'v3' : 'v4'].push(rowOf(child, verdict, outcome, found ?? evidence));
  }
  return { v3: sortRows(rows.v3), v4: sortRows(rows.v4) };
}

/** Sorts rows of one generation by field and id, as children are stored. */
export function sortRows(rows: readonly ChildRow[]): ChildRow[] {
  const idOf = ([gen, , v3, v4]: ChildRow) => BigInt((gen === 3 ? v3 : v4) ?? 0);
  return [...rows].sort((a, b) => {
    if (a[1] !== b[1]) return a[1] < b[1] ? -1 : 1;
    return idOf(a) < idOf(b) ? -1 : 1;
  });
}

/** The ids of a group's children, for evidence. */
export function nameChildren(members: readonly ChildMember[]): GroupIds {
  return listGroupIds(members, ({ svcId }) => BigInt(svcId));
}

/** Makes the function that renders the evidence of a group's members. `name` is called once, and only if needed. */
export function prepareChildEvidence(
  name: () => GroupIds,
): (child: ChildMember, verdict: GroupVerdict<ChildMember>) => string | null {
  let groupIds: GroupIds | undefined;
  return ({ gen }, { kind }) => {
    if (kind !== 'superseded' && kind !== 'dup_v3' && kind !== 'dup_v4') return null;
    groupIds ??= name();
    return renderGroupEvidence(kind, gen, groupIds);
  };
}

/** The row of a child; only a pair names both ids. */
export function rowOf(
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
function findNear(open: readonly ChildMember[]): Map<ChildMember, string> {
  const near = new Map<ChildMember, string>();
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
