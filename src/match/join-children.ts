import type { Db } from '../store/sqlite.js';
import { at } from '../text/at.js';
import { groupBy } from '../text/rows.js';
import { explainChangedKeys } from './changed-keys.js';
import { type ChildMember, type ChildRow, TwinChildren } from './judge-children.js';
import { GROUP_OF } from './outcomes.js';

/** V3 children and their V4 children, but for pairs whose children are judged one by one. */
const ADD_V3_CHILDREN = `
  insert into remap_row(group_id, parent, platform_id, v3_svc_id, v4_svc_id)
  select t.scope_id * ${GROUP_OF.scope} + c3.path * ${GROUP_OF.path} + case
      when t.b is null or (t.outcome & 63) <> o.matched then
        o.parent + (t.outcome & 63) + iif(c4.svc_id is null, 0, o.by_key + iif(c3.unique_id <> c4.unique_id, o.conflict, 0))
      when c4.svc_id is not null then o.by_key + iif(c3.unique_id <> c4.unique_id, o.conflict, 0) + case
        when c3.deleted and c4.deleted then o.deleted_in_both
        when c3.deleted then o.deleted_in_v3
        when c4.deleted then o.deleted_in_v4
        else o.matched end
      when c3.platform_id is null then iif(c3.deleted, o.deleted_no_platform_id, o.unmatched_no_platform_id)
      else iif(c3.deleted, o.deleted_not_in_v4, o.unmatched_unexplained) end,
    t.id, c3.platform_id, c3.svc_id, c4.svc_id
  from temp.twin as t
    cross join temp.o as o
    cross join child as c3 on c3.record_id = t.a
    left join child as c4 on c4.record_id = t.b and c4.platform_id = c3.platform_id and c4.path = c3.path
  where t.a is not null and (t.b is null or not t.hard)
  order by t.id`;

const ADD_V4_CHILDREN = `
  insert into remap_row(group_id, parent, platform_id, v4_svc_id)
  select t.scope_id * ${GROUP_OF.scope} + c4.path * ${GROUP_OF.path} + o.only_v4 + case
      when t.a is null or (t.outcome & 63) <> o.matched then o.parent + (t.outcome & 63)
      when c4.deleted then o.deleted_v4_only
      when c4.platform_id is null then o.v4_only_no_platform_id
      else o.v4_only_unexplained end,
    t.id, c4.platform_id, c4.svc_id
  from temp.twin as t
    cross join temp.o as o
    cross join child as c4 on c4.record_id = t.b
  where t.b is not null and (t.a is null or not t.hard)
    and not exists (
      select 1 from child as c3
      where c3.record_id = t.a and c3.platform_id = c4.platform_id and c3.path = c4.path)
  order by t.id`;

export function joinChildren(db: Db): void {
  db.exec(ADD_V3_CHILDREN);
  db.exec(ADD_V4_CHILDREN);
  judgeHardPairs(db);
  explainChangedKeys(db, 'children');
}

interface HardPair {
  readonly id: bigint;
  readonly scope: bigint;
  /** The outcome that its children inherit; null if it is matched. */
  readonly inherited: bigint | null;
  readonly a: bigint;
  readonly b: bigint;
  readonly v3Key: string | null;
  readonly v4Key: string | null;
}

const SELECT_HARD_PAIRS = `
  select t.id, t.scope_id as scope, nullif(t.outcome & 63, o.matched) as inherited, t.a, t.b, t.key as v3Key,
    r.platform_id as v4Key
  from temp.twin as t cross join temp.o as o cross join record as r on r.id = t.b
  where t.hard and t.a is not null and t.b is not null
  order by t.id`;

const SELECT_CHILDREN = `
  select ? as gen, path, svc_id as svcId, platform_id as key, unique_id as uid, deleted
  from child where record_id = ? order by position`;

/** Several V3 records can share a V4 record. */
function judgeHardPairs(db: Db): void {
  const children = db.prepare<[bigint, bigint], ChildMember>(SELECT_CHILDREN);
  const insert = db.prepare(`
    insert into remap_row(group_id, parent, platform_id, v3_svc_id, v4_svc_id, evidence) values (?, ?, ?, ?, ?, ?)`);
  const write = ({ id, scope, v3Key, v4Key }: HardPair, rows: readonly ChildRow[]) => {
    for (const { path, key, v3, v4, outcome, evidence } of rows) {
      const group = scope * BigInt(GROUP_OF.scope) + path * BigInt(GROUP_OF.path);
      const text = v4 === null || v3Key === v4Key ? evidence : withParentKey(evidence, v4Key);
      insert.run(group + BigInt(outcome), id, key, v3, v4, text);
    }
  };
  const pairs = groupBy(db.prepare<[], HardPair>(SELECT_HARD_PAIRS).all(), ({ b }) => b);
  for (const [b, ofTwin] of pairs) {
    const twin = new TwinChildren(children.all(4n, b));
    for (const pair of ofTwin) write(pair, twin.judge(children.all(3n, pair.a), pair.inherited));
    // the rows of V4 children without a V3 child belong to a matched pair, if there is one
    const holder = ofTwin.find(({ inherited }) => inherited === null) ?? at(ofTwin, 0);
    write(holder, twin.judgeUnclaimed(holder.inherited));
  }
}

function withParentKey(evidence: string | null, v4Key: string | null): string {
  const before: object = evidence === null ? {} : JSON.parse(evidence);
  return JSON.stringify({ ...before, v4_parent_platform_id: v4Key });
}
