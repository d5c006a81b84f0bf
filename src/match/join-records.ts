import {
  type GroupVerdict,
  judgeGroup,
  type KeyMember,
  listGroupIds,
  renderGroupEvidence,
} from './judge-group.js';
import { chainByKey } from './key-chains.js';
import type { PartRecords } from './part-records.js';

/** What the keys of the records of a company pair say, by the positions of the records in their columns. */
export interface JoinedRecords {
  /** For each V3 record its V4 record; -1 for none. */
  readonly twins: Int32Array;
  /** V3 records that were paired by their unique ids. */
  readonly byUniqueId: ReadonlySet<number>;
  /** For each V4 record, how many V3 records it is the twin of: more than one only if they are deleted. */
  readonly claims: Uint32Array;
  /** Records that share their key with others and are in no pair. */
  readonly v3: ReadonlyMap<number, OpenVerdict>;
  readonly v4: ReadonlyMap<number, OpenVerdict>;
}

export interface OpenVerdict {
  readonly kind: 'superseded' | 'dup_v3' | 'dup_v4';
  /** JSON. */
  readonly evidence: string;
}

/** Joins the records of a company pair by their keys, or with `isJoined` false leaves every record alone. Pure. */
export function joinRecords(v3: PartRecords, v4: PartRecords, isJoined: boolean): JoinedRecords {
  const joined = {
    twins: new Int32Array(v3.length).fill(-1),
    byUniqueId: new Set<number>(),
    claims: new Uint32Array(v4.length),
    v3: new Map<number, OpenVerdict>(),
    v4: new Map<number, OpenVerdict>(),
  };
  if (!isJoined) return joined;
  // records of V4 are numbered after those of V3
  const isV3 = (at: number) => at < v3.length;
  const { count, last, before } = chainByKey(
    v3.length + v4.length,
    (at) => (isV3(at) ? v3.hashOfKey(at) : v4.hashOfKey(at - v3.length)),
    (a, b) =>
      (isV3(a) ? v3 : v4).hasKeyOf(
        isV3(a) ? a : a - v3.length,
        isV3(b) ? v3 : v4,
        isV3(b) ? b : b - v3.length,
      ),
  );
  const memberOf = (at: number): RecordMember =>
    isV3(at) ? recordMember(3, v3, at) : recordMember(4, v4, at - v3.length);
  for (let key = 0; key < count; key++) {
    const second = last[key] ?? -1;
    const first = before[second] ?? -1;
    if (first < 0) continue;
    if (before[first] === -1 && isV3(first) && !isV3(second)) {
      joined.twins[first] = second - v3.length;
      joined.claims[second - v3.length] = 1;
      continue;
    }
    const members: RecordMember[] = [];
    for (let at = second; at >= 0; at = before[at] ?? -1) members.push(memberOf(at));
    judgeMany(joined, members);
  }
  return joined;
}

interface RecordMember extends KeyMember {
  readonly at: number;
  readonly svcId: bigint;
}

function recordMember(gen: 3 | 4, records: PartRecords, at: number): RecordMember {
  const uid = records.uniqueIdOf(at);
  return { gen, at, uid, deleted: records.deleted[at] === 1, svcId: records.svcIds[at] ?? 0n };
}

function judgeMany(
  joined: {
    readonly twins: Int32Array;
    readonly claims: Uint32Array;
    readonly byUniqueId: Set<number>;
    readonly v3: Map<number, OpenVerdict>;
    readonly v4: Map<number, OpenVerdict>;
  },
  members: readonly RecordMember[],
): void {
  const verdicts: readonly GroupVerdict<RecordMember>[] = judgeGroup(members);
  let ids: ReturnType<typeof listGroupIds> | undefined;
  for (const [index, verdict] of verdicts.entries()) {
    const member = members[index];
    if (member === undefined) continue;
    const { gen, at } = member;
    if (verdict.kind === 'pair') {
      joined.twins[at] = verdict.twin.at;
      joined.claims[verdict.twin.at] = (joined.claims[verdict.twin.at] ?? 0) + 1;
      if (verdict.by === 'platform_unique_id') joined.byUniqueId.add(at);
    } else if (verdict.kind !== 'claimed' && verdict.kind !== 'absent') {
      ids ??= listGroupIds(members, ({ svcId }) => svcId);
      const evidence = renderGroupEvidence(verdict.kind, gen, ids);
      joined[gen === 3 ? 'v3' : 'v4'].set(at, { kind: verdict.kind, evidence });
    }
  }
}
