import type { Api } from '../api/client.js';
import { COMPANY_LIST, type RawListRequest } from '../api/queries.js';
import type { Config } from '../config/config.js';
import { type ListPage, type ModelPair, REFUSED_STATUSES, type StreamKey } from '../domain.js';
import { orError, SvcError } from '../errors.js';

export type ListAnswer = ListPage | SvcError;

export interface SampledList {
  readonly stream: StreamKey;
  readonly pair: ModelPair;
  readonly answer: ListAnswer;
}

interface Samples {
  /** V4's list of companies; null if the configuration names them. */
  readonly companyList: ListAnswer | null;
  /** Every list of V3, and the lists of a few companies of V4. */
  readonly lists: readonly SampledList[];
}

export interface RemoteFacts extends Samples {
  readonly config: Config;
  readonly api: Api;
}

const MAX_COMPANIES = 3;
const SAMPLE_SIZE = 20;

export async function sampleLists(config: Config, api: Api): Promise<Samples> {
  const v3 = config.v3.regions.map(({ region }) =>
    sampleModels(config, api, { generation: 'v3', region, companyId: null }),
  );
  const [inV3, inV4] = await Promise.all([Promise.all(v3), sampleV4(config, api)]);
  return { ...inV4, lists: [...inV3.flat(), ...inV4.lists] };
}

async function sampleV4(config: Config, api: Api): Promise<Samples> {
  const isNamed = config.v4.companies.length > 0;
  const companyList = isNamed
    ? null
    : await askList(api, COMPANY_LIST_REQUEST, [['limit', String(SAMPLE_SIZE)]]);
  const listed = companyList === null || companyList instanceof SvcError ? [] : companyList.companies;
  const companies = isNamed ? config.v4.companies : listed.map((company) => BigInt(company.companyId));
  const lists = companies
    .slice(0, MAX_COMPANIES)
    .map((companyId) => sampleModels(config, api, { generation: 'v4', region: '', companyId }));
  return { companyList, lists: (await Promise.all(lists)).flat() };
}

const COMPANY_LIST_REQUEST = {
  stream: { generation: 'v4', region: '', model: COMPANY_LIST, companyId: null },
  pair: null,
} as const;

type Parameters = readonly (readonly [name: string, value: string])[];

function sampleModels(config: Config, api: Api, place: Omit<StreamKey, 'model'>): Promise<SampledList[]> {
  const isV3 = place.generation === 'v3';
  const count: Parameters = isV3 ? [['return_count', 'true']] : [];
  return Promise.all(
    config.models
      .filter(({ v4 }) => isV3 || v4 !== null)
      .map(async (pair) => {
        const stream: StreamKey = { ...place, model: pair.v3 };
        const expand: Parameters = pair.expand.length > 0 ? [['expand', pair.expand.join(',')]] : [];
        const parameters: Parameters = [['limit', String(SAMPLE_SIZE)], ...expand, ...count];
        return { stream, pair, answer: await askList(api, { stream, pair }, parameters) };
      }),
  );
}

export async function askList(
  api: Api,
  { stream, pair }: Pick<RawListRequest, 'stream' | 'pair'>,
  parameters: Parameters,
): Promise<ListAnswer> {
  const answer = await orError(() => api.fetchRawList({ stream, pair, parameters }));
  if (answer instanceof SvcError && answer.code === 'interrupted') throw answer;
  return answer;
}

/** Whether the service does not take a parameter. */
export function isRefused(answer: ListAnswer): answer is SvcError {
  return (
    answer instanceof SvcError &&
    answer.code === 'http_status' &&
    REFUSED_STATUSES.includes(answer.facts['status'])
  );
}

/** The number of records of a list, as far as its first page shows it. */
export function sizeOf(answer: ListAnswer): number {
  if (answer instanceof SvcError) return 0;
  return answer.totalCount ?? answer.records.length + answer.rejected.length;
}
