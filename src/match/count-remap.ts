import { SvcError } from '../errors.js';
import type { Db } from '../store/sqlite.js';
import { must } from '../text/at.js';
import { GROUP_OF } from './outcomes.js';

const ROWS_PER_BLOCK = 8192n;

/**
 * Creates a temporary table with the sums of blocks of rows, which a second sum makes whole: this is cheaper than one
 * sort of all rows.
 *
 * @param sums a statement over the rows whose id is above its first parameter and up to its second
 */
export function sumByBlocks(
  db: Db,
  { from, into, sums }: { readonly from: string; readonly into: string; readonly sums: string },
): void {
  db.prepare(`create temp table ${into} as ${sums}`).run(0n, 0n);
  const insert = db.prepare<[bigint, bigint]>(`insert into temp.${into} ${sums}`);
  const last = must(db.prepare<[], bigint>(`select ifnull(max(id), 0) from ${from}`).pluck().get());
  for (let first = 0n; first < last; first += ROWS_PER_BLOCK) insert.run(first, first + ROWS_PER_BLOCK);
}

const COUNT_RECORDS = `
  select stream_id, company_id, count(*) as records, sum(deleted) as deleted, sum(child_count) as children
  from record where id > ? and id <= ? group by 1, 2`;

const ADD_EXPORTED = `
  insert into exported_count(generation, region, model, company_id, records, children, deleted, rejected)
  select s.generation, s.region, s.model, c.company_id, sum(c.records), sum(c.children), sum(c.deleted), 0
  from temp.record_count as c cross join stream as s on s.id = c.stream_id
  where s.model in (select value from json_each(?))
  group by s.id, c.company_id
  union all
  select generation, region, model, company_id, 0, 0, 0, count(*)
  from rejected group by generation, region, model, company_id`;

/** Counts the exported objects of each model and company of the configured models. */
export function countExported(db: Db, models: readonly string[]): void {
  sumByBlocks(db, { from: 'record', into: 'record_count', sums: COUNT_RECORDS });
  db.prepare(ADD_EXPORTED).run(JSON.stringify(models));
}

const COUNT_GROUPS = `
  select group_id, count(*) as count, count(v3_svc_id) as v3_count from remap_row where id > ? and id <= ? group by group_id`;

const ADD_GROUPS = `
  insert into remap_group(id, model, path, region, v3_company_id, v4_company_id, status, reason, matched_by, provisional,
    unique_id_conflict, merged, count, v3_count)
  select g.id, s.model, p.name, iif(g.id & o.only_v4, null, s.region), iif(g.id & o.only_v4, null, s.v3_company_id),
    s.v4_company_id, n.status, iif(g.id & o.parent, 'parent_', '') || n.reason,
    case g.id & o.by_decision
      when o.by_key then 'platform_id' when o.by_unique_id then 'platform_unique_id' when o.by_decision then 'decision' end,
    s.provisional and (g.id & o.by_decision), (g.id & o.conflict) > 0, (g.id & o.merged) > 0, g.count, g.v3_count
  from (select group_id as id, sum(count) as count, sum(v3_count) as v3_count from temp.group_count group by 1) as g
    cross join temp.o as o
    cross join temp.scope as s on s.id = g.id / ${GROUP_OF.scope}
    cross join temp.outcome as n on n.number = g.id & 63
    cross join (select 0 as id, '' as name union all select id, name from child_path) as p
      on p.id = g.id % ${GROUP_OF.scope} / ${GROUP_OF.path}`;

/** Pairs with their own evidence also record in it that they are provisional. */
const MARK_PROVISIONAL = `
  update remap_row set evidence = json_set(evidence, '$.provisional', json('true'))
  where evidence is not null and group_id in (select id from remap_group where provisional)`;

/** Describes and counts the groups that rows have. */
export function countGroups(db: Db): void {
  sumByBlocks(db, { from: 'remap_row', into: 'group_count', sums: COUNT_GROUPS });
  db.exec(ADD_GROUPS);
  if (db.prepare('select 1 from remap_group where provisional').get() !== undefined)
    db.exec(MARK_PROVISIONAL);
}

const COUNT_DAYS = `
  select r.group_id, cast(floor(t.latest_ms / 86400000.0) as integer) as day, count(*) as count,
    min(t.latest_ms) as earliest_ms, max(t.latest_ms) as latest_ms
  from temp.twin as t cross join remap_row as r on r.id = t.id
  where t.id > ? and t.id <= ? and t.a is not null
  group by 1, 2`;

export function countDays(db: Db): void {
  sumByBlocks(db, { from: 'temp.twin', into: 'day_count', sums: COUNT_DAYS });
  db.exec(`
    insert into remap_day(group_id, day, count, earliest_ms, latest_ms)
    select group_id, day, sum(count), min(earliest_ms), max(latest_ms) from temp.day_count group by 1, 2`);
}

/**
 * Exported objects, and those that rows account for. Several rows can name one V4 record; then their children are judged
 * one by one. A record that shows a child twice holds one id.
 */
const COUNT_ALL = `
  with exported as (
    select ifnull(sum(records + children) filter (where generation = 'v3'), 0) as v3,
      ifnull(sum(records + children) filter (where generation = 'v4'), 0) as v4
    from exported_count),
  grouped as (
    select ifnull(sum(count), 0) as count, ifnull(sum(v3_count), 0) as v3,
      ifnull(sum(count) filter (where v3_company_id is null or matched_by is not null), 0) as v4
    from remap_group),
  shared_row as (
    select t.b, r.group_id / ${GROUP_OF.path} as place, r.v4_svc_id
    from remap_row as r cross join temp.twin as t on t.id = r.parent
    where r.v4_svc_id is not null and r.parent in (select id from temp.twin where hard and b is not null)),
  shared_child as (
    select record_id, path, svc_id from child where record_id in (select b from temp.twin where hard)),
  repeated as (
    select (select count(b) - count(distinct b) from temp.twin where hard)
      + (select count(*) from shared_row) - (select count(*) from (select distinct * from shared_row))
      - (select count(*) from shared_child) + (select count(*) from (select distinct * from shared_child)) as v4)
  select grouped.count as rows, exported.v3 as v3Exported, grouped.v3 as v3Rows,
    exported.v4 as v4Exported, grouped.v4 - repeated.v4 as v4Seen,
    (select ifnull(sum(children), 0) from temp.record_count) as children, (select count(*) from child) as childRows
  from exported, grouped, repeated`;

type Counts = Readonly<
  Record<'rows' | 'v3Exported' | 'v3Rows' | 'v4Exported' | 'v4Seen' | 'children' | 'childRows', bigint>
>;

/** @throws SvcError `internal`: a remap that does not account for every record is a bug, and is discarded */
export function countConserved(db: Db): Counts {
  const counts = must(db.prepare<[], Counts>(COUNT_ALL).get());
  const { rows: _, ...facts } = counts;
  const { v3Exported, v3Rows, v4Exported, v4Seen, children, childRows } = facts;
  if (v3Exported === v3Rows && v4Exported === v4Seen && children === childRows) return counts;
  throw new SvcError('internal', 'The remap does not account for every record; it was discarded.', {
    hint: 'This is a bug: please report it with these numbers.',
    facts,
  });
}
