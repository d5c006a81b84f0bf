import { parseChildren } from '../json/stored-lists.js';
import type { Db } from '../store/open.js';
import { decideChildren } from './decide-children.js';
import type { Decisions } from './decide-records.js';
import {
  type ChildMember,
  type ChildRow,
  groupChildren,
  inheritOutcome,
  membersOf,
  nameChildren,
  prepareChildEvidence,
  rowOf,
} from './judge-children.js';
import { describeV4, type GroupIds, judgeGroup, judgeV3Members, type V4Side } from './judge-group.js';

/**
 * Fills `shared_child` with the children of V4 records that are the twin of several V3 records, and of these V3 records.
 * A V4 child without a V3 child has one row, without a V3 record.
 *
 * Only deleted records share a twin, so all of these children inherit the reason of their pair, and decisions about them
 * are judged but never taken.
 *
 * @returns how many V4 children are paired with V3 ones
 */
export function saveSharedChildren(db: Db, decisions: Decisions, throwIfStopped: () => void): number {
  db.exec(`
    CREATE TEMP TABLE shared_child(
      v3_record_id INTEGER, v4_record_id INTEGER NOT NULL, path TEXT NOT NULL, v3_svc_id INTEGER, v4_svc_id INTEGER,
      platform_id TEXT, status TEXT NOT NULL, reason TEXT, matched_by TEXT, evidence TEXT, conflict INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX temp.shared_pair ON pair(v4_record_id, v3_record_id) WHERE is_shared;
  `);
  const insert = db.prepare('INSERT INTO shared_child VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const save = (
    v3Record: bigint | null,
    twin: bigint,
    [, path, v3SvcId, v4SvcId, ...rest]: ChildRow,
  ): void => {
    const ids = [v3SvcId, v4SvcId].map((id) => (id === null ? null : BigInt(id)));
    insert.run(v3Record, twin, path, ...ids, ...rest);
  };
  let claimed = 0;
  for (const { twin, children, reason, v3Records } of readSharedTwins(db)) {
    const stored = parseChildren(children);
    const shared = new SharedTwin(membersOf(4, stored), reason);
    for (const [v3Record, v3SvcId, v3Children] of v3Records) {
      throwIfStopped();
      const v3 = parseChildren(v3Children);
      const rows = shared.judge(v3SvcId, membersOf(3, v3));
      for (const row of rows) save(v3Record, twin, row);
      const decided = decisions.ofChildren.get(Number(v3Record)) ?? [];
      if (decided.length === 0) continue;
      const both = { v3, v4: stored, parentsMatched: false };
      const { verdicts } = decideChildren({ v3: rows, v4: [] }, both, decided);
      for (const [line, verdict] of verdicts) decisions.verdicts.set(line, verdict);
    }
    for (const row of shared.listUnclaimed()) save(null, twin, row);
    claimed += shared.claimed.size;
  }
  return claimed;
}

interface SharedPairs {
  readonly twin: bigint;
  readonly children: string;
  readonly reason: string;
  /** Row ids with svc_ids and the children as stored, in the order of the row ids. */
  readonly v3Records: Iterable<readonly [v3Record: bigint, svcId: bigint, children: string]>;
}

/** Reads row by row, because nothing can be written while a query is open. */
function* readSharedTwins(db: Db): Generator<SharedPairs> {
  const readTwin = db
    .prepare<[bigint], [twin: bigint, children: string, reason: string]>(`
      SELECT id, ifnull(children, '[]'), iif(deleted, 'deleted_in_both', 'deleted_in_v3')
        FROM record WHERE id = (SELECT min(v4_record_id) FROM pair WHERE is_shared AND v4_record_id > ?)`)
    .raw();
  const readV3 = db
    .prepare<[bigint, bigint], [v3Record: bigint, svcId: bigint, children: string]>(`
      SELECT record.id, record.svc_id, ifnull(record.children, '[]') FROM pair CROSS JOIN record ON record.id = v3_record_id
        WHERE is_shared AND v4_record_id = ? AND v3_record_id > ? ORDER BY v3_record_id LIMIT 1`)
    .raw();
  function* walkV3(twin: bigint): Generator<[v3Record: bigint, svcId: bigint, children: string]> {
    for (let row = readV3.get(twin, 0n); row !== undefined; row = readV3.get(twin, row[0])) yield row;
  }
  for (let row = readTwin.get(0n); row !== undefined; row = readTwin.get(row[0])) {
    const [twin, children, reason] = row;
    yield { twin, children, reason, v3Records: walkV3(twin) };
  }
}

/** The V4 children of one field and key. */
interface V4Group {
  readonly members: readonly ChildMember[];
  readonly side: V4Side<ChildMember>;
  readonly named: GroupIds;
  /** The V3 children with the key, of the record with the highest svc_id; the evidence of V4 children names them. */
  last: readonly ChildMember[];
  /** The svc_id of that record: records are not read in the order of their svc_ids. */
  lastOf: bigint | null;
}

/**
 * Judges the children of one V4 record against those of each V3 record paired with it. The V4 children are indexed once,
 * so that the time for each V3 record depends only on its own children.
 */
class SharedTwin {
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
      lastOf: null,
    });
    this.#groups = new Map([...groupChildren(children)].map(([place, members]) => [place, groupOf(members)]));
    this.#outcome = inheritOutcome(reason);
  }

  /** The rows of a V3 record's children. */
  judge(svcId: bigint, children: readonly ChildMember[]): ChildRow[] {
    return [...groupChildren(children)].flatMap(([place, members]) => {
      const group = members[0]?.key === null ? undefined : this.#groups.get(place);
      if (group !== undefined && (group.lastOf === null || svcId > group.lastOf)) {
        group.last = members;
        group.lastOf = svcId;
      }
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
  }

  /** The rows of V4 children without a V3 child. */
  listUnclaimed(): ChildRow[] {
    return [...this.#groups.values()].flatMap(({ members, last }) => {
      const all = [...members, ...last];
      const evidenceOf = prepareChildEvidence(() => nameChildren(all));
      const verdicts = judgeGroup(all);
      return members.flatMap((child, at) => {
        const verdict = verdicts[at];
        if (verdict === undefined || this.claimed.has(child)) return [];
        return [rowOf(child, verdict, this.#outcome, evidenceOf(child, verdict))];
      });
    });
  }
}

const NO_V4: Pick<V4Group, 'named' | 'side'> = { named: nameChildren([]), side: describeV4([]) };
