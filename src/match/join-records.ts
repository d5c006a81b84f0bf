import type { Db } from '../store/sqlite.js';
import { must } from '../text/at.js';
import { foldKey } from './fold-key.js';
import {
  areDifferent,
  type GroupIds,
  type GroupVerdict,
  judgeGroup,
  type KeyMember,
  listGroupIds,
  pairReason,
  renderGroupEvidence,
} from './judge-group.js';
import { numberOf, withFlags } from './outcomes.js';

/** Children of records with more children are judged one by one: statements compare each of them with each. */
const MAX_CHILDREN_OF_STATEMENTS = 50;

const CREATE_TWINS = `
  drop table if exists temp.twin;
  -- the rows of records, in the order of the remap; outcome is null for groups that are still to be judged
  create temp table twin(
    id integer primary key, scope_id integer not null, outcome integer, key text,
    a integer, b integer, -- record.id in V3 and V4
    v3 integer, v4 integer, -- svc_ids
    latest_ms integer, -- of the V3 record
    hard integer not null, -- 1: children are judged one by one
    evidence text) strict`;

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
      when n3 = 1 then case
        when not s.v4_known then o.unmatched_scope_incomplete
        when deleted3 then o.deleted_not_in_v4
        when s.inert then o.unmatched_connection_inert
        when g.latest_ms < s.window_ms then o.unmatched_outside_window
        else o.unmatched_unexplained end
      else o.only_v4 + case
        when not s.v3_known then o.v4_only_scope_incomplete
        when deleted4 then o.deleted_v4_only
        when s.v4_live is not null then s.v4_live
        when (select created_ms from record where id = b) > s.v3_read_until_ms then o.v4_only_created_after_export
        else o.v4_only_unexplained end
    end,
    key, a, b, v3, v4, latest_ms, hard
  from (
    select w.scope_id, r.platform_id as key, sum(w.generation = 3) as n3, sum(w.generation = 4) as n4,
      max(iif(w.generation = 3, r.id, null)) as a, max(iif(w.generation = 4, r.id, null)) as b,
      max(iif(w.generation = 3, r.svc_id, null)) as v3, max(iif(w.generation = 4, r.svc_id, null)) as v4,
      max(iif(w.generation = 3, r.unique_id, null)) as uid3, max(iif(w.generation = 4, r.unique_id, null)) as uid4,
      max(iif(w.generation = 3, r.deleted, null)) as deleted3, max(iif(w.generation = 4, r.deleted, null)) as deleted4,
      max(iif(w.generation = 3, r.latest_ms, null)) as latest_ms,
      max(r.child_twins or r.child_count > ${MAX_CHILDREN_OF_STATEMENTS}) as hard
    from record as r not indexed
      cross join temp.place as w on w.stream_id = r.stream_id and w.company_id = r.company_id
    where r.platform_id is not null and w.joined
    group by w.scope_id, r.platform_id) as g
    cross join temp.scope as s on s.id = g.scope_id cross join temp.o as o`;

/** The records of a key that several records of one generation have. */
const SELECT_GROUP = `
  select t.scope_id as scope, t.key, w.generation as gen, r.id, r.svc_id as svcId, r.unique_id as uid, r.deleted,
    r.latest_ms as latestMs, r.created_ms as createdMs,
    r.child_twins or r.child_count > ${MAX_CHILDREN_OF_STATEMENTS} as hard
  from temp.twin as t
    cross join temp.place as w on w.scope_id = t.scope_id and w.joined
    cross join record as r indexed by record_key
      on r.platform_id = t.key and r.stream_id = w.stream_id and r.company_id = w.company_id
  where t.id = ?
  order by w.generation, r.svc_id`;

const ADD_REST = `
  insert into temp.twin(scope_id, outcome, key, a, b, v3, v4, latest_ms, hard)
  select w.scope_id,
    iif(w.generation = 3, case
      when r.deleted and r.platform_id is null then o.deleted_no_platform_id
      when not s.v4_known then o.unmatched_scope_incomplete
      when r.platform_id is null then o.unmatched_no_platform_id
      when r.deleted then s.v3_deleted
      else s.v3_live end,
    o.only_v4 + case
      when not s.v3_known then o.v4_only_scope_incomplete
      when r.deleted then o.deleted_v4_only
      when r.platform_id is null then o.v4_only_no_platform_id
      when r.created_ms > s.v3_read_until_ms then o.v4_only_created_after_export
      else o.v4_only_unexplained end),
    r.platform_id, iif(w.generation = 3, r.id, null), iif(w.generation = 4, r.id, null),
    iif(w.generation = 3, r.svc_id, null), iif(w.generation = 4, r.svc_id, null),
    iif(w.generation = 3, r.latest_ms, null), 0
  from record as r not indexed
    cross join temp.place as w on w.stream_id = r.stream_id and w.company_id = r.company_id
    cross join temp.scope as s on s.id = w.scope_id cross join temp.o as o
  where r.platform_id is null or not w.joined
  order by w.scope_id, r.platform_id, w.generation, r.svc_id`;

/** Joins all records: one row for each V3 record, and for each V4 record without one. */
export function joinRecords(db: Db, throwIfStopped: () => void): void {
  db.exec(CREATE_TWINS);
  db.exec(JOIN_BY_KEY);
  throwIfStopped();
  judgeSeveral(db, throwIfStopped);
  db.exec(ADD_REST);
  throwIfStopped();
  explainChangedKeys(db);
  throwIfStopped();
  db.exec(DESCRIBE_WINDOWS);
}

interface SeveralRow {
  readonly scope: bigint;
  readonly key: string;
  readonly gen: bigint;
  readonly id: bigint;
  readonly svcId: bigint;
  readonly uid: string | null;
  readonly deleted: bigint;
  readonly latestMs: bigint | null;
  readonly createdMs: bigint | null;
  readonly hard: bigint;
}

interface RecordMember extends KeyMember {
  readonly row: SeveralRow;
}

interface ScopeFacts {
  readonly v3Known: bigint;
  readonly v4Known: bigint;
  readonly inert: bigint;
  readonly windowMs: bigint | null;
  readonly v4Live: bigint | null;
  readonly readUntilMs: bigint | null;
}

const GROUPS_PER_STEP = 1024;

function judgeSeveral(db: Db, throwIfStopped: () => void): void {
  const groups = db
    .prepare<[], bigint>('select id from temp.twin where outcome is null order by id')
    .pluck()
    .all();
  if (groups.length === 0) return;
  const scopeOf = db.prepare<[bigint], ScopeFacts>(`
    select v3_known as v3Known, v4_known as v4Known, inert, window_ms as windowMs, v4_live as v4Live,
      v3_read_until_ms as readUntilMs
    from temp.scope where id = ?`);
  const insert = db.prepare(`
    insert into temp.twin(scope_id, outcome, key, a, b, v3, v4, latest_ms, hard, evidence)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const selectGroup = db.prepare<[bigint], SeveralRow>(SELECT_GROUP);
  for (const [at, id] of groups.entries()) {
    if (at % GROUPS_PER_STEP === 0) throwIfStopped();
    const rows = selectGroup.all(id);
    const scope = must(scopeOf.get(must(rows[0], 'group').scope), 'scope');
    for (const row of judgeRows(rows, scope)) insert.run(...row);
  }
  db.exec('delete from temp.twin where outcome is null');
}

function judgeRows(rows: readonly SeveralRow[], scope: ScopeFacts): unknown[][] {
  const members = rows.map((row): RecordMember => {
    const gen = row.gen === 3n ? 3 : 4;
    return { gen, svcId: row.svcId, uid: row.uid, deleted: row.deleted === 1n, row };
  });
  const verdicts = judgeGroup(members);
  const claims = new Map<RecordMember, number>();
  for (const verdict of verdicts) {
    if (verdict.kind === 'pair') claims.set(verdict.twin, (claims.get(verdict.twin) ?? 0) + 1);
  }
  let ids: GroupIds | undefined;
  const idsOf = () => {
    ids ??= listGroupIds(members);
    return ids;
  };
  return members.flatMap((member, at) => {
    const verdict = must(verdicts[at], 'verdict');
    if (verdict.kind === 'claimed') return [];
    const { row, gen } = member;
    const twin = verdict.kind === 'pair' ? verdict.twin : null;
    const [a, b] = gen === 3 ? [row, twin?.row ?? null] : [null, row];
    const isHard = row.hard === 1n || twin?.row.hard === 1n || (twin !== null && (claims.get(twin) ?? 0) > 1);
    return [
      [
        ...[row.scope, outcomeOf(member, verdict, scope), row.key, a?.id ?? null, b?.id ?? null],
        ...[a?.svcId ?? null, b?.svcId ?? null, a?.latestMs ?? null, isHard ? 1 : 0],
        renderGroupEvidence(verdict, gen, idsOf),
      ],
    ];
  });
}

function outcomeOf(member: RecordMember, verdict: GroupVerdict<RecordMember>, scope: ScopeFacts): number {
  const isV4 = member.gen === 4;
  const ofRow = (outcome: number) => withFlags(outcome, { only_v4: isV4 });
  switch (verdict.kind) {
    case 'pair': {
      const { twin, by, merged } = verdict;
      const reason = pairReason(member.deleted, twin.deleted);
      return withFlags(numberOf(reason ?? 'matched'), {
        by_key: by === 'platform_id',
        by_unique_id: by === 'platform_unique_id',
        conflict: areDifferent(member.uid, twin.uid),
        merged: merged.length > 0,
      });
    }
    case 'superseded':
      return ofRow(numberOf(isV4 ? 'superseded_in_v4' : 'superseded_in_v3'));
    case 'dup_v3':
      return ofRow(numberOf('duplicate_v3'));
    case 'dup_v4':
      return ofRow(numberOf('duplicate_v4'));
    case 'absent':
    case 'claimed':
      return ofRow(isV4 ? absentInV3(member, scope) : absentInV4(member, scope));
  }
}

function absentInV4({ deleted, row }: RecordMember, { v4Known, inert, windowMs }: ScopeFacts): number {
  if (v4Known === 0n) return numberOf('unmatched_scope_incomplete');
  if (deleted) return numberOf('deleted_not_in_v4');
  if (inert === 1n) return numberOf('unmatched_connection_inert');
  const isOld = row.latestMs !== null && windowMs !== null && row.latestMs < windowMs;
  return numberOf(isOld ? 'unmatched_outside_window' : 'unmatched_unexplained');
}

function absentInV3({ deleted, row }: RecordMember, { v3Known, v4Live, readUntilMs }: ScopeFacts): number {
  if (v3Known === 0n) return numberOf('v4_only_scope_incomplete');
  if (deleted) return numberOf('deleted_v4_only');
  if (v4Live !== null) return Number(v4Live);
  const isLater = row.createdMs !== null && readUntilMs !== null && row.createdMs > readUntilMs;
  return numberOf(isLater ? 'v4_only_created_after_export' : 'v4_only_unexplained');
}

/** Records without a twin on either side of a company pair, which may be one record whose key changed. */
const CREATE_NEAR = `
  drop table if exists temp.near;
  create temp table near(
    twin integer primary key, scope_id integer not null, generation integer not null, svc_id integer not null,
    folded text, unique_id text) strict;
  with open as (
    select t.id, t.scope_id, iif(t.a is null, 4, 3) as generation, ifnull(t.v3, t.v4) as svc_id, t.key, ifnull(t.a, t.b) as record
    from temp.twin as t cross join temp.o as o
    where (t.a is null or t.b is null) and t.outcome in (
      o.unmatched_outside_window, o.unmatched_unexplained, o.unmatched_no_platform_id,
      o.only_v4 + o.v4_only_created_after_export, o.only_v4 + o.v4_only_unexplained, o.only_v4 + o.v4_only_no_platform_id)),
  both_sides as (
    select scope_id from open group by scope_id having min(generation) <> max(generation))
  insert into temp.near(twin, scope_id, generation, svc_id, folded, unique_id)
  select open.id, open.scope_id, open.generation, open.svc_id, fold_key(open.key), r.unique_id
  from open cross join record as r on r.id = open.record
  where open.scope_id in (select scope_id from both_sides);
  create index temp.near_key on near(scope_id, generation, folded, svc_id) where folded is not null;
  create index temp.near_unique_id on near(scope_id, generation, unique_id, svc_id) where unique_id is not null;`;

/** Evidence names the five lowest ids. */
const EXPLAIN_CHANGED_KEYS = `
  update temp.twin as t
  set outcome = iif(t.a is null, o.only_v4 + o.v4_only_key_changed, o.unmatched_key_changed),
    evidence = json_object(iif(t.a is null, 'v3_svc_ids', 'v4_svc_ids'), json(near_ids.ids))
  from temp.o as o, (
    select n.twin, (
      select json_group_array(cast(svc_id as text))
      from (
        select svc_id from (
          select m.svc_id from temp.near as m
          where m.scope_id = n.scope_id and m.generation = 7 - n.generation and m.folded = n.folded
          order by m.svc_id limit 5)
        union
        select svc_id from (
          select m.svc_id from temp.near as m
          where m.scope_id = n.scope_id and m.generation = 7 - n.generation and m.unique_id = n.unique_id
          order by m.svc_id limit 5)
        order by svc_id limit 5)) as ids
    from temp.near as n
    where n.folded is not null) as near_ids
  where near_ids.twin = t.id and near_ids.ids <> '[]'`;

function explainChangedKeys(db: Db): void {
  db.function('fold_key', { deterministic: true }, (key) => (typeof key === 'string' ? foldKey(key) : null));
  db.exec(CREATE_NEAR);
  db.exec(EXPLAIN_CHANGED_KEYS);
  db.exec('drop table temp.near');
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
