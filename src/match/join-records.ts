import type { Db } from '../store/sqlite.js';
import { at } from '../text/at.js';
import { explainChangedKeys } from './changed-keys.js';
import { judgeGroup, type KeyMember, listGroupIds, outcomeOf, renderGroupEvidence } from './judge-group.js';

/** Records with more children are judged in code: a statement compares every child with every other. */
const MAX_CHILDREN_OF_STATEMENTS = 50;

const CREATE_TWINS = `
  -- the rows of records, in the order of the remap; outcome is null for groups that are still to be judged
  create temp table twin(
    id integer primary key, scope_id integer not null, outcome integer, key text,
    a integer, b integer, -- record.id in V3 and V4
    v3 integer, v4 integer, -- svc_ids
    latest_ms integer, -- of the V3 record
    hard integer not null, -- 1: children are judged one by one
    evidence text) strict`;

/** The outcome of a record that the other generation lacks: the first reason that applies. */
const ABSENT = `
  iif(generation = 3, case
    when deleted and platform_id is null then o.deleted_no_platform_id
    when not s.v4_known then o.unmatched_scope_incomplete
    when platform_id is null then o.unmatched_no_platform_id
    when s.v3_live is not null then iif(deleted, s.v3_deleted, s.v3_live)
    when deleted then o.deleted_not_in_v4
    when s.inert then o.unmatched_connection_inert
    when latest_ms < s.window_ms then o.unmatched_outside_window
    else o.unmatched_unexplained end,
  o.only_v4 + case
    when not s.v3_known then o.v4_only_scope_incomplete
    when deleted then o.deleted_v4_only
    when platform_id is null then o.v4_only_no_platform_id
    when s.v4_live is not null then s.v4_live
    when created_ms > s.v3_read_until_ms then o.v4_only_created_after_export
    else o.v4_only_unexplained end)`;

/** Joins the records of each company pair by their keys, with one sort. */
const JOIN_BY_KEY = `
  insert into temp.twin(scope_id, outcome, key, a, b, v3, v4, latest_ms, hard)
  select g.scope_id,
    case
      when n3 > 1 or n4 > 1 then null
      when n3 = 1 and n4 = 1 then o.by_key + iif(uid3 <> uid4, o.conflict, 0) + case
        when deleted3 and deleted4 then o.deleted_in_both
        when deleted3 then o.deleted_in_v3
        when deleted4 then o.deleted_in_v4
        else o.matched end
      else ${ABSENT} end,
    platform_id, a, b, v3, v4, latest_ms, hard
  from (
    select *, iif(n3 > 0, 3, 4) as generation, ifnull(deleted3, deleted4) as deleted,
      (select created_ms from record where id = b) as created_ms
    from (
      select w.scope_id, r.platform_id, sum(w.generation = 3) as n3, sum(w.generation = 4) as n4,
        max(iif(w.generation = 3, r.id, null)) as a, max(iif(w.generation = 4, r.id, null)) as b,
        max(iif(w.generation = 3, r.svc_id, null)) as v3, max(iif(w.generation = 4, r.svc_id, null)) as v4,
        max(iif(w.generation = 3, r.unique_id, null)) as uid3, max(iif(w.generation = 4, r.unique_id, null)) as uid4,
        max(iif(w.generation = 3, r.deleted, null)) as deleted3, max(iif(w.generation = 4, r.deleted, null)) as deleted4,
        max(iif(w.generation = 3, r.latest_ms, null)) as latest_ms,
        max(r.child_twins or r.child_count > ${MAX_CHILDREN_OF_STATEMENTS}) as hard
      from record as r not indexed
        cross join temp.place as w on w.stream_id = r.stream_id and w.company_id = r.company_id
      where r.platform_id is not null and w.joined
      group by w.scope_id, r.platform_id)) as g
    cross join temp.scope as s on s.id = g.scope_id cross join temp.o as o`;

/** The records of a key that several records of one generation have. */
const SELECT_GROUP = `
  select w.generation as gen, r.id, r.svc_id as svcId, r.unique_id as uid, r.deleted
  from temp.twin as t
    cross join temp.place as w on w.scope_id = t.scope_id and w.joined
    cross join record as r indexed by record_key
      on r.platform_id = t.key and r.stream_id = w.stream_id and r.company_id = w.company_id
  where t.id = ?
  order by w.generation, r.svc_id`;

const ADD_JUDGED = `
  insert into temp.twin(scope_id, outcome, key, a, b, v3, v4, latest_ms, hard, evidence)
  select w.scope_id, ifnull(@outcome, ${ABSENT}), r.platform_id, @a, @b,
    iif(w.generation = 3, r.svc_id, null), iif(w.generation = 4, r.svc_id, (select svc_id from record where id = @b)),
    iif(w.generation = 3, r.latest_ms, null), 1, @evidence
  from record as r
    cross join temp.place as w on w.stream_id = r.stream_id and w.company_id = r.company_id
    cross join temp.scope as s on s.id = w.scope_id cross join temp.o as o
  where r.id = ifnull(@a, @b)`;

const ADD_REST = `
  insert into temp.twin(scope_id, outcome, key, a, b, v3, v4, latest_ms, hard)
  select w.scope_id, ${ABSENT},
    r.platform_id, iif(w.generation = 3, r.id, null), iif(w.generation = 4, r.id, null),
    iif(w.generation = 3, r.svc_id, null), iif(w.generation = 4, r.svc_id, null),
    iif(w.generation = 3, r.latest_ms, null), 0
  from record as r not indexed
    cross join temp.place as w on w.stream_id = r.stream_id and w.company_id = r.company_id
    cross join temp.scope as s on s.id = w.scope_id cross join temp.o as o
  where r.platform_id is null or not w.joined
  order by w.scope_id, r.platform_id, w.generation, r.svc_id`;

/** Joins all records: one row for each V3 record, and for each V4 record without one. */
export function joinRecords(db: Db): void {
  db.exec(CREATE_TWINS);
  db.exec(JOIN_BY_KEY);
  judgeSeveral(db);
  db.exec(ADD_REST);
  explainChangedKeys(db, 'records');
  db.exec(DESCRIBE_WINDOWS);
}

interface RecordMember extends KeyMember {
  readonly id: bigint;
}

/** Judges the keys that several records of one generation have. */
function judgeSeveral(db: Db): void {
  const groups = db
    .prepare<[], bigint>('select id from temp.twin where outcome is null order by id')
    .pluck()
    .all();
  const selectGroup = db.prepare<[bigint], RecordMember>(SELECT_GROUP);
  const insert = db.prepare(ADD_JUDGED);
  for (const group of groups) for (const row of judgeMembers(selectGroup.all(group))) insert.run(row);
  db.exec('delete from temp.twin where outcome is null');
}

function judgeMembers(members: readonly RecordMember[]): object[] {
  const verdicts = judgeGroup(members);
  const ids = listGroupIds(members);
  return members.flatMap((member, index) => {
    const verdict = at(verdicts, index);
    if (verdict.kind === 'claimed') return [];
    const twin = verdict.kind === 'pair' ? verdict.twin.id : null;
    const outcome = outcomeOf(member, verdict);
    const evidence = renderGroupEvidence(verdict, member.gen, ids);
    const [a, b] = member.gen === 3n ? [member.id, twin] : [null, member.id];
    return [{ outcome, a, b, evidence }];
  });
}

/** Evidence of the dates by which records are explained; null for years beyond four digits. */
const DESCRIBE_WINDOWS = `
  update temp.twin as t
  set evidence = (
    select case
      when t.outcome = o.unmatched_outside_window then json_object(
        'latest_date', strftime('%Y-%m-%dT%H:%M:%fZ', t.latest_ms / 1000.0, 'unixepoch'),
        'latest_from', iif(r.latest_is_service, 'service', 'platform'),
        'window_start', strftime('%Y-%m-%dT%H:%M:%fZ', s.window_ms / 1000.0, 'unixepoch'),
        'window', s.window_source)
      else json_object('created', strftime('%Y-%m-%dT%H:%M:%fZ', r.created_ms / 1000.0, 'unixepoch')) end
    from record as r cross join temp.scope as s cross join temp.o as o
    where r.id = ifnull(t.a, t.b) and s.id = t.scope_id)
  where t.outcome in (
    select unmatched_outside_window from temp.o union all select only_v4 + v4_only_created_after_export from temp.o)`;
