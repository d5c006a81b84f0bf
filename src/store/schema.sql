-- The database of svc-migrate. Public: the tables stream, company and rejected, and the view remap. Everything else is internal.
-- Ids are 64-bit integers. Times are ISO 8601 text in UTC; columns named _ms are milliseconds since 1970.

-- What an export fixed (hosts, prefix, models, filters), and the number of exports.
create table meta(name text primary key, value text not null) strict, without rowid;

-- Lists -----------------------------------------------------------------------------------------------------------------------

-- One row per paged list, with everything that is needed to go on reading it.
create table stream(
  generation text not null check (generation in ('v3', 'v4')),
  region text not null, -- '' for V4
  model text not null, -- the V3 path of the model pair; core/companies for V4's list of companies
  company_id integer, -- null: the list holds all companies
  state text not null default 'running' check (state in ('running', 'complete', 'short', 'absent', 'failed')),
  end_reason text,
  pages integer not null default 0,
  records integer not null default 0,
  unique_records integer not null default 0,
  duplicates integer not null default 0,
  rejected integer not null default 0,
  total_count_first integer,
  total_count_last integer,
  started_at text,
  finished_at text,
  -- internal from here
  id integer primary key,
  route text not null, -- the model as requests name it
  error text, -- JSON {code, message, hint, facts} of the error that ended the last attempt
  read_at text, -- start of the last walk or sweep that reached its end: the age of the data
  derived text, -- the date fields and children that its records were read with; null: they differ
  -- A walk reads the list from its start. A reading is one walk or more, and for V3 the sweeps after them.
  phase text not null default 'walk' check (phase in ('walk', 'sweep', 'top_up')), -- top_up: a sweep of a later export
  walk integer not null default 1, -- number of the current walk; a record keeps the number of the last walk that saw it
  reading_walk integer not null default 1, -- first walk of the reading; at its end, records that no walk since then saw are dropped
  walk_started_at text,
  cursor text, -- of the next page; null at the start of a walk
  since text, -- lower bound of the current sweep
  watermark_ms integer, -- the service's clock at the start of the current walk or sweep
  walk_records integer not null default 0, -- distinct records that the current walk saw
  restart_records integer, -- walk_records of the last walk whose cursor expired; the next one must see more
  changes integer not null default 0, -- records that the current sweep added or changed
  idle_pages integer not null default 0, -- consecutive pages without a new record
  empty_end integer not null default 0 check (empty_end in (0, 1)), -- 1: the last page was empty, and is requested once more
  rounds integer not null default 0, -- second walks, or sweeps, of the reading
  excluded integer not null default 0 -- records of excluded companies in the reading
) strict;
create unique index stream_key on stream(generation, region, model, ifnull(company_id, 'all'));

-- The cursors of the current walk of each list, as SHA-256.
create table cursor_seen(stream_id integer not null, digest blob not null, primary key (stream_id, digest)) strict, without rowid;

-- Pages as they came, compressed. Empty with payload: "ids".
create table page(id integer primary key, stream_id integer not null, encoding text not null, body blob not null) strict;

create table rejected(
  generation text not null, region text not null, model text not null, company_id integer,
  page integer not null, position integer not null, path text not null, reason text not null, raw text not null,
  id integer primary key, stream_id integer not null,
  digest blob not null, -- of path, parent, reason, text, and how many equal objects precede it in its page
  unique (stream_id, digest)
) strict;

-- Records of excluded companies in lists of all companies: only counted.
create table excluded(stream_id integer not null, svc_id integer not null, walk integer not null, primary key (stream_id, svc_id)) strict, without rowid;

-- Records ---------------------------------------------------------------------------------------------------------------------

create table record(
  id integer primary key,
  stream_id integer not null,
  svc_id integer not null,
  company_id integer not null,
  platform_id text,
  unique_id text, -- platform_unique_id
  deleted integer not null check (deleted in (0, 1)),
  updated_ms integer, -- <prefix>updated_at
  latest_ms integer, -- latest of the configured date fields, else of the service's dates
  latest_is_service integer not null check (latest_is_service in (0, 1)), -- 1: latest_ms is a date of the service
  created_ms integer, -- created_at, else org_created_at
  child_count integer not null, -- rows of child
  child_twins integer not null check (child_twins in (0, 1)), -- 1: two of its children have the same path and platform_id
  page_id integer, -- the page that holds it; null with payload: "ids"
  facts blob, -- with payload: "ids": digests of the fields by which records are compared
  walk integer not null, -- the last walk that saw it
  unique (stream_id, svc_id)
) strict;

-- The configured fields that hold children, numbered in alphabetical order.
create table child_path(id integer primary key check (id between 1 and 255), name text not null unique) strict;

-- Objects nested in records, in the order of their record. path is a child_path.
create table child(
  record_id integer not null, position integer not null, path integer not null, svc_id integer not null,
  platform_id text, unique_id text, deleted integer not null check (deleted in (0, 1)),
  primary key (record_id, position)
) strict, without rowid;

-- The remap -------------------------------------------------------------------------------------------------------------------
-- Built in one transaction from the tables above, the configuration, companies.csv and decisions.csv.

-- The current remap; no row if there is none.
create table remap_run(
  id integer primary key check (id = 1),
  built_at text not null,
  sha256 text not null, -- over the ordered rows of remap and the tables that describe them
  complete integer not null check (complete in (0, 1)), -- 1: every planned list was read in full
  inputs text not null, -- JSON object: everything it was built from, by name; a difference makes it stale
  v3_exported integer not null, -- V3 records and children in record and child
  v3_rows integer not null, -- rows of remap with a V3 id
  v4_exported integer not null, -- V4 records and children
  v4_seen integer not null -- distinct V4 records and children in rows of remap
) strict;

create table company(
  region text, v3_company_id integer, v4_company_id integer,
  matched_by text not null check (matched_by in ('same_id', 'overlap', 'file', 'ambiguous', 'none')),
  shared_keys integer not null, agreeing_keys integer not null, v3_keys integer not null, v4_keys integer not null,
  note text not null -- internal: JSON, the candidates with their counts
) strict;

-- What rows of the same list, companies and outcome have in common, and their number.
create table remap_group(
  id integer primary key,
  model text not null, path text not null, region text, v3_company_id integer, v4_company_id integer,
  status text not null check (status in ('matched', 'unmatched', 'deleted', 'ambiguous', 'v4_only')),
  reason text,
  matched_by text check (matched_by in ('platform_id', 'platform_unique_id', 'decision')),
  provisional integer not null, -- 1: a list of the pair was not read in full
  unique_id_conflict integer not null, -- 1: both platform_unique_ids are set and differ
  merged integer not null, -- 1: several V3 records became the V4 record
  count integer not null,
  v3_count integer not null -- rows with a V3 id
) strict;

-- In the order of the remap; parent is the row of the record that holds a child.
create table remap_row(
  id integer primary key, group_id integer not null, parent integer,
  platform_id text, v3_svc_id integer, v4_svc_id integer,
  evidence text -- JSON; null: only that of the group
) strict;
create index remap_v3 on remap_row(v3_svc_id);
create index remap_v4 on remap_row(v4_svc_id);
create index remap_key on remap_row(platform_id);

create view remap_entry as -- the view remap with internal columns
select r.id, r.group_id, r.parent, g.model, g.path, g.region, g.v3_company_id, g.v4_company_id, r.platform_id,
    (select p.platform_id from remap_row as p where p.id = r.parent) as parent_platform_id,
    r.v3_svc_id, r.v4_svc_id, g.status, g.reason, g.matched_by,
    ifnull(r.evidence, iif(g.provisional, '{"provisional":true}', '{}')) as evidence,
    g.provisional, g.unique_id_conflict, g.merged
  from remap_row as r cross join remap_group as g on g.id = r.group_id;
create view remap as
select model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id, v3_svc_id, v4_svc_id, status, reason,
    matched_by, evidence
  from remap_entry;

-- V3 records of a group by the day of their latest date, counted from 1970; day is null if no date is readable.
create table remap_day(
  group_id integer not null, day integer, count integer not null, earliest_ms integer, latest_ms integer
) strict;

-- The start of V4's history for each model of each V4 company.
create table backfill_window(
  model text not null, v4_company_id integer not null,
  source text not null check (source in ('configured', 'inferred', 'unknown')),
  since_ms integer, -- null: unknown
  records integer not null, -- V4 records with a readable date
  v4_svc_id integer, platform_id text, -- the record that it was inferred from
  nine_tenths_ms integer, -- nine in ten of V4's records are from then on
  primary key (model, v4_company_id)
) strict, without rowid;

-- What the last remap made of each line of decisions.csv.
create table decision(
  line integer primary key, model text not null, path text not null, region text not null,
  v3_company_id integer not null, v3_svc_id integer, v4_svc_id integer, note text not null, until text,
  outcome text not null check (outcome in ('taken', 'not_needed', 'stale')), why text
) strict;

-- Exported objects of each model and company as of the last remap; the company of a rejected object may be unknown.
create table exported_count(
  generation text not null, region text not null, model text not null, company_id integer,
  records integer not null, children integer not null, deleted integer not null, rejected integer not null
) strict;
