import type { StoredChild } from '../json/stored-lists.js';
import type { Status } from '../reasons.js';
import { foldKey } from './fold-key.js';
import { nameIds, nameSharing, renderSharing, type Sharing } from './group-evidence.js';
import { type GroupVerdict, judgeGroup, type Member, pairReason } from './judge-group.js';

/** A child of a pair of records. */
interface Child extends Member {
  readonly path: string;
  readonly svcId: string;
  readonly key: string | null;
}

/** What became of a child. */
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

/** What became of the children of a pair. */
export interface ChildRows {
  /** Of every V3 child. */
  readonly v3: readonly ChildRow[];
  /** Of the V4 children that no V3 child became. */
  readonly v4: readonly ChildRow[];
}

/**
 * Joins the children of a pair of records: by the same table as records, inside each field. Below a pair that is not
 * `matched` they take its reason, `parentReason`. Window and service dates play no part. Pure.
 */
export function judgeChildren(
  v3: readonly StoredChild[],
  v4: readonly StoredChild[],
  parentReason: string | null,
): ChildRows {
  const inherited: Outcome | null = parentReason === null ? null : ['deleted', `parent_${parentReason}`];
  return pairInStep(v3, v4, inherited) ?? judgeGroups([...membersOf(3, v3), ...membersOf(4, v4)], inherited);
}

/** Lists that are longer are not worth comparing each child with each. */
const STEPS = 8;

/** The usual case, in which every group is one child of either side: the same keys in the same order, none twice. */
function pairInStep(
  v3: readonly StoredChild[],
  v4: readonly StoredChild[],
  inherited: Outcome | null,
): ChildRows | null {
  if (v3.length !== v4.length || v3.length > STEPS) return null;
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

/** Children as members of their groups. */
function membersOf(gen: 3 | 4, children: readonly StoredChild[]): Child[] {
  return children.map(([path, svcId, key, uid, deleted]) => ({
    gen,
    path,
    svcId,
    key,
    uid,
    deleted: deleted === 1,
  }));
}

function judgeGroups(children: readonly Child[], inherited: Outcome | null): ChildRows {
  const judged = judgeByKey(children);
  const near = inherited === null ? findNear(judged) : new Map<Child, string>();
  const rows = { v3: [] as ChildRow[], v4: [] as ChildRow[] };
  for (const one of judged) {
    if (one.verdict.kind === 'claimed') continue;
    const found = near.get(one.child) ?? null;
    const outcome = inherited ?? outcomeOf(one.child, one.verdict, found !== null);
    rows[one.child.gen === 3 ? 'v3' : 'v4'].push(rowOf(one, outcome, found));
  }
  return rows;
}

type Outcome = readonly [status: Status, reason: string | null];

interface JudgedChild {
  readonly child: Child;
  readonly verdict: GroupVerdict<Child>;
  readonly evidence: string | null;
}

const NO_KEY = { kind: 'absent' } as const;

function judgeByKey(children: readonly Child[]): JudgedChild[] {
  const groups = new Map<string, Child[]>();
  const judged: JudgedChild[] = [];
  for (const child of children) {
    if (child.key === null) {
      judged.push({ child, verdict: NO_KEY, evidence: null });
      continue;
    }
    const place = `${child.path}\0${child.key}`;
    const members = groups.get(place);
    if (members === undefined) groups.set(place, [child]);
    else members.push(child);
  }
  for (const members of groups.values()) {
    const verdicts = judgeGroup(members);
    const evidenceOf = prepareEvidence(members);
    for (const [at, child] of members.entries()) {
      const verdict = verdicts[at] ?? NO_KEY;
      judged.push({ child, verdict, evidence: evidenceOf(child, verdict) });
    }
  }
  return judged;
}

/** Makes the function that names the others of a group; their names are collected once, and only if needed. */
function prepareEvidence(
  members: readonly Child[],
): (child: Child, verdict: GroupVerdict<Child>) => string | null {
  let sharing: Sharing | undefined;
  return ({ gen }, { kind }) => {
    if (kind !== 'superseded' && kind !== 'dup_v3' && kind !== 'dup_v4') return null;
    sharing ??= nameSharing(members, ({ svcId }) => BigInt(svcId));
    return renderSharing(kind, gen, sharing);
  };
}

function rowOf(
  { child, verdict, evidence }: JudgedChild,
  [status, reason]: Outcome,
  near: string | null,
): ChildRow {
  const { path, svcId, key, gen } = child;
  if (gen === 4) return [gen, path, null, svcId, key, status, reason, null, near ?? evidence, 0];
  if (verdict.kind !== 'pair')
    return [gen, path, svcId, null, key, status, reason, null, near ?? evidence, 0];
  const { twin, by } = verdict;
  return [gen, path, svcId, twin.svcId, key, status, reason, by, null, conflictOf(child.uid, twin.uid)];
}

function conflictOf(uid: string | null, twinUid: string | null): 0 | 1 {
  return uid !== null && twinUid !== null && uid !== twinUid ? 1 : 0;
}

function outcomeOf(child: Child, verdict: GroupVerdict<Child>, isNear: boolean): Outcome {
  const { gen, deleted, key } = child;
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
      return [gen === 3 ? 'unmatched' : 'v4_only', reasonOf(key, isNear)];
  }
}

function pairOutcome(v3Deleted: boolean, v4Deleted: boolean): Outcome {
  const reason = pairReason(v3Deleted, v4Deleted);
  return [reason === null ? 'matched' : 'deleted', reason];
}

function reasonOf(key: string | null, isNear: boolean): string {
  if (key === null) return 'no_platform_id';
  return isNear ? 'key_changed' : 'unexplained';
}

/** Live children without a twin whose unique id, or whose folded key, one of the other generation has: with evidence. */
function findNear(judged: readonly JudgedChild[]): Map<Child, string> {
  const near = new Map<Child, string>();
  const open = judged.filter(({ child, verdict }) => verdict.kind === 'absent' && !child.deleted);
  const v3 = open.flatMap(({ child }) => (child.gen === 3 ? [child] : []));
  const v4 = open.flatMap(({ child }) => (child.gen === 4 ? [child] : []));
  for (const [own, others, name] of [
    [v3, v4, 'v4_svc_ids'],
    [v4, v3, 'v3_svc_ids'],
  ] as const) {
    const named = nameByLikeness(others);
    for (const child of own) {
      if (child.key === null) continue;
      const ids = new Set(likenessesOf(child).flatMap((likeness) => named.get(likeness) ?? []));
      if (ids.size > 0) near.set(child, JSON.stringify({ [name]: nameIds([...ids].map(BigInt)) }));
    }
  }
  return near;
}

/** The ids that an evidence would name of the children with each likeness: never more than a few. */
function nameByLikeness(children: readonly Child[]): ReadonlyMap<string, readonly string[]> {
  const ids = new Map<string, bigint[]>();
  for (const child of children) {
    for (const likeness of likenessesOf(child)) {
      const known = ids.get(likeness);
      if (known === undefined) ids.set(likeness, [BigInt(child.svcId)]);
      else known.push(BigInt(child.svcId));
    }
  }
  return new Map([...ids].map(([likeness, all]) => [likeness, nameIds(all)]));
}

/** What two children have in common where the key of one may have become that of the other. */
function likenessesOf({ path, uid, key }: Child): string[] {
  const likenesses = [];
  if (uid !== null) likenesses.push(`uid\0${path}\0${uid}`);
  if (key !== null) likenesses.push(`key\0${path}\0${foldKey(key)}`);
  return likenesses;
}
