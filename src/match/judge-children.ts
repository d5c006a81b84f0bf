import { at } from '../text/at.js';
import { append } from '../text/rows.js';
import {
  describeV3,
  describeV4,
  type GroupIds,
  type GroupVerdict,
  judgeV3Members,
  judgeV4Member,
  type KeyMember,
  listGroupIds,
  outcomeOf,
  renderGroupEvidence,
  type V4Side,
} from './judge-group.js';
import { inherit, numberOf, withFlags } from './outcomes.js';

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

interface V4Group {
  readonly members: readonly ChildMember[];
  readonly side: V4Side<ChildMember>;
  /** The V3 children with the key, of the last record that has any; the evidence of V4 children names them. */
  last: readonly ChildMember[];
}

const NO_V4: V4Side<ChildMember> = describeV4([]);

/** Groups children by field and key. A child without a key is a group of its own. */
function groupChildren(children: readonly ChildMember[]): Map<string, ChildMember[]> {
  const groups = new Map<string, ChildMember[]>();
  for (const [index, child] of children.entries()) {
    append(groups, child.key === null ? `V${child.gen} ${index}` : `${child.path}\0${child.key}`, child);
  }
  return groups;
}

/**
 * The children of a V4 record, judged with the children of each V3 record paired with it. They are indexed once, so
 * that the time for each V3 record depends only on its own children.
 */
export class TwinChildren {
  readonly #groups: ReadonlyMap<string, V4Group>;
  readonly #claimed = new Set<ChildMember>();

  constructor(children: readonly ChildMember[]) {
    this.#groups = new Map(
      [...groupChildren(children)].map(([place, members]) => [
        place,
        { members, side: describeV4(members), last: [] },
      ]),
    );
  }

  /**
   * The rows of the children of a V3 record.
   *
   * @param parentOutcome the outcome that children inherit from a pair that is not `matched`; null: none
   */
  judge(children: readonly ChildMember[], parentOutcome: bigint | null): ChildRow[] {
    return [...groupChildren(children)].flatMap(([place, members]) => {
      const group = this.#groups.get(place);
      if (group !== undefined) group.last = members;
      const verdicts = judgeV3Members(members, group?.side ?? NO_V4);
      for (const verdict of verdicts) if (verdict.kind === 'pair') this.#claimed.add(verdict.twin);
      return rowsOf(members, verdicts, listGroupIds([...members, ...(group?.members ?? [])]), parentOutcome);
    });
  }

  /** The rows of V4 children without a V3 child, after the children of all V3 records. */
  judgeUnclaimed(parentOutcome: bigint | null): ChildRow[] {
    return [...this.#groups.values()].flatMap(({ members, side, last }) => {
      const v3 = describeV3(last);
      const verdicts = members.map((member) => judgeV4Member(member, v3, side, this.#claimed));
      return rowsOf(members, verdicts, listGroupIds([...members, ...last]), parentOutcome);
    });
  }
}

function rowsOf(
  members: readonly ChildMember[],
  verdicts: readonly GroupVerdict<ChildMember>[],
  ids: GroupIds,
  parentOutcome: bigint | null,
): ChildRow[] {
  return members.flatMap((child, index) => {
    const verdict = at(verdicts, index);
    if (verdict.kind === 'claimed') return [];
    const { path, key, gen, svcId } = child;
    const outcome = outcomeOf(child, verdict) ?? withFlags(absentOutcome(child), { only_v4: gen === 4n });
    return [
      {
        path,
        key,
        v3: gen === 3n ? svcId : null,
        v4: gen === 4n ? svcId : verdict.kind === 'pair' ? verdict.twin.svcId : null,
        outcome: parentOutcome === null ? outcome : inherit(outcome, Number(parentOutcome)),
        evidence: renderGroupEvidence(verdict, gen, ids),
      },
    ];
  });
}

function absentOutcome({ gen, deleted, key }: ChildMember): number {
  if (deleted && gen === 4n) return numberOf('deleted_v4_only');
  if (deleted) return numberOf(key === null ? 'deleted_no_platform_id' : 'deleted_not_in_v4');
  if (key === null) return numberOf(gen === 3n ? 'unmatched_no_platform_id' : 'v4_only_no_platform_id');
  return numberOf(gen === 3n ? 'unmatched_unexplained' : 'v4_only_unexplained');
}
