import type { Api } from '../api/client.js';
import { type NarrowAnswer, type NarrowRequest, prepareFetchNarrow } from '../api/narrow-list.js';
import type { Config } from '../config/config.js';
import type { ModelPair, ParsedRecord } from '../domain.js';

/** The part of the API that reads single records. */
export type RecordApi = Pick<Api, 'fetchRecord' | 'fetchRawList'>;

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
  const fetchNarrow = prepareFetchNarrow(api, config);
  return {
    byFilter: async ({ model, ...request }) => fetchNarrow({ ...request, pair: pairOf(model) }),
    byRoute: async (model, companyId, svcId) => api.fetchRecord({ pair: pairOf(model), companyId, svcId }),
  };
}
