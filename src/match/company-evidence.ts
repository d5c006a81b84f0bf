import type { Config } from '../config/config.js';
import type { Db } from '../store/sqlite.js';
import { must } from '../text/at.js';
import { append, groupBy } from '../text/rows.js';
import { type CompanyRecord, compareFacts, FactIndex, type FactVerdict, readFacts } from './compare-facts.js';
import type { CompanyEvidence, Uncounted } from './pair-companies.js';

/**
 * Limits on the company pairs whose shared keys are counted. If all companies use the same numbers as keys, the pairs
 * grow with the square of the companies; beyond the limits, only pairs that agree on a sampled key or have equal ids count.
 */
const MAX_PAIRS = 250_000;
const MAX_COUNTED = 10_000_000;

/** Shared keys of a pair that are compared at most; fewer if there are many pairs. */
const MAX_SAMPLES = 200;
const MIN_SAMPLES = 4;
const MAX_SAMPLES_OF_ALL = 400_000;
/** Records of each side that are compared for one key; live ones go first. */
const MAX_RECORDS_OF_KEY = 2;

/** Keys of a model by which companies are found that may be pairs, and records of all these keys at most. */
const SAMPLED_KEYS = 8;
const MAX_SAMPLED_RECORDS = 400_000;

export interface CompanyCounts {
  readonly evidence: readonly CompanyEvidence[];
  readonly uncounted: Uncounted;
  readonly keys: { readonly v3: ReadonlyMap<number, number>; readonly v4: ReadonlyMap<number, number> };
}

/** Counts shared and agreeing keys of companies, from the places in lists that were read in full. */
export function readCompanyEvidence(db: Db, config: Config): CompanyCounts {
  const uncounted = { v3: new Map<number, number>(), v4: new Map<number, number>() };
  const { keys, pairs } = countKeys(db);
  const evidence = [...(pairs ?? findAgreeingPairs(db, config, uncounted)).values()];
  compareSamples(db, config, evidence);
  const sharing = evidence
    .filter(({ shared }) => shared > 0)
    .map(({ isShared: _, ...row }) => {
      return { ...row, smallerKeys: Math.min(keys.v3.get(row.v3) ?? 0, keys.v4.get(row.v4) ?? 0) };
    });
  return { evidence: sharing.sort((a, b) => a.v3 - b.v3 || a.v4 - b.v4), uncounted, keys };
}

type Counted = { -readonly [Name in Exclude<keyof CompanyEvidence, 'smallerKeys'>]: number } & {
  /** Whether the shared keys were counted; otherwise the compared ones count. */
  readonly isShared: boolean;
};

const COMPANIES = 2 ** 26;

type Pairs = Map<number, Counted>;

/** Gets or adds the pair of two companies. */
function pairOf(pairs: Pairs, v3: number, v4: number, isShared: boolean): Counted {
  const key = v3 * COMPANIES + v4;
  const before = pairs.get(key);
  if (before !== undefined) return before;
  const pair = { v3, v4, shared: 0, sampled: 0, comparable: 0, agreeing: 0, isShared };
  pairs.set(key, pair);
  return pair;
}

interface KeySet {
  readonly v3: ReadonlySet<number>;
  readonly v4: ReadonlySet<number>;
  readonly model: string;
  readonly count: number;
  readonly key: string;
}

/** Keys with the same companies are counted together, so that numbered keys (1, 2, 3 … in every company) stay cheap. */
function* readKeySets(db: Db): Generator<KeySet> {
  const places = new Map(
    db
      .prepare<[], { id: bigint; generation: bigint; company: bigint; model: string }>(
        'select id, generation, company, model from temp.place',
      )
      .all()
      .map((place) => [String(place.id), place]),
  );
  const rows = db.prepare<[], { places: string; count: bigint; key: string }>(`
    select places, count(*) as count, min(platform_id) as key
    from (
      select r.platform_id, group_concat(w.id) as places
      from record as r indexed by record_key
        cross join temp.place as w on w.stream_id = r.stream_id and w.company_id = r.company_id
      where r.platform_id is not null and w.read_in_full
      group by r.platform_id)
    group by places
    order by count desc, places`);
  for (const { places: ids, count, key } of rows.iterate()) {
    const ofKey = ids.split(',').map((id) => must(places.get(id), 'place'));
    for (const [model, ofModel] of groupBy(ofKey, (place) => place.model)) {
      const sideOf = (generation: bigint) =>
        new Set(
          ofModel.filter((place) => place.generation === generation).map(({ company }) => Number(company)),
        );
      yield { v3: sideOf(3n), v4: sideOf(4n), model, count: Number(count), key };
    }
  }
}

/** The number of keys of each company, and of shared keys of each pair; null if these are too many to count. */
function countKeys(db: Db): Pick<CompanyCounts, 'keys'> & { readonly pairs: Pairs | null } {
  const keys = { v3: new Map<number, number>(), v4: new Map<number, number>() };
  const pairs: Pairs = new Map();
  let counted = 0;
  const isAffordable = () => counted <= MAX_COUNTED && pairs.size <= MAX_PAIRS;
  for (const { v3, v4, count } of readKeySets(db)) {
    for (const company of v3) add(keys.v3, company, count);
    for (const company of v4) add(keys.v4, company, count);
    const size = v3.size * v4.size;
    counted += size > MAX_PAIRS ? Number.POSITIVE_INFINITY : size;
    if (isAffordable()) for (const a of v3) for (const b of v4) pairOf(pairs, a, b, true).shared += count;
  }
  return { keys, pairs: isAffordable() ? pairs : null };
}

function add<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

const SELECT_SAME_IDS = `
  select a.id as v3, b.id as v4
  from temp.side as a cross join temp.side as b on b.generation = 4 and b.region = '' and b.company_id = a.company_id
  where a.generation = 3`;

/**
 * Finds the company pairs that agree on one of a few keys of each V4 company, and those with equal ids. Keys whose records
 * are too many to compare are added to `uncounted`.
 */
function findAgreeingPairs(
  db: Db,
  config: Config,
  uncounted: { readonly v3: Map<number, number>; readonly v4: Map<number, number> },
): Pairs {
  const sample = sampleKeys(db);
  const select = db.prepare<[string, string], { id: bigint; generation: bigint; company: bigint }>(`
    select r.id, w.generation, w.company
    from record as r indexed by record_key
      cross join temp.place as w on w.stream_id = r.stream_id and w.company_id = r.company_id
    where r.platform_id = ? and w.model = ? and w.read_in_full`);
  const groups = sample.sampled.map(({ key, model }) => select.all(key, model));
  const read = readFacts(
    db,
    config,
    groups.flatMap((rows) => rows.map(({ id }) => id)),
  );
  const pairs: Pairs = new Map();
  for (const company of sample.unsampled) add(uncounted.v4, company, 1);
  for (const rows of groups) {
    const recordsOf = (generation: bigint): CompanyRecord[] =>
      rows
        .filter((row) => row.generation === generation)
        .map(({ id, company }) => ({ company: Number(company), facts: must(read.get(id), 'facts') }));
    const index = new FactIndex(recordsOf(4n));
    const hidden = { v3: new Set<number>(), v4: new Set<number>() };
    const hide = new Set<readonly CompanyRecord[]>();
    for (const record of recordsOf(3n)) {
      const { companies, uncompared } = index.find(record.facts);
      for (const company of companies) {
        if (pairs.size < MAX_PAIRS) pairOf(pairs, record.company, company, false);
        else {
          hidden.v3.add(record.company);
          hidden.v4.add(company);
        }
      }
      if (uncompared.some(({ length }) => length > 0)) hidden.v3.add(record.company);
      for (const bucket of uncompared) hide.add(bucket);
    }
    for (const bucket of hide) for (const { company } of bucket) hidden.v4.add(company);
    for (const company of hidden.v3) add(uncounted.v3, company, 1);
    for (const company of hidden.v4) add(uncounted.v4, company, 1);
  }
  const sameIds = db.prepare<[], Record<'v3' | 'v4', bigint>>(SELECT_SAME_IDS);
  for (const { v3, v4 } of sameIds.all()) pairOf(pairs, Number(v3), Number(v4), false);
  return pairs;
}

/** One key of each of the most frequent sets of companies, until each V4 company has a few of each model. */
function sampleKeys(db: Db): { sampled: { key: string; model: string }[]; unsampled: Set<number> } {
  const samples = new Map<string, number>();
  const sampled: { key: string; model: string }[] = [];
  const companies = new Set<number>();
  const unsampled = new Set<number>();
  let records = 0;
  for (const { v3, v4, key, model } of readKeySets(db)) {
    const isOpen = (company: number) => (samples.get(`${company} ${model}`) ?? 0) < SAMPLED_KEYS;
    if (v3.size === 0 || ![...v4].some(isOpen)) continue;
    const isTooMuch = records + v3.size + v4.size > MAX_SAMPLED_RECORDS;
    for (const company of v4) (isTooMuch ? unsampled : companies).add(company);
    if (isTooMuch) continue;
    records += v3.size + v4.size;
    sampled.push({ key, model });
    for (const company of v4) add(samples, `${company} ${model}`, 1);
  }
  for (const company of companies) unsampled.delete(company);
  return { sampled, unsampled };
}

interface Sample {
  readonly a: bigint;
  readonly b: bigint;
  readonly key: string;
}

/** The records of a model that two companies have in common. */
interface CommonModel {
  readonly model: string;
  readonly v3Stream: bigint;
  readonly v3Company: bigint;
  readonly v4Stream: bigint;
  readonly v4Company: bigint;
}

const SELECT_COMMON_MODELS = `
  select w4.model, w3.stream_id as v3Stream, w3.company_id as v3Company, w4.stream_id as v4Stream, w4.company_id as v4Company
  from temp.place as w4
    cross join temp.place as w3 on w3.generation = 3 and w3.company = ? and w3.model = w4.model and w3.read_in_full
  where w4.generation = 4 and w4.company = ? and w4.read_in_full
  order by w4.model`;

const recordsOfKey = (side: 'v3' | 'v4') => `
  select id from record indexed by record_key
  where platform_id = k.platform_id and stream_id = @${side}Stream and company_id = @${side}Company
  order by deleted, id limit ${MAX_RECORDS_OF_KEY}`;

const SELECT_SAMPLES = `
  with shared as (
    select b.platform_id from (select distinct platform_id from record where stream_id = @v4Stream) as b
    where exists (
      select 1 from record as a indexed by record_key
      where a.platform_id = b.platform_id and a.stream_id = @v3Stream and a.company_id = @v3Company)
    limit @limit)
  select a.id as a, b.id as b, @model || ' ' || k.platform_id as key
  from shared as k
    cross join record as a on a.id in (${recordsOfKey('v3')})
    cross join record as b on b.id in (${recordsOfKey('v4')})`;

/** Makes the function that selects shared keys of a pair: as many of each model, so that no model decides alone. */
function prepareSample(db: Db, limit: number): (pair: Counted) => Sample[] {
  const selectModels = db.prepare<[bigint, bigint], CommonModel>(SELECT_COMMON_MODELS);
  const selectSamples = db.prepare<[object], Sample>(SELECT_SAMPLES);
  return ({ v3, v4 }) => {
    const models = selectModels.all(BigInt(v3), BigInt(v4));
    const upTo = (index: number) => Math.floor((limit * index) / models.length);
    return models.flatMap((model, index) => {
      const share = upTo(index + 1) - upTo(index);
      return share === 0 ? [] : selectSamples.all({ ...model, limit: BigInt(share) });
    });
  };
}

/**
 * Compares up to 200 shared keys of each pair that could be the best of one of its companies or, with half as many
 * agreeing keys, rival it. Pairs that share only what all companies have would leave few keys for each.
 */
function compareSamples(db: Db, config: Config, evidence: readonly Counted[]): void {
  const isTop = prepareIsTop();
  const byTop = groupBy(
    evidence.toSorted((x, y) => y.shared - x.shared),
    (pair) => !pair.isShared || isTop(pair),
  );
  const top = byTop.get(true) ?? [];
  compareKeys(db, config, top);
  const best = { v3: new Map<number, number>(), v4: new Map<number, number>() };
  for (const { v3, v4, agreeing } of top) {
    best.v3.set(v3, Math.max(best.v3.get(v3) ?? 0, agreeing));
    best.v4.set(v4, Math.max(best.v4.get(v4) ?? 0, agreeing));
  }
  const rivals = (byTop.get(false) ?? []).filter(
    ({ v3, v4, shared }) => shared * 2 >= (best.v3.get(v3) ?? 0) || shared * 2 >= (best.v4.get(v4) ?? 0),
  );
  if (rivals.length > 0) compareKeys(db, config, [...top, ...rivals]);
}

/** Whether a pair is the first one of either company. */
function prepareIsTop(): (pair: Counted) => boolean {
  const seen = { v3: new Set<number>(), v4: new Set<number>() };
  return ({ v3, v4 }) => {
    const isTop = !seen.v3.has(v3) || !seen.v4.has(v4);
    seen.v3.add(v3);
    seen.v4.add(v4);
    return isTop;
  };
}

/** Compares as many keys of each of these pairs. */
function compareKeys(db: Db, config: Config, pairs: readonly Counted[]): void {
  const quota = Math.floor(MAX_SAMPLES_OF_ALL / Math.max(1, pairs.length));
  const limit = Math.min(MAX_SAMPLES, Math.max(MIN_SAMPLES, quota));
  const sample = prepareSample(db, limit);
  const compared = pairs.map((pair) => ({ pair, samples: sample(pair) }));
  const ids = compared.flatMap(({ samples }) => samples.flatMap(({ a, b }) => [a, b]));
  const read = readFacts(db, config, ids);
  for (const { pair, samples } of compared) {
    countVerdicts(pair, samples, ({ a, b }) => compareFacts(must(read.get(a)), must(read.get(b))));
  }
}

/** A key agrees if any of its records do. */
function countVerdicts(
  pair: Counted,
  samples: readonly Sample[],
  judge: (sample: Sample) => FactVerdict,
): void {
  const verdicts = new Map<string, FactVerdict[]>();
  for (const sample of samples) append(verdicts, sample.key, judge(sample));
  Object.assign(pair, { sampled: verdicts.size, comparable: 0, agreeing: 0 });
  for (const ofKey of verdicts.values()) {
    if (ofKey.some((verdict) => verdict !== 'incomparable')) pair.comparable += 1;
    if (ofKey.includes('agrees')) pair.agreeing += 1;
  }
  if (!pair.isShared) pair.shared = verdicts.size;
}
