import type { Api } from '../api/client.js';
import type { Config } from '../config/config.js';
import {
  type Generation,
  type ModelPair,
  type ParsedPage,
  type ParsedRecord,
  REFUSED_STATUSES,
} from '../domain.js';
import { isNotFound, SvcError } from '../errors.js';

/** A V3 list, or the V4 list of one company. */
export interface ListRef {
  /** '' for V4. */
  readonly region: string;
  /** Null for V3. */
  readonly companyId: bigint | null;
  readonly pair: ModelPair;
}

/** The response to one request for a page. */
export type PageAnswer =
  | { readonly kind: 'answers'; readonly page: ParsedPage }
  /** `absent`: 404. `refused`: 400 or similar, the server rejects the parameters. */
  | { readonly kind: 'absent' | 'refused' | 'failed'; readonly error: SvcError };

/** Requests one page of a list as it is now. Only interrupts are thrown. */
export async function fetchPage(
  api: Pick<Api, 'fetchRawList'>,
  { region, companyId, pair }: ListRef,
  parameters: readonly (readonly [name: string, value: string])[],
): Promise<PageAnswer> {
  const generation = companyId === null ? 'v3' : 'v4';
  const stream = { generation, region, model: pair.v3, companyId } as const;
  try {
    return { kind: 'answers', page: await api.fetchRawList({ stream, pair, parameters }) };
  } catch (error) {
    if (!(error instanceof SvcError) || error.code === 'interrupted') throw error;
    const status = error.code === 'http_status' ? error.facts['status'] : null;
    if (status === 404) return { kind: 'absent', error };
    return { kind: REFUSED_STATUSES.includes(status) ? 'refused' : 'failed', error };
  }
}

/** The part of the API that reads single records. */
export type RecordApi = Pick<Api, 'fetchRecord' | 'fetchRawList'>;

/** A request for the records of a list with one id or key. */
export interface NarrowRequest {
  readonly generation: Generation;
  /** '' for V4. */
  readonly region: string;
  readonly model: string;
  /** V4: the company of the list. V3: a filter; null for all companies. */
  readonly companyId: bigint | null;
  readonly by: 'svc_id' | 'platform_id';
  readonly value: string;
}

/**
 * All records that match, if the filter was honoured and the list was read to its end; null if the service refuses the
 * filter or returns other records, so that nothing can be concluded.
 */
type NarrowAnswer = readonly ParsedRecord[] | null;

/** A record as the remap names it. */
export interface RecordRef {
  readonly model: string;
  /** '' for V4. */
  readonly region: string;
  readonly companyId: bigint;
  readonly svcId: bigint;
  /** Its key in the remap, for lists that cannot be filtered by id. */
  readonly platformId: string;
}

/** Reads single records from the APIs; null if there is none. Throws what requests throw. */
export interface PairReader {
  readV3(ref: RecordRef): Promise<ParsedRecord | null>;
  readV4(ref: RecordRef): Promise<ParsedRecord | null>;
}

/** Reads single records of configured models. Throws what requests throw, including `http_status` 404. */
export interface LiveReader extends PairReader {
  byFilter(request: NarrowRequest): Promise<NarrowAnswer>;
  /** One V4 record by its own route, which may not return deleted records; null if it returns none. */
  byRoute(model: string, companyId: bigint, svcId: bigint): Promise<ParsedRecord | null>;
}

/** `readV3` uses a filtered list, `readV4` the route of a single record, and the list for deleted ones. */
export function createLiveReader(api: RecordApi, config: Config): LiveReader {
  const pairs = new Map(config.models.map((pair) => [pair.v3, pair]));
  const pairOf = (model: string): ModelPair => {
    const pair = pairs.get(model);
    if (pair === undefined) throw new TypeError(`Model ${model} is not in the configuration.`);
    return pair;
  };
  const byFilter: LiveReader['byFilter'] = async (request) =>
    fetchNarrow(api, config, request, pairOf(request.model));
  const byRoute: LiveReader['byRoute'] = async (model, companyId, svcId) =>
    api.fetchRecord({ pair: pairOf(model), companyId, svcId });
  /** V3 lists that do not honour a filter by id. */
  const ignoresIds = new Set<string>();
  return {
    byFilter,
    byRoute,
    readV3: async (ref) => {
      const { model, region, companyId, platformId } = ref;
      const list = { generation: 'v3', model, region } as const;
      const name = `${region} ${model}`;
      if (!ignoresIds.has(name)) {
        const value = String(ref.svcId);
        const answer = await byFilter({ ...list, companyId: null, by: 'svc_id', value });
        if (answer !== null) return pick(answer, ref);
        ignoresIds.add(name);
      }
      const answer = await byFilter({ ...list, companyId, by: 'platform_id', value: platformId });
      if (answer !== null) return pick(answer, ref);
      throw new SvcError('bad_response', `V3 honours no filter by id or platform_id on ${model}.`, {
        hint: 'Single V3 records cannot be read there; `svc-migrate doctor` shows what the API honours.',
        facts: { model, region },
      });
    },
    readV4: async (ref) => {
      const { model, companyId, svcId } = ref;
      const record = await byRoute(model, companyId, svcId);
      if (record !== null) return record;
      const list = { generation: 'v4', model, region: '', companyId } as const;
      try {
        // The route may not return deleted records; the list does.
        const answer = await byFilter({ ...list, by: 'svc_id', value: String(svcId) });
        return answer === null ? null : pick(answer, ref);
      } catch (error) {
        // A list that does not exist adds nothing to the answer of the route.
        if (isNotFound(error)) return null;
        throw error;
      }
    },
  };
}

function pick(records: readonly ParsedRecord[], { svcId, companyId }: RecordRef): ParsedRecord | null {
  const found = records.filter((record) => record.svcId === svcId);
  return found.find((record) => record.companyId === companyId) ?? found[0] ?? null;
}

const PAGE_SIZE = '100';
/** An id or key has few records; with more pages, the filter was ignored. */
const MAX_PAGES = 10;

async function fetchNarrow(
  api: RecordApi,
  config: Config,
  request: NarrowRequest,
  pair: ModelPair,
): Promise<NarrowAnswer> {
  const records: ParsedRecord[] = [];
  let cursor: string | null = null;
  let sawEmptyEnd = false;
  for (let number = 1; number <= MAX_PAGES; number++) {
    const page: ParsedPage | null = await fetchOrRefused(api, config, request, pair, cursor);
    if (page === null || !page.records.every((record) => isWanted(record, request))) break;
    records.push(...page.records);
    // an empty last page after a cursor may be an error of the service: it is requested once more
    const isEmptyEnd = page.next === null && cursor !== null && page.records.length === 0;
    if (page.next === null && (!isEmptyEnd || sawEmptyEnd)) return records;
    sawEmptyEnd = isEmptyEnd;
    cursor = page.next ?? cursor;
  }
  return null;
}

async function fetchOrRefused(
  api: RecordApi,
  config: Config,
  request: NarrowRequest,
  pair: ModelPair,
  cursor: string | null,
): Promise<ParsedPage | null> {
  const { generation, region } = request;
  // V3 records of another company must be returned: they show that the filter is not honoured
  const companyId = generation === 'v3' ? null : request.companyId;
  const asks = generation === 'v3' ? true : config.v4.includeDeleted;
  // V4 may refuse `include_deleted_records`; its answer without them is still valid
  for (const asksDeleted of asks === 'auto' ? [true, false] : [asks]) {
    const parameters = buildParameters(config.fieldPrefix, request, pair, cursor, asksDeleted);
    const answer = await fetchPage(api, { region, companyId, pair }, parameters);
    if (answer.kind === 'answers') return answer.page;
    if (answer.kind !== 'refused') throw answer.error;
  }
  return null;
}

function buildParameters(
  fieldPrefix: string,
  { generation, companyId, by, value }: NarrowRequest,
  pair: ModelPair,
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
