import type { Status } from '../reasons.js';
import type { StoredChild } from '../records/child-list.js';
import { foldKey } from './fold-key.js';
import { nameIds, nameSharing, renderSharing, type Sharing } from './group-evidence.js';
import { judgeGroup, type Member, type Verdict } from './judge-group.js';

/** A child of a pair of records. */
interface Kid extends Member {
  readonly path: string;
  readonly svcId: string;
  readonly key: string | null;
}

/** What became of a child. */
export type KidRow = readonly [
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
export interface KidRows {
  /** Of every V3 child. */
  readonly v3: readonly KidRow[];
  /** Of the V4 children no V3 child points at. */
  readonly v4: readonly KidRow[];
}

/**
 * Joins the children of a pair of records: by the same table as records, inside each field. Below a pair that is not
 * `matched` they take its reason, `parentReason`. Window and service dates play no part. Pure.
 */
export function judgeChildren(
  v3: readonly StoredChild[],
  v4: readonly StoredChild[],
  parentReason: string | null,
): KidRows {
  const inherited: Outcome | null = parentReason === null ? null : ['deleted', `parent_${parentReason}`];
  return pairInStep(v3, v4, inherited) ?? judgeGroups([...kidsOf(3, v3), ...kidsOf(4, v4)], inherited);
}

/** Lists that are longer are not worth comparing each child with each. */
const STEPS = 8;

/** The usual case, in which every group is one child of either side: the same keys in the same order, none twice. */
function pairInStep(
  v3: readonly StoredChild[],
  v4: readonly StoredChild[],
  inherited: Outcome | null,
): KidRows | null {
  if (v3.length !== v4.length || v3.length > STEPS) return null;
  const rows: KidRow[] = [];
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
function kidsOf(gen: 3 | 4, children: readonly StoredChild[]): Kid[] {
  return children.map(([path, svcId, key, uid, deleted]) => ({
    gen,
    path,
    svcId,
    key,
    uid,
    deleted: deleted === 1,
  }));
}

function judgeGroups(kids: readonly Kid[], inherited: Outcome | null): KidRows {
  const judged = judgeByKey(kids);
  const near = inherited === null ? findNear(judged) : new Map<Kid, string>();
  const rows = { v3: [] as KidRow[], v4: [] as KidRow[] };
  for (const one of judged) {
    if (one.verdict.kind === 'pointed') continue;
    const found = near.get(one.kid) ?? null;
    const outcome = inherited ?? outcomeOf(one.kid, one.verdict, found !== null);
    rows[one.kid.gen === 3 ? 'v3' : 'v4'].push(rowOf(one, outcome, found));
  }
  return rows;
}

type Outcome = readonly [status: Status, reason: string | null];

interface Judged {
  readonly kid: Kid;
  readonly verdict: Verdict<Kid>;
  readonly evidence: string | null;
}

const NO_KEY = { kind: 'absent' } as const;

function judgeByKey(kids: readonly Kid[]): Judged[] {
  const groups = new Map<string, Kid[]>();
  const judged: Judged[] = [];
  for (const kid of kids) {
    if (kid.key === null) {
      judged.push({ kid, verdict: NO_KEY, evidence: null });
      continue;
    }
    const place = `${kid.path}\0${kid.key}`;
    const members = groups.get(place);
    if (members === undefined) groups.set(place, [kid]);
    else members.push(kid);
  }
  for (const members of groups.values()) {
    const verdicts = judgeGroup(members);
    const evidenceOf = prepareEvidence(members);
    for (const [at, kid] of members.entries()) {
      const verdict = verdicts[at] ?? NO_KEY;
      judged.push({ kid, verdict, evidence: evidenceOf(kid, verdict) });
    }
  }
  return judged;
}

/** Makes the function that names the others of a group; their names are collected once, and only if needed. */
function prepareEvidence(members: readonly Kid[]): (kid: Kid, verdict: Verdict<Kid>) => string | null {
  let sharing: Sharing | undefined;
  return ({ gen }, { kind }) => {
    if (kind !== 'superseded' && kind !== 'dup_v3' && kind !== 'dup_v4') return null;
    sharing ??= nameSharing(members, ({ svcId }) => BigInt(svcId));
    return renderSharing(kind, gen, sharing);
  };
}

function rowOf({ kid, verdict, evidence }: Judged, [status, reason]: Outcome, near: string | null): KidRow {
  const { path, svcId, key, gen } = kid;
  if (gen === 4) return [gen, path, null, svcId, key, status, reason, null, near ?? evidence, 0];
  if (verdict.kind !== 'pair')
    return [gen, path, svcId, null, key, status, reason, null, near ?? evidence, 0];
  const { twin, by } = verdict;
  return [gen, path, svcId, twin.svcId, key, status, reason, by, null, conflictOf(kid.uid, twin.uid)];
}

function conflictOf(uid: string | null, twinUid: string | null): 0 | 1 {
  return uid !== null && twinUid !== null && uid !== twinUid ? 1 : 0;
}

function outcomeOf(kid: Kid, verdict: Verdict<Kid>, isNear: boolean): Outcome {
  const { gen, deleted, key } = kid;
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
  if (v3Deleted) return ['deleted', v4Deleted ? 'deleted_in_both' : 'deleted_in_v3'];
  return v4Deleted ? ['deleted', 'deleted_in_v4'] : MATCHED;
}

const MATCHED: Outcome = ['matched', null];

function reasonOf(key: string | null, isNear: boolean): string {
  if (key === null) return 'no_platform_id';
  return isNear ? 'key_changed' : 'unexplained';
}

/** Live children without a twin whose unique id, or whose folded key, one of the other generation has: with evidence. */
function findNear(judged: readonly Judged[]): Map<Kid, string> {
  const near = new Map<Kid, string>();
  const open = judged.filter(({ kid, verdict }) => verdict.kind === 'absent' && !kid.deleted);
  const v3 = open.flatMap(({ kid }) => (kid.gen === 3 ? [kid] : []));
  const v4 = open.flatMap(({ kid }) => (kid.gen === 4 ? [kid] : []));
  for (const [own, others, name] of [
    [v3, v4, 'v4_svc_ids'],
    [v4, v3, 'v3_svc_ids'],
  ] as const) {
    const named = nameByLikeness(others);
    for (const kid of own) {
      if (kid.key === null) continue;
      const ids = new Set(likenessesOf(kid).flatMap((likeness) => named.get(likeness) ?? []));
      if (ids.size > 0) near.set(kid, JSON.stringify({ [name]: nameIds([...ids].map(BigInt)) }));
    }
  }
  return near;
}

/** The ids that an evidence would name of the children with each likeness: never more than a few. */
function nameByLikeness(kids: readonly Kid[]): ReadonlyMap<string, readonly string[]> {
  const ids = new Map<string, bigint[]>();
  for (const kid of kids) {
    for (const likeness of likenessesOf(kid)) {
      const known = ids.get(likeness);
      if (known === undefined) ids.set(likeness, [BigInt(kid.svcId)]);
      else known.push(BigInt(kid.svcId));
    }
  }
  return new Map([...ids].map(([likeness, all]) => [likeness, nameIds(all)]));
}

/** What two children have in common where the key of one may have become that of the other. */
function likenessesOf({ path, uid, key }: Kid): string[] {
  const likenesses = [];
  if (uid !== null) likenesses.push(`uid\0${path}\0${uid}`);
  if (key !== null) likenesses.push(`key\0${path}\0${foldKey(key)}`);
  return likenesses;
}
