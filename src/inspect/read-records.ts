import type { Api } from '../api/client.js';
import type { Config } from '../config/config.js';
import {
  type Generation,
  type ModelPair,
  type ParsedPage,
  type ParsedRecord,
  REFUSED_STATUSES,
} from '../domain.js';
import { SvcError } from '../errors.js';

/** The part of the API that reads single records. */
export type RecordApi = Pick<Api, 'fetchRecord' | 'fetchRawList'>;

interface NarrowRequest {
  readonly generation: Generation;
  /** '' for V4. */
  readonly region: string;
  readonly pair: ModelPair;
  /** V4: the company of the list. V3: a filter; null for all companies. */
  readonly companyId: bigint | null;
  readonly by: 'svc_id' | 'platform_id';
  readonly value: string;
}

type NarrowAnswer =
  /** All records that match: the filter was honoured, and the list was read to its end. */
  | { readonly kind: 'records'; readonly records: readonly ParsedRecord[] }
  /** The service refuses the filter or returns other records: nothing can be concluded. */
  | { readonly kind: 'not_honoured' };

/** Reads single records of configured models. Throws what requests throw, including `http_status` 404. */
export interface RecordSource {
  /** The records of a list with one id or key. */
  byFilter(request: Omit<NarrowRequest, 'pair'> & { readonly model: string }): Promise<NarrowAnswer>;
  /** One V4 record by its own route, which may not return deleted records; null if it returns none. */
  byRoute(model: string, companyId: bigint, svcId: bigint): Promise<ParsedRecord | null>;
}

export function createRecordSource(api: RecordApi, config: Config): RecordSource {
  const pairs = new Map(config.models.map((pair) => [pair.v3, pair]));
  const pairOf = (model: string): ModelPair => {
    const pair = pairs.get(model);
    if (pair === undefined) throw new TypeError(`Model ${model} is not in the configuration.`);
    return pair;
  };
  return {
    byFilter: async ({ model, ...request }) => fetchNarrow(api, config, { ...request, pair: pairOf(model) }),
    byRoute: async (model, companyId, svcId) => api.fetchRecord({ pair: pairOf(model), companyId, svcId }),
  };
}

const PAGE_SIZE = '100';
/** An id or key has few records; with more pages, the filter was ignored. */
const MAX_PAGES = 10;

async function fetchNarrow(api: RecordApi, config: Config, request: NarrowRequest): Promise<NarrowAnswer> {
  const records: ParsedRecord[] = [];
  let cursor: string | null = null;
  let sawEmptyEnd = false;
  for (let page = 1; page <= MAX_PAGES; page++) {
    const answer: ParsedPage | null = await fetchOrRefused(api, config, request, cursor);
    if (answer === null || !answer.records.every((record) => isWanted(record, request))) break;
    records.push(...answer.records);
    // an empty last page after a cursor may be an error of the service: it is requested once more
    const isEmptyEnd = answer.next === null && cursor !== null && answer.records.length === 0;
    if (answer.next === null && (!isEmptyEnd || sawEmptyEnd)) return { kind: 'records', records };
    sawEmptyEnd = isEmptyEnd;
    cursor = answer.next ?? cursor;
  }
  return { kind: 'not_honoured' };
}

async function fetchOrRefused(
  api: RecordApi,
  config: Config,
  request: NarrowRequest,
  cursor: string | null,
): Promise<ParsedPage | null> {
  const { generation, region, pair } = request;
  // V3 records of another company must be returned: they show that the filter is not honoured
  const companyId = generation === 'v3' ? null : request.companyId;
  const stream = { generation, region, model: pair.v3, companyId };
  const asks = generation === 'v3' ? true : config.v4.includeDeleted;
  // V4 may refuse `include_deleted_records`; its answer without them is still valid
  for (const asksDeleted of asks === 'auto' ? [true, false] : [asks]) {
    const parameters = buildParameters(config.fieldPrefix, request, cursor, asksDeleted);
    try {
      return await api.fetchRawList({ stream, pair, parameters });
    } catch (error) {
      const isRefused = error instanceof SvcError && error.code === 'http_status';
      if (!isRefused || !REFUSED_STATUSES.includes(error.facts['status'])) throw error;
    }
  }
  return null;
}

function buildParameters(
  fieldPrefix: string,
  { generation, pair, companyId, by, value }: NarrowRequest,
  cursor: string | null,
  asksDeleted: boolean,
): [string, string][] {
  const field = by === 'svc_id' ? `${fieldPrefix}id` : 'platform_id';
  const parameters: [string, string][] = [
    ['limit', PAGE_SIZE],
    [`${field}[eq]`, value],
  ];
  if (asksDeleted) parameters.push(['include_deleted_records', 'true']);
  if (generation === 'v3' && companyId !== null) {
    parameters.push([`${fieldPrefix}company_id[eq]`, String(companyId)]);
  }
  if (pair.expand.length > 0) parameters.push(['expand', pair.expand.join(',')]);
  if (cursor !== null) parameters.push(['next', cursor]);
  return parameters;
}

function isWanted(record: ParsedRecord, { by, value, companyId }: NarrowRequest): boolean {
  const found = by === 'svc_id' ? String(record.svcId) : record.platformId;
  return found === value && (companyId === null || record.companyId === companyId);
}
