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

export interface RemoteFacts {
  readonly config: Config;
  readonly api: Api;
  /** V4's list of companies; null if the configuration names them. */
  readonly companyList: ListAnswer | null;
  /** Every list of V3, and the lists of a few companies of V4. */
  readonly lists: readonly SampledList[];
}

const MAX_COMPANIES = 3;
const LIMIT = ['limit', '20'] as const;

const COMPANY_LIST_REQUEST = {
  stream: { generation: 'v4', region: '', model: COMPANY_LIST, companyId: null },
  pair: null,
} as const;

export async function sampleLists(config: Config, api: Api): Promise<RemoteFacts> {
  const isNamed = config.v4.companies.length > 0;
  const companyList = isNamed ? null : await askList(api, COMPANY_LIST_REQUEST, [LIMIT]);
  const listed = companyList === null || companyList instanceof SvcError ? [] : companyList.companies;
  const companies = isNamed ? config.v4.companies : listed.map(({ companyId }) => BigInt(companyId));
  const places = [
    ...config.v3.regions.map(({ region }) => ({ generation: 'v3', region, companyId: null }) as const),
    ...companies
      .slice(0, MAX_COMPANIES)
      .map((companyId) => ({ generation: 'v4', region: '', companyId }) as const),
  ];
  const lists = places.flatMap((place) =>
    config.models
      .filter(({ v4 }) => place.generation === 'v3' || v4 !== null)
      .map(async (pair) => {
        const stream = { ...place, model: pair.v3 };
        const expand = pair.expand.length > 0 ? [['expand', pair.expand.join(',')] as const] : [];
        const count = place.generation === 'v3' ? [['return_count', 'true'] as const] : [];
        return { stream, pair, answer: await askList(api, { stream, pair }, [LIMIT, ...expand, ...count]) };
      }),
  );
  return { config, api, companyList, lists: await Promise.all(lists) };
}

export async function askList(
  api: Api,
  { stream, pair }: Pick<RawListRequest, 'stream' | 'pair'>,
  parameters: RawListRequest['parameters'],
): Promise<ListAnswer> {
  const answer = await orError(() => api.fetchRawList({ stream, pair, parameters }));
  if (answer instanceof SvcError && answer.code === 'interrupted') throw answer;
  return answer;
}

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
