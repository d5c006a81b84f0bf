import type { Config } from '../config/config.js';
import { listOpenLists } from '../store/readiness.js';
import { listV4Companies } from '../store/records.js';
import type { Db } from '../store/sqlite.js';
import { readCompanyList } from '../store/streams.js';
import type { CompanySide } from './pair-companies.js';

const CREATE_TABLES = `
  -- the companies of each generation, numbered from 0
  create temp table side(
    generation integer not null, region text not null, company_id integer not null, id integer not null,
    scope_full integer not null, -- 1: every list that could hold its counterpart was read in full
    primary key (generation, region, company_id)) strict, without rowid;
  -- the records of one company in one list
  create temp table place(
    id integer primary key, stream_id integer not null, company_id integer not null, generation integer not null,
    model text not null, company integer not null, -- side.id
    read_in_full integer not null,
    pair integer, -- rowid of its row of company
    scope_id integer, joined integer, -- 1: its records are joined by key
    unique (stream_id, company_id)) strict;
  create index temp.place_company on place(generation, company, model);
  -- a model of a company pair, or of a company without a pair
  create temp table scope(
    id integer primary key, model text not null, pair integer not null,
    region text, v3_company_id integer, v4_company_id integer,
    provisional integer not null, -- 1: a list of the pair was not read in full
    v3_known integer not null, -- 1: V3 does not have what its list does not show
    v4_known integer not null,
    inert integer not null, -- 1: the V4 company holds no record
    window_ms integer, window_source text, v3_read_until_ms integer,
    -- outcomes that the companies or the model decide
    v3_live integer, v3_deleted integer, v4_live integer,
    unique (model, pair)) strict;`;

const ADD_SIDES = `
  insert into temp.side(generation, region, company_id, id, scope_full)
  select iif(generation = 'v3', 3, 4), region, company_id,
    row_number() over (partition by generation order by region, company_id) - 1,
    @v4Full and iif(generation = 'v3', region not in (select value from json_each(@openRegions)), @openRegions = '[]')
  from (
    select generation, region, company_id from stream
    where company_id is not null and model in (select value from json_each(@models))
    union
    select s.generation, s.region, c.company_id from temp.record_count as c cross join stream as s on s.id = c.stream_id
    where s.model in (select value from json_each(@models))
    union
    select 'v4', '', value from json_each(@v4Companies))`;

const ADD_PLACES = `
  insert into temp.place(stream_id, company_id, generation, model, company, read_in_full)
  select distinct s.id, c.company_id, k.generation, s.model, k.id, s.state not in ('running', 'failed')
  from temp.record_count as c
    cross join stream as s on s.id = c.stream_id
    cross join temp.side as k
      on k.generation = iif(s.generation = 'v3', 3, 4) and k.region = s.region and k.company_id = c.company_id
  where s.model in (select value from json_each(@models))
  order by k.generation, s.model, s.region, c.company_id, s.id`;

export interface Companies {
  readonly v3: readonly CompanySide[];
  readonly v4: readonly CompanySide[];
}

/**
 * Creates the places, and lists the companies in the export. It is certain that a V3 company has no pair once its region
 * and all of V4 were read in full; for a V4 company, once everything was.
 */
export function createPlaces(db: Db, config: Config): Companies {
  db.exec(CREATE_TABLES);
  const open = listOpenLists(db, config);
  const v4Companies = listV4Companies(db, config);
  const isV4Listed = v4Companies.length > 0 || readCompanyList(db) !== null;
  const v4Full = isV4Listed && open.every(({ generation }) => generation === 'v3');
  const openRegions = open.flatMap(({ generation, region }) => (generation === 'v3' ? [region] : []));
  const models = JSON.stringify(config.models.map(({ v3 }) => v3));
  db.prepare(ADD_SIDES).run({
    models,
    v4Full: v4Full ? 1n : 0n,
    openRegions: JSON.stringify(openRegions),
    v4Companies: `[${v4Companies.join()}]`,
  });
  db.prepare(ADD_PLACES).run({ models });
  const select = db.prepare<[bigint], { id: bigint; region: string; companyId: bigint; scopeFull: bigint }>(`
    select id, region, company_id as companyId, scope_full as scopeFull from temp.side where generation = ? order by id`);
  const listSides = (generation: bigint) =>
    select
      .all(generation)
      .map(({ id, scopeFull, ...side }) => ({ id: Number(id), ...side, scopeFull: scopeFull === 1n }));
  return { v3: listSides(3n), v4: listSides(4n) };
}

/** In the order of the remap, model by model and company by company. */
const ADD_SCOPES = `
  with described as (
    select p.model, p.pair, c.region, c.v3_company_id, c.v4_company_id, c.matched_by,
      c.v3_company_id is not null and c.v4_company_id is not null as paired,
      k.scope_full or c.matched_by = 'file' as final,
      p.model in (select value from json_each(@inV4)) as in_v4,
      ifnull(s3.state, 'running') not in ('running', 'failed') as v3_full,
      ifnull(s4.state, 'running') not in ('running', 'failed') as v4_full,
      ifnull(s4.state, 'running') = 'absent' as v4_absent,
      s3.read_at
    from (select distinct model, pair from temp.place) as p
      cross join company as c on c.rowid = p.pair
      cross join temp.side as k on k.generation = iif(c.v3_company_id is null, 4, 3)
        and k.region = ifnull(c.region, '') and k.company_id = ifnull(c.v3_company_id, c.v4_company_id)
      left join stream as s3 on s3.id = (
        select id from stream
        where generation = 'v3' and region = c.region and model = p.model
          and ifnull(company_id, 'all') in (c.v3_company_id, 'all')
        order by company_id is null limit 1)
      left join stream as s4 on s4.generation = 'v4' and s4.region = '' and s4.model = p.model
        and ifnull(s4.company_id, 'all') = +c.v4_company_id),
  judged as (
    select *, paired and (not in_v4 or v4_absent) as absent, iif(paired, v3_full, final) as v3_known,
      iif(paired, not in_v4 or v4_full, final) as v4_known
    from described)
  insert into temp.scope(id, model, pair, region, v3_company_id, v4_company_id, provisional, v3_known, v4_known, inert,
    window_ms, window_source, v3_read_until_ms, v3_live, v3_deleted, v4_live)
  select row_number() over (order by d.model, d.pair), d.model, d.pair, d.region, d.v3_company_id, d.v4_company_id,
    d.paired and not (d.v3_known and d.v4_known and d.final), d.v3_known, d.v4_known,
    d.v4_company_id is not null
      and not exists (select 1 from temp.place where pair = d.pair and generation = 4)
      and not exists (
        select 1 from json_each(@inV4) as m where not exists (
          select 1 from stream as s
          where s.generation = 'v4' and s.region = '' and s.model = cast(m.value as text)
            and ifnull(s.company_id, 'all') = +d.v4_company_id and s.state not in ('running', 'failed'))),
    b.since_ms, b.source, cast(round(unixepoch(d.read_at, 'subsec') * 1000) as integer),
    case
      when d.absent then o.unmatched_model_not_in_v4
      when d.paired then null
      when d.matched_by = 'ambiguous' then o.unmatched_company_ambiguous
      else o.unmatched_company_not_in_v4 end,
    case
      when d.absent then o.deleted_model_not_in_v4
      when d.paired then null
      when d.matched_by = 'ambiguous' then o.deleted_company_ambiguous
      else o.deleted_company_not_in_v4 end,
    case
      when d.paired then null
      when d.matched_by = 'ambiguous' then o.v4_only_company_ambiguous
      else o.v4_only_company_not_in_v3 end
  from judged as d cross join temp.o as o
    left join backfill_window as b on b.model = d.model and b.v4_company_id = d.v4_company_id`;

/** Creates the scopes from the places and the table of companies, and assigns places to them. */
export function createScopes(db: Db, { models }: Config): void {
  db.exec('create index temp.place_pair on place(pair, model)');
  const inV4 = models.flatMap(({ v3, v4 }) => (v4 === null ? [] : [v3]));
  db.prepare(ADD_SCOPES).run({ inV4: JSON.stringify(inV4) });
  db.exec(`
    update temp.place as p
    set scope_id = s.id, joined = iif(p.generation = 3, s.v3_live is null, s.v3_live is null or s.v4_live is not null)
    from temp.scope as s where s.model = p.model and s.pair = p.pair;
    create index temp.place_scope on place(scope_id)`);
}
