import type { StoredChild } from '../records/child-list.js';
import { foldKey } from './fold-key.js';
import { nameIds, nameSharing, renderSharing } from './group-evidence.js';
import { judgeGroup, type Member, type Verdict } from './judge-group.js';

/** A child of a pair of records. */
export interface Kid extends Member {
  readonly path: string;
  readonly svcId: string;
  readonly key: string | null;
}

/** What became of a child, as `kin.kids` lists it. */
export type KidRow = readonly [
  path: string,
  v3SvcId: string | null,
  v4SvcId: string | null,
  key: string | null,
  outcome: string,
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

/** Children as members of their groups. */
export function kidsOf(gen: 3 | 4, children: readonly StoredChild[]): Kid[] {
  return children.map(([path, svcId, key, uid, deleted]) => ({
    gen,
    path,
    svcId,
    key,
    uid,
    deleted: deleted === 1,
  }));
}

/**
 * Joins the children of a pair of records whose outcome is `outcome`: by the same table as records, inside each field.
 * Below a pair that is not `matched` they take the parent's outcome. Window and service dates play no part. Pure.
 */
export function judgeChildren(kids: readonly Kid[], outcome: string): KidRows {
  const judged = judgeByKey(kids);
  const near = outcome === 'matched' ? findNear(judged) : new Map<Kid, string>();
  const rows = { v3: [] as KidRow[], v4: [] as KidRow[] };
  for (const one of judged) {
    if (one.verdict.kind === 'pointed') continue;
    rows[one.kid.gen === 3 ? 'v3' : 'v4'].push(rowOf(one, outcome, near));
  }
  return rows;
}

/** `parent_` + the reason of a parent, as its children carry it. */
function inherit(outcome: string): string {
  return outcome.replace('/', '/parent_');
}

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
    for (const [at, kid] of members.entries()) {
      const verdict = verdicts[at] ?? NO_KEY;
      judged.push({ kid, verdict, evidence: evidenceOf(kid, verdict, members) });
    }
  }
  return judged;
}

function evidenceOf({ gen }: Kid, { kind }: Verdict<Kid>, members: readonly Kid[]): string | null {
  if (kind !== 'superseded' && kind !== 'dup_v3' && kind !== 'dup_v4') return null;
  return renderSharing(
    kind,
    gen,
    nameSharing(members, ({ svcId }) => BigInt(svcId)),
  );
}

function rowOf({ kid, verdict, evidence }: Judged, outcome: string, near: ReadonlyMap<Kid, string>): KidRow {
  const { path, svcId, key, gen } = kid;
  const found = near.get(kid);
  const own = outcome === 'matched' ? outcomeOf(kid, verdict, found !== undefined) : inherit(outcome);
  if (gen === 4) return [path, null, svcId, key, own, null, found ?? evidence, 0];
  if (verdict.kind !== 'pair') return [path, svcId, null, key, own, null, found ?? evidence, 0];
  const { twin, by } = verdict;
  const conflict = kid.uid !== null && twin.uid !== null && kid.uid !== twin.uid ? 1 : 0;
  return [path, svcId, twin.svcId, key, own, by, null, conflict];
}

function outcomeOf(kid: Kid, verdict: Verdict<Kid>, isNear: boolean): string {
  const { gen, deleted, key } = kid;
  switch (verdict.kind) {
    case 'pair':
      if (deleted) return verdict.twin.deleted ? 'deleted/deleted_in_both' : 'deleted/deleted_in_v3';
      return verdict.twin.deleted ? 'deleted/deleted_in_v4' : 'matched';
    case 'superseded':
      return `deleted/superseded_in_v${gen}`;
    case 'dup_v3':
      return 'ambiguous/duplicate_platform_id_v3';
    case 'dup_v4':
      return 'ambiguous/duplicate_platform_id_v4';
    default:
      if (deleted && gen === 4) return 'deleted/deleted_v4_only';
      if (deleted) return `deleted/${key === null ? 'no_platform_id' : 'deleted_not_in_v4'}`;
      return `${gen === 3 ? 'unmatched' : 'v4_only'}/${reasonOf(key, isNear)}`;
  }
}

function reasonOf(key: string | null, isNear: boolean): string {
  if (key === null) return 'no_platform_id';
  return isNear ? 'key_changed' : 'unexplained';
}

/** Live children without a twin whose unique id, or whose folded key, one of the other generation has: with evidence. */
function findNear(judged: readonly Judged[]): Map<Kid, string> {
  const near = new Map<Kid, string>();
  const open = judged.filter(({ kid, verdict }) => verdict.kind === 'absent' && !kid.deleted);
  const v3 = open.filter(({ kid }) => kid.gen === 3).map(foldOf);
  const v4 = open.filter(({ kid }) => kid.gen === 4).map(foldOf);
  for (const [own, others, name] of [
    [v3, v4, 'v4_svc_ids'],
    [v4, v3, 'v3_svc_ids'],
  ] as const) {
    for (const one of own) {
      if (one.kid.key === null) continue;
      const ids = others.filter((other) => isNear(one, other)).map(({ kid }) => BigInt(kid.svcId));
      if (ids.length > 0) near.set(one.kid, JSON.stringify({ [name]: nameIds(ids) }));
    }
  }
  return near;
}

interface Folded {
  readonly kid: Kid;
  readonly fold: string | null;
}

function foldOf({ kid }: Judged): Folded {
  return { kid, fold: kid.key === null ? null : foldKey(kid.key) };
}

function isNear(a: Folded, b: Folded): boolean {
  if (a.kid.path !== b.kid.path) return false;
  return (a.kid.uid !== null && a.kid.uid === b.kid.uid) || (a.fold !== null && a.fold === b.fold);
}
