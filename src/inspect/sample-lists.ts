import type { Api } from '../api/client.js';
import type { RawListRequest } from '../api/queries.js';
import type { Config } from '../config/config.js';
import {
  type Generation,
  type ListPage,
  type ModelPair,
  REFUSED_STATUSES,
  type StreamKey,
} from '../domain.js';
import { orError, SvcError } from '../errors.js';
import { COMPANY_LIST_PLAN } from '../store/streams.js';

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

export async function sampleLists(config: Config, api: Api): Promise<RemoteFacts> {
  const named = config.v4.companies;
  const request = { stream: COMPANY_LIST_PLAN.key, pair: null };
  const companyList = named.length > 0 ? null : await askList(api, request, [LIMIT]);
  const listed = companyList === null || companyList instanceof SvcError ? [] : companyList.records;
  const companies = [...named, ...listed.map(({ svcId }) => BigInt(svcId))].slice(0, MAX_COMPANIES);
  const places: readonly (readonly [Generation, region: string, companyId: bigint | null])[] = [
    ...config.v3.regions.map(({ region }) => ['v3', region, null] as const),
    ...companies.map((companyId) => ['v4', '', companyId] as const),
  ];
  const lists = places.flatMap(([generation, region, companyId]) =>
    config.models
      .filter(({ v4 }) => generation === 'v3' || v4 !== null)
      .map(async (pair) => {
        const stream = { generation, region, model: pair.v3, companyId };
        const count = generation === 'v3' ? [['return_count', 'true'] as const] : [];
        return { stream, pair, answer: await askList(api, { stream, pair }, [LIMIT, ...count]) };
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

export function isPage(answer: ListAnswer): answer is ListPage {
  return !(answer instanceof SvcError);
}

export function isRefused(answer: ListAnswer): answer is SvcError {
  return (
    !isPage(answer) && answer.code === 'http_status' && REFUSED_STATUSES.includes(answer.facts['status'])
  );
}

/** The number of records of a list, as far as its first page shows it. */
export function sizeOf(answer: ListAnswer): number {
  return isPage(answer) ? (answer.totalCount ?? answer.records.length + answer.rejected.length) : 0;
}
