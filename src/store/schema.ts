/** The tables of one database. Public: `remap`, `stream`, `company`, `rejected`; the rest is internal. */

/** "SVCM", by which `file` and SQLite tools recognise the database. */
export const APPLICATION_ID = 0x5356434d;

/** Layout version, stored in `user_version`; databases with another version are refused. */
export const SCHEMA_VERSION = 8;

const META = `
-- for the columns named checksum see checksum.ts
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;`;

const STREAM = `
CREATE TABLE stream(
  generation TEXT NOT NULL CHECK (generation IN ('v3', 'v4')),
  region TEXT NOT NULL,
  model TEXT NOT NULL,
  company_id INTEGER,
  state TEXT NOT NULL CHECK (state IN ('running', 'complete', 'short', 'absent', 'failed')),
  end_reason TEXT,
  pages INTEGER NOT NULL DEFAULT 0,
  records INTEGER NOT NULL DEFAULT 0,
  unique_records INTEGER NOT NULL DEFAULT 0,
  duplicates INTEGER NOT NULL DEFAULT 0,
  rejected INTEGER NOT NULL DEFAULT 0,
  total_count_first INTEGER,
  total_count_last INTEGER,
  started_at TEXT NOT NULL,
  finished_at TEXT,
  -- how a V3 list was read: as one list, or the records of each company for themselves
  read_by TEXT NOT NULL DEFAULT 'list' CHECK (read_by IN ('list', 'companies')),
  -- internal from here
  id INTEGER PRIMARY KEY,
  -- the model as named in requests: V3's name in V3, V4's in V4
  route TEXT NOT NULL,
  -- end_reason as a sentence for people
  end_note TEXT,
  -- start of the last walk or sweep that was read to the end: the age of the data
  read_at TEXT,
  -- the state of reading the list, JSON, see streams.ts
  position TEXT NOT NULL DEFAULT '{}',
  -- number of its rows in record
  stored INTEGER NOT NULL DEFAULT 0,
  checksum INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX stream_key ON stream(generation, region, model, ifnull(company_id, 'all'));
-- the cursors of the current walk
CREATE TABLE cursor_seen(
  stream_id INTEGER NOT NULL, digest BLOB NOT NULL,
  PRIMARY KEY (stream_id, digest)
) STRICT, WITHOUT ROWID;
-- the parts of V3 lists that are being read company by company, see export/divide.ts
CREATE TABLE part(
  stream_id INTEGER NOT NULL, company_id INTEGER NOT NULL, cursor TEXT,
  ended INTEGER NOT NULL, total_count INTEGER, empty_end INTEGER NOT NULL, idle_pages INTEGER NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (stream_id, company_id)
) STRICT, WITHOUT ROWID;
-- records of excluded companies: only counted, to compare with total_count
CREATE TABLE excluded(
  stream_id INTEGER NOT NULL, svc_id INTEGER NOT NULL, walk INTEGER NOT NULL,
  PRIMARY KEY (stream_id, svc_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE rejected(
  generation TEXT NOT NULL, region TEXT NOT NULL, model TEXT NOT NULL, company_id INTEGER,
  page INTEGER NOT NULL, position INTEGER NOT NULL, path TEXT NOT NULL, reason TEXT NOT NULL, raw TEXT NOT NULL,
  id INTEGER PRIMARY KEY, stream_id INTEGER NOT NULL, digest BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE INDEX rejected_stream ON rejected(stream_id, digest);`;

const RECORD = `
CREATE TABLE record(
  id INTEGER PRIMARY KEY,
  stream_id INTEGER NOT NULL,
  svc_id INTEGER NOT NULL,
  company_id INTEGER NOT NULL,
  platform_id TEXT,
  unique_id TEXT,
  deleted INTEGER NOT NULL CHECK (deleted IN (0, 1)),
  updated_ms INTEGER,
  latest_ms INTEGER,
  latest_from TEXT CHECK (latest_from IN ('platform', 'service')),
  created_ms INTEGER,
  -- JSON, null for none: see stored-lists.ts; the view child returns it as rows
  children TEXT,
  -- digests of its members, see member-digests.ts
  members BLOB,
  -- the last walk of its stream that saw it
  walk INTEGER NOT NULL,
  -- the block with its bytes as received, see payloads.ts; null if they were not stored
  payload_block INTEGER,
  checksum INTEGER NOT NULL DEFAULT 0,
  UNIQUE (stream_id, svc_id)
) STRICT;
CREATE TABLE payload_block(id INTEGER PRIMARY KEY, content BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT;
-- blocks that hold bytes of replaced or deleted records
CREATE TABLE stale_block(id INTEGER PRIMARY KEY) STRICT;
-- the names of the members of records, as a JSON list; the digests of a record begin with its number
CREATE TABLE member_list(id INTEGER PRIMARY KEY, names TEXT NOT NULL, checksum INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE VIEW child(record_id, path, svc_id, platform_id, unique_id, deleted) AS
  SELECT r.id, c.value ->> 0, CAST(c.value ->> 1 AS INTEGER), c.value ->> 2, c.value ->> 3, c.value ->> 4
    FROM record AS r JOIN json_each(r.children) AS c;
-- if a V3 list is split by company: which list holds a record; a row may remain after its record is deleted
CREATE TABLE split_record(
  region TEXT NOT NULL, model TEXT NOT NULL, svc_id INTEGER NOT NULL, stream_id INTEGER NOT NULL,
  PRIMARY KEY (region, model, svc_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE v4_company(company_id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;`;

/** The index of `record` by list and id. Queries name the indexes they use: those that users add are not verified. */
export const RECORD_KEY = 'sqlite_autoindex_record_1';

const COMPANY = `
CREATE TABLE company(
  region TEXT, v3_company_id INTEGER, v4_company_id INTEGER,
  matched_by TEXT NOT NULL CHECK (matched_by IN ('same_id', 'overlap', 'file', 'ambiguous', 'none')),
  shared_keys INTEGER NOT NULL, agreeing_keys INTEGER NOT NULL,
  v3_keys INTEGER NOT NULL, v4_keys INTEGER NOT NULL,
  -- the candidates with their counts, as JSON
  note TEXT NOT NULL
) STRICT;`;

/** SQL that creates the tables of the remap, without indexes. */
export const REMAP_TABLES = `
-- what rows have in common; rows of the same list, companies and outcome are one group
CREATE TABLE remap_group(
  id INTEGER PRIMARY KEY,
  model TEXT NOT NULL, path TEXT NOT NULL, region TEXT, v3_company_id INTEGER, v4_company_id INTEGER,
  status TEXT NOT NULL CHECK (status IN ('matched', 'unmatched', 'deleted', 'ambiguous', 'v4_only')),
  reason TEXT,
  matched_by TEXT CHECK (matched_by IN ('platform_id', 'platform_unique_id', 'decision')),
  -- 1 if a list of the pair was not read in full
  provisional INTEGER NOT NULL,
  -- 1 if the platform_unique_ids of a pair are both set and differ
  unique_id_conflict INTEGER NOT NULL,
  -- the number of its rows, the ids of the first and the last, and of the first few unless they are matched, as JSON
  count INTEGER NOT NULL, first_row INTEGER NOT NULL, last_row INTEGER NOT NULL,
  first_rows TEXT NOT NULL
) STRICT;
-- ids run from 1 in the order of the remap; parent: the row of the record that holds a child
CREATE TABLE remap_row(
  id INTEGER PRIMARY KEY, group_id INTEGER NOT NULL, parent INTEGER,
  v3_svc_id INTEGER, v4_svc_id INTEGER, platform_id TEXT,
  -- JSON; null for none beyond that of the group
  evidence TEXT
) STRICT;
-- V3 records of a group by the day of their latest date, counted from 1970; null if it is unreadable
CREATE TABLE remap_day(
  group_id INTEGER NOT NULL, day INTEGER, count INTEGER NOT NULL, earliest_ms INTEGER, latest_ms INTEGER
) STRICT;`;

/** SQL that creates the indexes of the remap, after it is filled. */
export const REMAP_INDEXES = `
CREATE INDEX remap_v3 ON remap_row(v3_svc_id);
CREATE INDEX remap_v4 ON remap_row(v4_svc_id);
CREATE INDEX remap_key ON remap_row(platform_id);`;

/** The row comes first: a query by an id is a search of its index, and any other reads the rows in their order. */
const REMAP_VIEWS = `
-- the public view remap with internal columns
CREATE VIEW remap_entry AS
  SELECT r.id, g.model, g.path, g.region, g.v3_company_id, g.v4_company_id, r.platform_id,
      (SELECT platform_id FROM remap_row AS p WHERE p.id = r.parent) AS parent_platform_id, r.v3_svc_id, r.v4_svc_id, g.status, g.reason, g.matched_by,
      ifnull(r.evidence, iif(g.provisional, '{"provisional":true}', '{}')) AS evidence,
      g.unique_id_conflict, r.parent, r.group_id
    FROM remap_row AS r CROSS JOIN remap_group AS g ON g.id = r.group_id;
CREATE VIEW remap AS
  SELECT model, path, region, v3_company_id, v4_company_id, platform_id, parent_platform_id, v3_svc_id, v4_svc_id, status,
      reason, matched_by, evidence
    FROM remap_entry;`;

const DRIFT = `
-- matched pairs whose shared fields differ; fields is JSON: [{field, v3, v4}]
CREATE TABLE drift(
  model TEXT NOT NULL, region TEXT NOT NULL, v3_company_id INTEGER NOT NULL, v4_company_id INTEGER NOT NULL,
  platform_id TEXT NOT NULL, v3_svc_id INTEGER NOT NULL, v4_svc_id INTEGER NOT NULL, fields TEXT NOT NULL
) STRICT;
-- number of matched pairs, and of those with both payloads
CREATE TABLE drift_scope(
  model TEXT NOT NULL, region TEXT NOT NULL, v3_company_id INTEGER NOT NULL,
  pairs INTEGER NOT NULL, compared INTEGER NOT NULL,
  PRIMARY KEY (model, region, v3_company_id)
) STRICT, WITHOUT ROWID;`;

const DECISION = `
-- the result of each line of decisions.csv in the last remap
CREATE TABLE decision(
  line INTEGER PRIMARY KEY, model TEXT NOT NULL, path TEXT NOT NULL, region TEXT NOT NULL,
  v3_company_id INTEGER NOT NULL, v3_svc_id INTEGER, v4_svc_id INTEGER, note TEXT NOT NULL,
  until TEXT, -- the day, UTC, from which it no longer holds
  outcome TEXT NOT NULL CHECK (outcome IN ('taken', 'not_needed', 'stale')), why TEXT
) STRICT;`;

const EXPORTED_COUNT = `
-- the exported records of each model and company as of the last remap; the company of a rejected object may be unknown
CREATE TABLE exported_count(
  generation TEXT NOT NULL, region TEXT NOT NULL, model TEXT NOT NULL, company_id INTEGER,
  records INTEGER NOT NULL, children INTEGER NOT NULL, deleted INTEGER NOT NULL, rejected INTEGER NOT NULL
) STRICT;`;

const REMAP_RUN = `
CREATE TABLE remap_run(
  id INTEGER PRIMARY KEY, built_at TEXT NOT NULL, sha256 TEXT NOT NULL, export_seq INTEGER NOT NULL,
  -- JSON: the digest of each part, see remap-digest.ts
  digests TEXT NOT NULL DEFAULT '{}',
  checksum INTEGER NOT NULL DEFAULT 0
) STRICT;
-- digests of the blocks of the current remap, see remap-digest.ts
CREATE TABLE remap_digest(part TEXT PRIMARY KEY, blocks TEXT NOT NULL) STRICT, WITHOUT ROWID;`;

export const SCHEMA = [
  META,
  STREAM,
  RECORD,
  COMPANY,
  REMAP_TABLES,
  REMAP_INDEXES,
  REMAP_VIEWS,
  DRIFT,
  DECISION,
  EXPORTED_COUNT,
  REMAP_RUN,
].join('');
