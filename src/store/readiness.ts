import * as z from 'zod';
import { type Config, digestInputFiles } from '../config/config.js';
import { GENERATIONS, type Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { countOf, listFirst } from '../text/numbers.js';
import { listChanges } from './fingerprint.js';
import { listV4Companies } from './records.js';
import { filterParams, readRemapRun, type Scope } from './remap.js';
import type { Db } from './sqlite.js';
import { readExportSeq } from './streams.js';

export const blocker = z.strictObject({
  code: z.enum([
    'v3_not_exported',
    'v4_not_exported',
    'stream_unfinished',
    'remap_missing',
    'remap_stale',
    'no_v3_records',
    'no_v4_records',
    'no_common_key',
  ]),
  outcome: z.enum(['incomplete', 'not_ready']),
  text: z.string(),
  next: z.string().describe('What to do.'),
});
export type Blocker = z.infer<typeof blocker>;

interface OpenList {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly companyId: bigint | null;
  /** The code of the error that ended its reading, else its state. */
  readonly why: string;
  /** What the service said, and what to do about it. */
  readonly message: string | null;
  readonly hint: string | null;
}

const RUN = 'Run `svc-migrate run`.';
const DOCTOR = 'Run `svc-migrate doctor`.';
const REMAP = 'Run `svc-migrate remap`.';

/**
 * Why the data are incomplete; empty if every planned list was read and the remap is current. Every list counts in every
 * scope: companies are paired, and reasons are chosen, by the records of all models.
 */
export function findIncomplete(db: Db, config: Config): Blocker[] {
  const blockers = findOpenLists(db, config);
  const outcome = 'incomplete';
  if (readRemapRun(db) === null) {
    return [...blockers, { code: 'remap_missing', outcome, text: 'There is no remap yet.', next: REMAP }];
  }
  const changes = readStaleness(db, config);
  if (changes.length === 0) return blockers;
  const text = `Changed since the remap was built: ${changes.join(', ')}.`;
  return [...blockers, { code: 'remap_stale', outcome, text, next: REMAP }];
}

export function findOpenLists(db: Db, config: Config): Blocker[] {
  const lists = listOpenLists(db, config);
  return GENERATIONS.flatMap((generation) => describeOpen(db, generation, lists));
}

export function listOpenLists(db: Db, config: Config): OpenList[] {
  const { models, v3 } = config;
  return db.prepare<[object], OpenList>(OPEN_LISTS).all({
    models: JSON.stringify(models.map((model) => model.v3)),
    inV4: JSON.stringify(models.flatMap((model) => (model.v4 === null ? [] : [model.v3]))),
    v4Companies: `[${listV4Companies(db, config).join()}]`,
    regions: JSON.stringify(v3.regions.map(({ region }) => region)),
  });
}

/** Planned lists without a row, and lists that were not read to their end. */
const OPEN_LISTS = `
  select 'v3' as generation, region.value as region, model.value as model, null as companyId,
    'not started' as why, null as message, null as hint
  from json_each(@regions) as region cross join json_each(@models) as model
  where not exists (
    select 1 from stream as s
    where s.generation = 'v3' and s.region = cast(region.value as text) and s.model = cast(model.value as text))
  union all
  select 'v4', '', model.value, c.value, 'not started', null, null
  from json_each(@v4Companies) as c cross join json_each(@inV4) as model
  where not exists (
    select 1 from stream as s
    where s.generation = 'v4' and s.region = '' and s.model = cast(model.value as text)
      and ifnull(s.company_id, 'all') = c.value)
  union all
  select generation, region, model, company_id,
    coalesce(end_reason, iif(state = 'running' and pages = 0, 'not started', state)),
    error ->> 'message', error ->> 'hint'
  from stream
  where state in ('running', 'failed')
    and (model = 'core/companies' or model in (select value from json_each(@models)))
  order by 1, 2, 3, 4`;

const MAX_NAMED_LISTS = 3;

function describeOpen(db: Db, generation: Generation, all: readonly OpenList[]): Blocker[] {
  const outcome = 'incomplete';
  const isBegun = db.prepare('select 1 from stream where generation = ? limit 1').get(generation);
  if (isBegun === undefined) {
    const text = `${generation.toUpperCase()} was not exported yet.`;
    return [{ code: `${generation}_not_exported`, outcome, text, next: RUN }];
  }
  const lists = all.filter((list) => list.generation === generation);
  if (lists.length === 0) return [];
  const names = lists.map((list) => `${nameOfStream(list)} (${list.why})`);
  const text = `${countOf(lists.length, 'list')} not read to the end: ${listFirst(names, MAX_NAMED_LISTS, '; ')}.`;
  const { message, hint } = at(lists, 0);
  // Reading again ends errors of other codes.
  if (lists.some(({ why }) => why !== 'http_status'))
    return [{ code: 'stream_unfinished', outcome, text, next: RUN }];
  const said = message === null ? text : `${text} ${message}`;
  return [{ code: 'stream_unfinished', outcome, text: said, next: hint ?? DOCTOR }];
}

/** `V3 accounting/invoices in eu, company 5`. */
export function nameOfStream(list: {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly companyId?: bigint | string | null;
}): string {
  const { generation, region, model, companyId = null } = list;
  const place = `${region === '' ? '' : ` in ${region}`}${companyId === null ? '' : `, company ${companyId}`}`;
  return `${generation.toUpperCase()} ${model}${place}`;
}

/** Why there is nothing to compare. */
export function findNotReady(db: Db, config: Config, scope: Required<Scope>): Blocker[] {
  const params = filterParams(scope);
  const lacks = (sql: string, more = {}) => db.prepare(sql).get({ ...params, ...more }) === undefined;
  const notReady = (code: Blocker['code'], text: string, next = DOCTOR): Blocker[] => [
    { code, outcome: 'not_ready', text, next },
  ];
  for (const generation of GENERATIONS) {
    const name = findMisnamed(db, config, generation);
    if (name === null) continue;
    const text = `${name} answered 404 to every configured list: the names of the models or the address are wrong.`;
    return notReady(`no_${generation}_records`, text);
  }
  if (lacks(LIVE_RECORD, { generation: 'v3' })) {
    const text = 'V3 shows no live record. Check its addresses, the key and the company filters.';
    return notReady('no_v3_records', text);
  }
  if (listV4Companies(db, config).length === 0) {
    const text = 'V4 lists no company. Ask the operator whether the connections were copied.';
    return notReady('no_v4_records', text);
  }
  if (lacks(LIVE_RECORD, { generation: 'v4', companies: null })) {
    const text = 'V4 shows no live record: its first sync has not started or has not finished.';
    return notReady('no_v4_records', text, 'Run `svc-migrate run --wait`.');
  }
  if (!lacks(SHARED_KEY)) return [];
  const text =
    'V3 and V4 share no platform_id in any model: these look like two different sets of companies. Check both addresses and keys.';
  return notReady('no_common_key', text);
}

const LIVE_RECORD = `
  select 1 from stream as s cross join record as r on r.stream_id = s.id
  where s.generation = @generation and s.model in (select value from json_each(@models)) and not r.deleted
    and (@companies is null or r.company_id in (select value from json_each(@companies)))
  limit 1`;

/** Matched records share a key; only without any are all keys compared. */
const SHARED_KEY = `
  select 1 from remap_group
  where path = '' and matched_by in ('platform_id', 'platform_unique_id')
    and model in (select value from json_each(@models))
    and (@companies is null or v3_company_id in (select value from json_each(@companies)))
  union all
  select 1 from stream as s cross join record as a on a.stream_id = s.id
  where s.generation = 'v3' and s.model in (select value from json_each(@models))
    and (@companies is null or a.company_id in (select value from json_each(@companies)))
    and (s.model, a.platform_id) in (
      select t.model, b.platform_id from stream as t cross join record as b on b.stream_id = t.id
      where t.generation = 'v4' and b.platform_id is not null)
  limit 1`;

/** A region is judged once it was asked for every model, and not if records are kept that it showed before. */
const MISNAMED = `
  select null as region from stream
  where generation = @generation and model <> 'core/companies'
  group by generation
  having min(state = 'absent')
  union all
  select region from stream
  where generation = @generation and region <> ''
  group by region
  having min(state = 'absent') and max(unique_records) = 0 and count(distinct model) = @models
  limit 1`;

/** What answered 404 to every list: `V4`, `V3`, or `V3 in eu`; null if nothing did. */
function findMisnamed(db: Db, { models }: Config, generation: Generation): string | null {
  const row = db
    .prepare<[object], { region: string | null }>(MISNAMED)
    .get({ generation, models: models.length });
  if (row === undefined) return null;
  return `${generation.toUpperCase()}${row.region === null ? '' : ` in ${row.region}`}`;
}

/** @throws SvcError `config` if a generation or a region of V3 answered 404 to every list */
export function assertListsExist(db: Db, config: Config, generation: Generation): void {
  const name = findMisnamed(db, config, generation);
  if (name === null) return;
  throw new SvcError('config', `${name} answered 404 to every list.`, {
    hint: `Correct the names in "models" or the address of ${name}; \`svc-migrate doctor\` tries similar names.`,
  });
}

/** @throws SvcError `incomplete` if the remap is missing, incomplete or stale; its hint names the command to run */
export function assertUsableRemap(
  db: Db,
  config: Config,
  { allowIncomplete = false, allowStale = false } = {},
): void {
  const run = readRemapRun(db);
  if (run === null) throw unusable('There is no remap yet.', 'Run `svc-migrate run` first.');
  const changes = allowStale ? [] : readStaleness(db, config);
  if (changes.length > 0) {
    const text = `The remap is stale. Changed since it was built: ${changes.join(', ')}.`;
    throw unusable(text, 'Run `svc-migrate remap`.');
  }
  if (run.isComplete || allowIncomplete) return;
  const text = 'The remap is incomplete: it was built before every list was read to its end.';
  throw unusable(text, 'Run `svc-migrate run`, or pass --allow-incomplete to use only what was read so far.');
}

function unusable(text: string, hint: string): SvcError {
  return new SvcError('incomplete', text, { hint });
}

export type RemapInputs = Readonly<Record<string, string>>;

const EXPORT = 'export';

/** @param files SHA-256 of the companies and decisions files, see `digestInputFiles` */
export function buildRemapInputs(db: Db, config: Config, files: RemapInputs): RemapInputs {
  const { companies, backfill, models } = config;
  const since = backfill.sinceMs === null ? 'inferred' : new Date(backfill.sinceMs).toISOString();
  return {
    [EXPORT]: String(readExportSeq(db)),
    'companies.match': typeof companies.match === 'string' ? companies.match : 'file',
    'companies.include': companies.include.join(' '),
    'companies.exclude': companies.exclude.join(' '),
    ...(backfill.days === undefined ? { 'backfill.since': since } : { 'backfill.days': `${backfill.days}` }),
    'backfill.dateFields': backfill.dateFields.join(' '),
    ...Object.fromEntries(
      models.map(({ v3, v4, children }) => [
        `models.${v3}`,
        `${v4 ?? 'not in V4'}, children ${children.join(' ')}`,
      ]),
    ),
    ...files,
  };
}

/** What changed since the remap was built, in words; empty if it is current, and if there is none. */
export function readStaleness(db: Db, config: Config): string[] {
  const inputs = db.prepare<[], string>('select inputs from remap_run').pluck().get();
  const now = buildRemapInputs(db, config, digestInputFiles(config));
  const changes = listChanges(db, inputs, now).map(({ name }) => describeInput(name));
  const hasExpired = db.prepare(EXPIRED).get() !== undefined;
  return hasExpired ? [...changes, 'decisions that have expired'] : changes;
}

const EXPIRED = "select 1 from decision where until <= date('now') and why is not 'expired' limit 1";

function describeInput(name: string): string {
  if (name === EXPORT) return 'the exported data';
  return name === 'decisions' || name === 'companies.match.file' ? `the file of ${name}` : name;
}
