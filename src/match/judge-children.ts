import { append, compare } from '../text/rows.js';
import { foldKey } from './fold-key.js';
import {
  areDifferent,
  describeV3,
  describeV4,
  type GroupIds,
  type GroupVerdict,
  judgeV3Members,
  judgeV4Member,
  type KeyMember,
  listGroupIds,
  nameIds,
  pairReason,
  renderGroupEvidence,
  type V4Side,
} from './judge-group.js';
import { numberOf, withFlags } from './outcomes.js';

export interface ChildMember extends KeyMember {
  /** A number in `child_path`. */
  readonly path: bigint;
  readonly key: string | null;
}

export interface ChildRow {
  readonly path: bigint;
  readonly key: string | null;
  readonly v3: bigint | null;
  readonly v4: bigint | null;
  readonly outcome: number;
  readonly evidence: string | null;
}

interface JudgedChild {
  readonly child: ChildMember;
  readonly verdict: GroupVerdict<ChildMember>;
  readonly evidence: string | null;
}

interface V4Group {
  readonly members: readonly ChildMember[];
  readonly side: V4Side<ChildMember>;
  /** The V3 children with the key, of the last record that has any; the evidence of V4 children names them. */
  last: readonly ChildMember[];
}

/** Groups children by field and key. A child without a key is a group of its own. */
function groupChildren(children: readonly ChildMember[]): Map<string, ChildMember[]> {
  const groups = new Map<string, ChildMember[]>();
  for (const [at, child] of children.entries()) {
    append(groups, child.key === null ? `${at}` : `${child.path}\0${child.key}`, child);
  }
  return groups;
}

/**
 * The children of a V4 record, judged with the children of each V3 record paired with it. They are indexed once, so
 * that the time for each V3 record depends only on its own children.
 */
export class TwinChildren {
  readonly #groups: ReadonlyMap<string, V4Group>;
  readonly claimed = new Set<ChildMember>();

  constructor(children: readonly ChildMember[]) {
    this.#groups = new Map(
      [...groupChildren(children)].map(([place, members]) => [
        place,
        { members, side: describeV4(members), last: [] },
      ]),
    );
  }

  /** Judges the children of a V3 record. */
  judge(children: readonly ChildMember[]): JudgedChild[] {
    return [...groupChildren(children)].flatMap(([place, members]) => {
      const group = members[0]?.key === null ? undefined : this.#groups.get(place);
      if (group !== undefined) group.last = members;
      const verdicts = judgeV3Members(members, group?.side ?? NO_V4);
      for (const verdict of verdicts) if (verdict.kind === 'pair') this.claimed.add(verdict.twin);
      return withEvidence(members, verdicts, () => ({
        ...listGroupIds(group?.members ?? []),
        v3Live: listGroupIds(members).v3Live,
      }));
    });
  }

  /** Judges the V4 children without a V3 child, after the children of all V3 records. */
  judgeUnclaimed(): JudgedChild[] {
    return [...this.#groups.values()].flatMap(({ members, side, last }) => {
      const v3 = describeV3(last);
      const verdicts = members.map((member) => judgeV4Member(member, v3, side, this.claimed));
      const judged = withEvidence(members, verdicts, () => listGroupIds([...members, ...last]));
      return judged.filter(({ verdict }) => verdict.kind !== 'claimed');
    });
  }
}

const NO_V4: V4Side<ChildMember> = describeV4([]);

function withEvidence(
  members: readonly ChildMember[],
  verdicts: readonly GroupVerdict<ChildMember>[],
  name: () => GroupIds,
): JudgedChild[] {
  let ids: GroupIds | undefined;
  const idsOf = () => {
    ids ??= name();
    return ids;
  };
  return members.flatMap((child, at) => {
    const verdict = verdicts[at];
    return verdict === undefined
      ? []
      : [{ child, verdict, evidence: renderGroupEvidence(verdict, child.gen, idsOf) }];
  });
}

/**
 * The rows of children of one generation, by field and id.
 *
 * @param parentOutcome the outcome that children inherit from a pair that is not `matched`; null: none
 */
export function rowsOf(
  judged: readonly JudgedChild[],
  parentOutcome: number | null,
  near: ReadonlyMap<ChildMember, string> = NO_NEAR,
): ChildRow[] {
  return judged
    .map((one) => rowOf(one, parentOutcome, near.get(one.child)))
    .sort((a, b) => compare(a.path, b.path) || compare(a.v3 ?? a.v4 ?? 0n, b.v3 ?? b.v4 ?? 0n));
}

const NO_NEAR: ReadonlyMap<ChildMember, string> = new Map();

function rowOf(
  { child, verdict, evidence }: JudgedChild,
  parentOutcome: number | null,
  near: string | undefined,
): ChildRow {
  const { path, key, gen, svcId } = child;
  const isOfParent = parentOutcome !== null;
  const place = { path, key, evidence: near ?? evidence };
  if (verdict.kind === 'pair') {
    const { twin, by, merged } = verdict;
    const outcome = withFlags(
      parentOutcome ?? numberOf(pairReason(child.deleted, twin.deleted) ?? 'matched'),
      {
        by_key: by === 'platform_id',
        by_unique_id: by === 'platform_unique_id',
        conflict: areDifferent(child.uid, twin.uid),
        merged: merged.length > 0 && !isOfParent,
        parent: isOfParent,
      },
    );
    return { ...place, v3: svcId, v4: twin.svcId, outcome };
  }
  const outcome = parentOutcome ?? outcomeOf(child, verdict, near !== undefined);
  const ids = gen === 3 ? { v3: svcId, v4: null } : { v3: null, v4: svcId };
  return { ...place, ...ids, outcome: withFlags(outcome, { parent: isOfParent, only_v4: gen === 4 }) };
}

function outcomeOf(
  { gen, deleted, key }: ChildMember,
  verdict: GroupVerdict<ChildMember>,
  isNear: boolean,
): number {
  const isV3 = gen === 3;
  if (verdict.kind === 'superseded') return numberOf(isV3 ? 'superseded_in_v3' : 'superseded_in_v4');
  if (verdict.kind === 'dup_v3') return numberOf('duplicate_v3');
  if (verdict.kind === 'dup_v4') return numberOf('duplicate_v4');
  if (deleted && !isV3) return numberOf('deleted_v4_only');
  if (deleted) return numberOf(key === null ? 'deleted_no_platform_id' : 'deleted_not_in_v4');
  if (key === null) return numberOf(isV3 ? 'unmatched_no_platform_id' : 'v4_only_no_platform_id');
  if (isNear) return numberOf(isV3 ? 'unmatched_key_changed' : 'v4_only_key_changed');
  return numberOf(isV3 ? 'unmatched_unexplained' : 'v4_only_unexplained');
}

/** Finds the children that share a unique id or folded key with one of the other generation, and their evidence. */
export function findNear(judged: readonly JudgedChild[]): Map<ChildMember, string> {
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

function nameByNearKey(children: readonly ChildMember[]): ReadonlyMap<string, readonly string[]> {
  const ids = new Map<string, bigint[]>();
  for (const child of children) for (const nearKey of nearKeysOf(child)) append(ids, nearKey, child.svcId);
  return new Map([...ids].map(([nearKey, all]) => [nearKey, nameIds(all)]));
}

/** Two children with a near key in common may be one child whose key changed. */
function nearKeysOf({ path, uid, key }: ChildMember): string[] {
  const ofUid = uid === null ? [] : [`uid\0${path}\0${uid}`];
  return key === null ? ofUid : [...ofUid, `key\0${path}\0${foldKey(key)}`];
}
