import {
  type ChildMember,
  type ChildRow,
  groupChildren,
  inheritOutcome,
  nameChildren,
  prepareChildEvidence,
  rowOf,
  sortRows,
} from './judge-children.js';
import { describeV4, type GroupIds, judgeGroup, judgeV3Members, type V4Side } from './judge-group.js';

/** The V4 children of one field and key. */
interface V4Group {
  readonly members: readonly ChildMember[];
  readonly side: V4Side<ChildMember>;
  readonly named: GroupIds;
  /** The V3 children with the key, of the last record that has any; the evidence of V4 children names them. */
  last: readonly ChildMember[];
}

/**
 * Judges the children of one V4 record against those of each V3 record paired with it. The V4 children are indexed once,
 * so that the time for each V3 record depends only on its own children.
 */
export class SharedTwin {
  readonly #groups: ReadonlyMap<string, V4Group>;
  readonly #outcome: ReturnType<typeof inheritOutcome>;
  /** The V4 children that are paired with V3 ones. */
  readonly claimed = new Set<ChildMember>();

  constructor(children: readonly ChildMember[], reason: string) {
    const groupOf = (members: readonly ChildMember[]): V4Group => ({
      members,
      side: describeV4(members),
      named: nameChildren(members),
      last: [],
    });
    this.#groups = new Map([...groupChildren(children)].map(([place, members]) => [place, groupOf(members)]));
    this.#outcome = inheritOutcome(reason);
  }

  /** The rows of a V3 record's children. */
  judge(children: readonly ChildMember[]): ChildRow[] {
    const rows = [...groupChildren(children)].flatMap(([place, members]) => {
      const group = members[0]?.key === null ? undefined : this.#groups.get(place);
      if (group !== undefined) group.last = members;
      const { named, side } = group ?? NO_V4;
      const evidenceOf = prepareChildEvidence(() => ({ ...named, v3Live: nameChildren(members).v3Live }));
      const verdicts = judgeV3Members(members, side);
      return members.flatMap((child, at) => {
        const verdict = verdicts[at];
        if (verdict === undefined) return [];
        if (verdict.kind === 'pair') this.claimed.add(verdict.twin);
        return [rowOf(child, verdict, this.#outcome, evidenceOf(child, verdict))];
      });
    });
    return sortRows(rows);
  }

  /** The rows of V4 children without a V3 child. */
  listUnclaimed(): ChildRow[] {
    const rows = [...this.#groups.values()].flatMap(({ members, last }) => {
      const all = [...members, ...last];
      const evidenceOf = prepareChildEvidence(() => nameChildren(all));
      const verdicts = judgeGroup(all);
      return members.flatMap((child, at) => {
        const verdict = verdicts[at];
        if (verdict === undefined || this.claimed.has(child)) return [];
        return [rowOf(child, verdict, this.#outcome, evidenceOf(child, verdict))];
      });
    });
    return sortRows(rows);
  }
}

const NO_V4: Pick<V4Group, 'named' | 'side'> = { named: nameChildren([]), side: describeV4([]) };
