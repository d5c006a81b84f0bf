import type { Db } from '../store/sqlite.js';
import { GROUP_OF } from './outcomes.js';

/** Records without a twin on either side of a company pair, which may be one record whose key changed. */
const ADD_OPEN_RECORDS = `
  insert into temp.open(id, place, generation, svc_id, key, record_id, path)
  select t.id, t.scope_id, iif(t.a is null, 4, 3), ifnull(t.v3, t.v4), t.key, ifnull(t.a, t.b), 0
  from temp.twin as t cross join temp.o as o
  where (t.a is null or t.b is null) and t.outcome in (
    o.unmatched_outside_window, o.unmatched_unexplained, o.unmatched_no_platform_id,
    o.only_v4 + o.v4_only_created_after_export, o.only_v4 + o.v4_only_unexplained, o.only_v4 + o.v4_only_no_platform_id)`;

/** Children without a twin on either side of a matched pair, with the V4 record and field as their place. */
const ADD_OPEN_CHILDREN = `
  insert into temp.open(id, place, generation, svc_id, key, record_id, path)
  select r.id, t.b * 256 + r.group_id / ${GROUP_OF.path} % 256, iif(r.v3_svc_id is null, 4, 3),
    ifnull(r.v3_svc_id, r.v4_svc_id), r.platform_id, iif(r.v3_svc_id is null, t.b, t.a), r.group_id / ${GROUP_OF.path} % 256
  from remap_row as r cross join temp.o as o cross join temp.twin as t on t.id = r.parent
  where (r.group_id & ${GROUP_OF.path - 1}) in (
    o.unmatched_unexplained, o.unmatched_no_platform_id,
    o.only_v4 + o.v4_only_unexplained, o.only_v4 + o.v4_only_no_platform_id)`;

const CREATE_OPEN = `
  drop table if exists temp.open;
  create temp table open(
    id integer primary key, place integer not null, generation integer not null, svc_id integer not null, key text,
    record_id integer not null, path integer not null, folded text, unique_id text) strict;`;

/** Only places with both sides can have a similar key. */
const DROP_LONE = `
  delete from temp.open where place in (
    select place from temp.open group by place having min(generation) = max(generation))`;

const READ_RECORDS = `
  update temp.open as n set folded = fold_key(n.key), unique_id = r.unique_id from record as r where r.id = n.record_id`;

/** Reads the children of each record once. */
const READ_CHILDREN = `
  create index temp.open_child on open(record_id, path, svc_id);
  create temp table read as
    select n.id, c.unique_id
    from (select distinct record_id from temp.open) as d
      cross join child as c on c.record_id = d.record_id
      cross join temp.open as n on n.record_id = c.record_id and n.path = c.path and n.svc_id = c.svc_id;
  update temp.open as n set folded = fold_key(n.key), unique_id = c.unique_id from temp.read as c where n.id = c.id;
  drop table temp.read;`;

const CREATE_INDEXES = `
  create index temp.open_key on open(place, generation, folded, svc_id) where folded is not null;
  create index temp.open_unique_id on open(place, generation, unique_id, svc_id) where unique_id is not null;`;

/** Evidence names the five lowest ids. */
const explain = (table: string, outcome: string) => `
  update ${table} as t
  set ${outcome} = t.${outcome} - (t.${outcome} & 63) + iif(near.generation = 4, o.v4_only_key_changed, o.unmatched_key_changed),
    evidence = json_set(
      ifnull(t.evidence, '{}'), iif(near.generation = 4, '$.v3_svc_ids', '$.v4_svc_ids'), json(near.ids))
  from temp.o as o, (
    select n.id, n.generation, (
      select json_group_array(cast(svc_id as text))
      from (
        select svc_id from (
          select m.svc_id from temp.open as m
          where m.place = n.place and m.generation = 7 - n.generation and m.folded = n.folded
          order by m.svc_id limit 5)
        union
        select svc_id from (
          select m.svc_id from temp.open as m
          where m.place = n.place and m.generation = 7 - n.generation and m.unique_id = n.unique_id
          order by m.svc_id limit 5)
        order by svc_id limit 5)) as ids
    from temp.open as n
    where n.folded is not null) as near
  where near.id = t.id and near.ids <> '[]'`;

const STATEMENTS = {
  records: [
    CREATE_OPEN,
    ADD_OPEN_RECORDS,
    DROP_LONE,
    READ_RECORDS,
    CREATE_INDEXES,
    explain('temp.twin', 'outcome'),
  ],
  children: [
    CREATE_OPEN,
    ADD_OPEN_CHILDREN,
    DROP_LONE,
    READ_CHILDREN,
    CREATE_INDEXES,
    explain('remap_row', 'group_id'),
  ],
};

/** Finds rows without a twin whose folded key or unique id a row of the other generation has, and names these. */
export function explainChangedKeys(db: Db, of: keyof typeof STATEMENTS): void {
  db.function('fold_key', { deterministic: true }, (key) => (typeof key === 'string' ? foldKey(key) : null));
  for (const sql of STATEMENTS[of]) db.exec(sql);
}

/** Trimmed, NFC, case folded, without leading zeros (a single 0 stays). Only names candidates to a person. */
function foldKey(key: string): string {
  const folded = key.trim().normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
  return folded.replace(/^0+(?=.)/su, '');
}
