import type { Api } from '../../api/client.js';
import { fieldDigestsOf, listFields, placesOf } from '../../api/field-digests.js';
import type { Config, Endpoint } from '../../config/config.js';
import type { Generation, ParsedPage, ParsedRecord } from '../../domain.js';
import { orError, SvcError } from '../../errors.js';
import * as z from '../../zod.js';
import { fetchPage, type ListRef, type PageAnswer } from '../live-records.js';

/** The fields of a record that doctor needs. */
export interface SampledRecord extends Pick<ParsedRecord, 'svcId' | 'companyId' | 'platformId' | 'deleted'> {
  /** Digests of the fields by which companies are paired, see `api/field-digests.ts`. */
  readonly fieldDigests: string;
  /** When the service stored the record; null if unknown. */
  readonly createdMs: number | null;
  /** Whether it has `data_hash`, which the service sends only where `select` names it. */
  readonly hasHash: boolean;
}

/** The first page of a list. */
export interface ListContent {
  readonly kind: 'answers';
  readonly records: readonly SampledRecord[];
  /** Objects that cannot be read as records. */
  readonly rejected: number;
  readonly totalCount: number | null;
  readonly hasMore: boolean;
  /** Bytes of the records. */
  readonly bytes: number;
  /** Fields that were requested with `expand` and that no record has. */
  readonly missing: readonly string[];
}

/** The response to one request for a list. */
export type ListAnswer = ListContent | Exclude<PageAnswer, { kind: 'answers' }>;

export interface SampledList extends ListRef {
  readonly answer: ListAnswer;
}

/** One configured address, and the first answers of its lists. */
export interface SampledHost {
  /** `V3`, `V3 eu` or `V4`. */
  readonly label: string;
  readonly generation: Generation;
  readonly endpoint: Endpoint;
  /** Why the first request failed. */
  readonly error: SvcError | null;
  /** Whether the host took the key: a 404 may come from anywhere, a 429 or 503 from before the key is looked at. */
  readonly answered: boolean;
  readonly lists: readonly SampledList[];
}

export interface SampledV4 extends SampledHost {
  /** Companies that V4 lists. */
  readonly companies: readonly bigint[];
  /** Companies whose lists were requested. */
  readonly asked: readonly bigint[];
}

type Parameter = readonly [name: string, value: string];

/** Requests the first page of a list. Only interrupts are thrown. */
export type AskList = (list: ListRef, limit: number, more?: readonly Parameter[]) => Promise<ListAnswer>;

/** Returns a function that requests the first page of a list and summarises it. */
export function prepareAskList(api: Pick<Api, 'fetchRawList'>, config: Config): AskList {
  const { fieldPrefix } = config;
  return async (list, limit, more = []) => {
    const answer = await fetchPage(api, list, [...buildParameters(list, limit, fieldPrefix), ...more]);
    return answer.kind === 'answers' ? summarise(answer.page, list.pair.expand, config) : answer;
  };
}

/** V3 is requested as by an export, except that the latest records come first. */
function buildParameters({ companyId, pair }: ListRef, limit: number, fieldPrefix: string): Parameter[] {
  const parameters: Parameter[] = [['limit', String(limit)]];
  if (companyId === null) {
    parameters.push(['include_deleted_records', 'true'], ['return_count', 'true']);
    parameters.push([`sort[${fieldPrefix}updated_at]`, 'DESC']);
  }
  if (pair.expand.length > 0) parameters.push(['expand', pair.expand.join(',')]);
  return parameters;
}

const bodySchema = z.record(z.string(), z.unknown());

function summarise(
  page: ParsedPage,
  expand: readonly string[],
  { fieldPrefix, backfill }: Config,
): ListContent {
  const fields = listFields(backfill.dateFields);
  const bodies = page.records.map(({ raw }) => {
    const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8');
    return bodySchema.parse(JSON.parse(text));
  });
  const records = page.records.map((record, at) => {
    const { svcId, companyId, platformId, deleted, members } = record;
    const { names, words } = members ?? { names: '[]', words: new Int32Array(0) };
    const bytes = Buffer.from(words.buffer, words.byteOffset, words.byteLength);
    const fieldDigests = fieldDigestsOf(bytes, placesOf(fields, JSON.parse(names)));
    const created = Date.parse(String(bodies[at]?.[`${fieldPrefix}created_at`]));
    const createdMs = Number.isNaN(created) ? null : created;
    const hasHash = typeof bodies[at]?.['data_hash'] === 'string';
    return { svcId, companyId, platformId, deleted, createdMs, fieldDigests, hasHash };
  });
  const isMissing = (field: string): boolean => !bodies.some((body) => Object.hasOwn(body, field));
  return {
    kind: 'answers',
    records,
    rejected: page.rejected.length,
    totalCount: page.totalCount,
    hasMore: page.next !== null,
    bytes: page.records.reduce((sum, { raw }) => sum + raw.length, 0),
    missing: records.length === 0 ? [] : expand.filter(isMissing),
  };
}

export function hasAnswered({ answer }: SampledList): boolean {
  return answer.kind === 'answers';
}

/** Whether the key was taken: only then are lists sent, or parameters refused. A 405 or 501 looks at neither. */
function isFromService({ answer }: SampledList): boolean {
  return (
    answer.kind === 'answers' ||
    (answer.kind === 'refused' && [400, 422].some((status) => status === answer.error.facts['status']))
  );
}

/** The number of records in a list: its `total_count` or, without one, of the records received. */
export function sizeOf(answer: ListAnswer): number {
  return answer.kind === 'answers' ? (answer.totalCount ?? answer.records.length) : 0;
}

export function countRecords(lists: readonly SampledList[]): number {
  return lists.reduce((sum, { answer }) => sum + sizeOf(answer), 0);
}

/** Records requested of a list: enough to compare, few for the service. */
const MAX_SAMPLE = 100;
const MAX_SAMPLED_COMPANIES = 10;
/** Errors that every other request to the host would get too. */
const FATAL_CODES = ['auth', 'redirect', 'network', 'timeout', 'config', 'bad_response'];

export interface SampleOptions {
  readonly config: Config;
  readonly api: Pick<Api, 'fetchV4Companies'>;
  readonly ask: AskList;
  /** Why a key cannot be used; by region, '' for V4. */
  readonly keyErrors: ReadonlyMap<string, SvcError>;
}

/** Requests the first page of every V3 list of a region. */
export async function sampleV3(options: SampleOptions, endpoint: Endpoint): Promise<SampledHost> {
  const { config, keyErrors } = options;
  const { region } = endpoint;
  const label = config.v3.regions.length > 1 ? `V3 ${region}` : 'V3';
  const host = { label, generation: 'v3', endpoint } as const;
  if (keyErrors.has(region)) return { ...host, error: null, answered: false, lists: [] };
  const wanted = config.models.map((pair) => ({ region, companyId: null, pair }));
  const sampled = await sampleLists(options, wanted, endpoint);
  return { ...host, ...sampled, answered: sampled.lists.some(isFromService) };
}

/** Requests V4's companies, and the first page of every list of some of them. */
export async function sampleV4(options: SampleOptions): Promise<SampledV4> {
  const { config, api, keyErrors } = options;
  const host: SampledV4 = {
    ...{ label: 'V4', generation: 'v4', endpoint: config.v4, error: null, answered: false },
    ...{ lists: [], companies: [], asked: [] },
  };
  if (keyErrors.has('')) return host;
  const listed = await orError(() => api.fetchV4Companies());
  if (listed instanceof SvcError) {
    if (listed.code === 'interrupted') throw listed;
    return { ...host, error: listed };
  }
  const companies = listed.companies.map(({ companyId }) => companyId);
  const asked = sampleCompanies(companies);
  const models = config.models.filter(({ v4 }) => v4 !== null);
  const wanted = asked.flatMap((companyId) => models.map((pair) => ({ region: '', companyId, pair })));
  const sampled = await sampleLists(options, wanted, config.v4);
  return { ...host, ...sampled, answered: sampled.error === null, companies, asked };
}

/** The first request is sent alone, so that a refused key or an unreachable host causes one error, not many. */
async function sampleLists(
  { ask }: SampleOptions,
  [first, ...others]: readonly ListRef[],
  { pageSize }: Endpoint,
): Promise<Pick<SampledHost, 'lists' | 'error'>> {
  const sample = async (list: ListRef): Promise<SampledList> => ({
    ...list,
    answer: await ask(list, Math.min(MAX_SAMPLE, pageSize)),
  });
  if (first === undefined) return { lists: [], error: null };
  const tried = await sample(first);
  const { answer } = tried;
  if (answer.kind === 'failed' && FATAL_CODES.includes(answer.error.code)) {
    return { lists: [], error: answer.error };
  }
  return { lists: [tried, ...(await Promise.all(others.map(sample)))], error: null };
}

/** Samples evenly over the list, to include old and new companies. */
function sampleCompanies(all: readonly bigint[]): readonly bigint[] {
  if (all.length <= MAX_SAMPLED_COMPANIES) return all;
  const step = all.length / MAX_SAMPLED_COMPANIES;
  return Array.from({ length: MAX_SAMPLED_COMPANIES }, (_, at) => all[Math.floor(at * step)] ?? 0n);
}
