import type { Config } from '../config/config.js';
import type { Db } from '../store/sqlite.js';
import { compare } from '../text/rows.js';
import { numberOf, type OutcomeName } from './outcomes.js';
import type { Pairing } from './pair-companies.js';
import { type Companies, type Company, isReadInFull, type ModelLists, type Place } from './places.js';

const SCHEMA = `
  drop table if exists temp.place;
  drop table if exists temp.scope;
  -- the records of one company in one list
  create temp table place(
    id integer primary key, stream_id integer not null, company_id integer not null, generation integer not null,
    model text not null, company integer not null, -- its place among the companies of its generation
    read_in_full integer not null,
    scope_id integer, joined integer, -- 1: by key
    unique (stream_id, company_id)) strict;
  create index temp.place_company on place(generation, company, model);
  -- a model of a company pair, or of a company without a pair
  create temp table scope(
    id integer primary key, model text not null, region text, v3_company_id integer, v4_company_id integer,
    provisional integer not null, -- 1: a list of the pair was not read in full
    v3_known integer not null, -- 1: V3 lacks what is not there
    v4_known integer not null,
    inert integer not null, -- 1: the V4 company holds no record
    window_ms integer, window_source text, v3_read_until_ms integer,
    -- outcomes that the companies or the model decide
    v3_live integer, v3_deleted integer, v4_live integer) strict;`;

export function createPlaces(db: Db, places: readonly Place[], { v3, v4 }: Companies): void {
  db.exec(SCHEMA);
  const companies = new Map<string, number>([
    ...v3.map((company) => [`v3 ${company.companyId} ${company.region}`, company.id] as const),
    ...v4.map((company) => [`v4 ${company.companyId} `, company.id] as const),
  ]);
  const insert = db.prepare(`
    insert into temp.place(stream_id, company_id, generation, model, company, read_in_full) values (?, ?, ?, ?, ?, ?)`);
  const sorted = [...places].sort(
    (a, b) =>
      compare(a.list.generation, b.list.generation) ||
      compare(a.list.model, b.list.model) ||
      compare(a.list.region, b.list.region) ||
      compare(a.companyId, b.companyId) ||
      compare(a.list.id, b.list.id),
  );
  for (const { list, companyId } of sorted) {
    const { id, generation, model, region } = list;
    const company = companies.get(`${generation} ${companyId} ${region}`);
    insert.run(id, companyId, generation === 'v3' ? 3 : 4, model, company, isReadInFull(list) ? 1 : 0);
  }
}

interface ScopeInput {
  readonly db: Db;
  readonly config: Config;
  readonly lists: ModelLists;
  readonly places: readonly Place[];
  readonly companies: Companies;
  readonly pairing: Pairing;
}

/** Creates the scopes in the order of the remap, model by model and company by company, and assigns places to them. */
export function createScopes({ db, config, companies, pairing, ...input }: ScopeInput): void {
  const describe = prepareScope({ db, config, companies, pairing, ...input });
  const columns = [
    ...['id', 'model', 'region', 'v3_company_id', 'v4_company_id', 'provisional', 'v3_known', 'v4_known'],
    ...['inert', 'window_ms', 'window_source', 'v3_read_until_ms', 'v3_live', 'v3_deleted', 'v4_live'],
  ];
  const insert = db.prepare(
    `insert into temp.scope(${columns.join(', ')}) values (${columns.map((name) => `@${name}`).join(', ')})`,
  );
  const assign = db.prepare(
    'update temp.place set scope_id = ?, joined = ? where generation = ? and model = ? and company = ?',
  );
  const placed = new Set(
    db
      .prepare<[], string>("select model || ' ' || generation || ' ' || company from temp.place")
      .pluck()
      .all(),
  );
  const unpaired = companies.v4.filter(({ id }) => (pairing.v4.get(id)?.v3 ?? null) === null);
  const pairs: [Company | null, Company | null][] = [
    ...companies.v3.map((v3): [Company, Company | null] => {
      const twin = pairing.v3.get(v3.id)?.v4 ?? null;
      return [v3, twin === null ? null : (companies.v4[twin] ?? null)];
    }),
    ...unpaired.map((v4): [null, Company] => [null, v4]),
  ];
  let id = 0;
  for (const model of config.models.map(({ v3 }) => v3).sort(compare)) {
    for (const [v3, v4] of pairs) {
      const isPlaced = [v3 && `${model} 3 ${v3.id}`, v4 && `${model} 4 ${v4.id}`].some(
        (name) => name !== null && placed.has(name),
      );
      if (!isPlaced) continue;
      id += 1;
      const { joined, ...scope } = describe(model, v3, v4);
      insert.run({ id, ...scope });
      if (v3 !== null) assign.run(id, joined && v4 !== null ? 1 : 0, 3, model, v3.id);
      if (v4 !== null) assign.run(id, joined ? 1 : 0, 4, model, v4.id);
    }
  }
  db.exec('create index temp.place_scope on place(scope_id)');
}

type Describe = (
  model: string,
  v3: Company | null,
  v4: Company | null,
) => { readonly joined: boolean; readonly [column: string]: unknown };

function prepareScope({ db, config, lists, places, pairing }: ScopeInput): Describe {
  const inV4 = new Map(config.models.map(({ v3, v4 }) => [v3, v4 !== null]));
  const holding = new Set(
    places.flatMap(({ list, companyId }) => (list.generation === 'v4' ? [companyId] : [])),
  );
  const inert = new Map<Company, boolean>();
  const isInert = (v4: Company): boolean => {
    const before = inert.get(v4);
    if (before !== undefined) return before;
    const allRead = [...inV4].every(
      ([model, isInV4]) => !isInV4 || isReadInFull(lists.find('v4', model, v4)),
    );
    inert.set(v4, allRead && !holding.has(v4.companyId));
    return inert.get(v4) === true;
  };
  const selectWindow = db.prepare<[string, bigint], { sinceMs: bigint | null; source: string }>(
    'select since_ms as sinceMs, source from backfill_window where model = ? and v4_company_id = ?',
  );
  const matchOf = (v3: Company | null, v4: Company | null) =>
    v3 === null ? pairing.v4.get(v4?.id ?? -1)?.matchedBy : pairing.v3.get(v3.id)?.matchedBy;
  return (model, v3, v4) => {
    const ofV3 = v3 === null ? undefined : lists.find('v3', model, v3);
    const ofV4 = v4 === null ? undefined : lists.find('v4', model, v4);
    const matchedBy = matchOf(v3, v4);
    const isPaired = v3 !== null && v4 !== null;
    const isInV4 = inV4.get(model) === true;
    const isAbsent = isPaired && (!isInV4 || ofV4?.state === 'absent');
    const isFinal = (v3 ?? v4)?.scopeFull === true || matchedBy === 'file';
    const v3Known = isPaired ? isReadInFull(ofV3) : isFinal;
    const v4Known = isPaired ? !isInV4 || isReadInFull(ofV4) : isFinal;
    const window = v4 === null ? undefined : selectWindow.get(model, v4.companyId);
    const readAt = ofV3?.readAt ?? null;
    const companyReason = matchedBy === 'ambiguous' ? 'company_ambiguous' : 'company_not_in_v4';
    const v3Reason = isAbsent ? 'model_not_in_v4' : isPaired ? null : companyReason;
    const v4Live: OutcomeName =
      matchedBy === 'ambiguous' ? 'v4_only_company_ambiguous' : 'v4_only_company_not_in_v3';
    return {
      joined: !isAbsent,
      model,
      region: v3?.region ?? null,
      v3_company_id: v3?.companyId ?? null,
      v4_company_id: v4?.companyId ?? null,
      provisional: isPaired && !(v3Known && v4Known && isFinal) ? 1 : 0,
      v3_known: v3Known ? 1 : 0,
      v4_known: v4Known ? 1 : 0,
      inert: v4 !== null && isInert(v4) ? 1 : 0,
      window_ms: window?.sinceMs ?? null,
      window_source: window?.source ?? null,
      v3_read_until_ms: readAt === null ? null : Date.parse(readAt),
      v3_live: v3Reason === null ? null : numberOf(`unmatched_${v3Reason}`),
      v3_deleted: v3Reason === null ? null : numberOf(`deleted_${v3Reason}`),
      v4_live: isPaired ? null : numberOf(v4Live),
    };
  };
}
