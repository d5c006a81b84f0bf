import type { Api } from '../api/client.js';
import { COMPANY_LIST } from '../api/queries.js';
import type { Config } from '../config/config.js';
import { type ListPage, type ModelPair, REFUSED_STATUSES, type StreamKey } from '../domain.js';
import { isNotFound, isRequestError, SvcError } from '../errors.js';
import { at } from '../text/at.js';
import type { LocalFacts } from './doctor-local.js';

/** How a service answered to a list. `refused`: with a status that means that it does not take a parameter. */
export type ListAnswer =
  | { readonly kind: 'answers'; readonly page: ListPage }
  | { readonly kind: 'absent'; readonly error: SvcError }
  | { readonly kind: 'refused'; readonly error: SvcError }
  | { readonly kind: 'failed'; readonly error: SvcError };

export interface SampledList {
  readonly stream: StreamKey;
  readonly pair: ModelPair;
  readonly answer: ListAnswer;
}

export interface Samples {
  /** By region; only endpoints with a key. */
  readonly v3: ReadonlyMap<string, readonly SampledList[]>;
  /** The first page of V4's list of companies; null if the configuration names them, or without a key. */
  readonly companyList: ListAnswer | null;
  /** The named V4 companies, or the first page of the list. */
  readonly companies: readonly bigint[];
  readonly v4: readonly SampledList[];
  readonly hasV4Key: boolean;
}

export interface RemoteFacts {
  readonly config: Config;
  readonly api: Api;
  readonly samples: Samples;
}

/** Companies whose lists are requested. */
const MAX_COMPANIES = 3;
const SAMPLE_SIZE = 20;

export async function sampleLists({ config, keyErrors }: LocalFacts, api: Api): Promise<Samples> {
  const regions = config.v3.regions.filter(({ region }) => !keyErrors.has(region));
  const hasV4Key = !keyErrors.has('');
  const [v3, v4] = await Promise.all([
    Promise.all(
      regions.map(async ({ region }) => [region, await sampleRegion(config, api, region)] as const),
    ),
    hasV4Key ? sampleV4(config, api) : { companyList: null, companies: [], v4: [] },
  ]);
  return { v3: new Map(v3), hasV4Key, ...v4 };
}

function sampleRegion(config: Config, api: Api, region: string): Promise<SampledList[]> {
  return Promise.all(
    config.models.map((pair) => {
      const stream: StreamKey = { generation: 'v3', region, model: pair.v3, companyId: null };
      return sampleList(api, stream, pair, [['return_count', 'true']]);
    }),
  );
}

async function sampleV4(
  config: Config,
  api: Api,
): Promise<Pick<Samples, 'companyList' | 'companies' | 'v4'>> {
  const isNamed = config.v4.companies.length > 0;
  const companyList = isNamed ? null : await answerOf(() => api.fetchPage(COMPANY_LIST_REQUEST));
  const listed = companyList?.kind === 'answers' ? companyList.page.companies : [];
  const companies = isNamed ? config.v4.companies : listed.map(({ companyId }) => BigInt(companyId));
  const pairs = config.models.filter(({ v4 }) => v4 !== null);
  const sampled = companies
    .slice(0, MAX_COMPANIES)
    .flatMap((companyId) =>
      pairs.map((pair) =>
        sampleList(api, { generation: 'v4', region: '', model: pair.v3, companyId }, pair, []),
      ),
    );
  return { companyList, companies, v4: await Promise.all(sampled) };
}

const COMPANY_LIST_REQUEST = {
  stream: { generation: 'v4', region: '', model: COMPANY_LIST, companyId: null },
  pair: null,
  cursor: null,
  updatedSince: null,
} as const;

type Parameters = readonly (readonly [name: string, value: string])[];

async function sampleList(
  api: Api,
  stream: StreamKey,
  pair: ModelPair,
  parameters: Parameters,
): Promise<SampledList> {
  const expand: Parameters = pair.expand.length > 0 ? [['expand', pair.expand.join(',')]] : [];
  const answer = await askList(api, { stream, pair }, [
    ['limit', String(SAMPLE_SIZE)],
    ...expand,
    ...parameters,
  ]);
  return { stream, pair, answer };
}

export function askList(
  api: Api,
  { stream, pair }: Pick<SampledList, 'stream' | 'pair'>,
  parameters: Parameters,
): Promise<ListAnswer> {
  return answerOf(() => api.fetchRawList({ stream, pair, parameters }));
}

/** @throws errors that do not concern a single request */
async function answerOf(request: () => Promise<ListPage>): Promise<ListAnswer> {
  try {
    return { kind: 'answers', page: await request() };
  } catch (error) {
    if (isNotFound(error)) return { kind: 'absent', error };
    if (
      error instanceof SvcError &&
      error.code === 'http_status' &&
      REFUSED_STATUSES.includes(error.facts['status'])
    ) {
      return { kind: 'refused', error };
    }
    if (isRequestError(error)) return { kind: 'failed', error };
    if (error instanceof SvcError && (error.code === 'auth' || error.code === 'redirect')) {
      return { kind: 'failed', error };
    }
    throw error;
  }
}

/** The number of records of a list, as far as its first page shows it. */
export function sizeOf({ answer }: Pick<SampledList, 'answer'>): number {
  if (answer.kind !== 'answers') return 0;
  return answer.page.totalCount ?? answer.page.records.length + answer.page.rejected.length;
}

export function hasAnswered({ answer }: Pick<SampledList, 'answer'>): boolean {
  return answer.kind === 'answers';
}

/** The list with the most records that has any. */
export function longestOf(lists: readonly SampledList[]): SampledList | null {
  const filled = lists.filter((list) => sizeOf(list) > 0).sort((a, b) => sizeOf(b) - sizeOf(a));
  return filled.length === 0 ? null : at(filled, 0);
}
