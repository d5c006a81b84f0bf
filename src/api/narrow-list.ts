import type { Config } from '../config/config.js';
import type { Generation, ModelPair, ParsedPage, ParsedRecord } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Api } from './client.js';

/** A question for few records: those of a list with this id or this key. */
export interface NarrowRequest {
  readonly generation: Generation;
  /** '' for V4. */
  readonly region: string;
  readonly pair: ModelPair;
  /** V4: whose list is asked. V3: narrows the list, null asks all companies. */
  readonly companyId: bigint | null;
  readonly by: 'svc_id' | 'platform_id';
  readonly value: string;
}

export type NarrowAnswer =
  /** The filter was honoured and read to its end: these are all there are. */
  | { readonly kind: 'records'; readonly records: readonly ParsedRecord[] }
  /** The service refuses the filter, or sends other records than asked for: nothing follows from it. */
  | { readonly kind: 'not_honoured' };

/** Asks for a list narrowed to one id or key; deleted records are included unless configured otherwise. */
export type FetchNarrow = (request: NarrowRequest) => Promise<NarrowAnswer>;

const PAGE_SIZE = '100';
/** One id or key has a few records; more pages are a list that is not narrowed. */
const MOST_PAGES = 10;
const REFUSALS: readonly unknown[] = [400, 405, 422, 501];

/**
 * Makes the function that asks narrowly. It throws what a request throws, `http_status` 404 among it.
 */
export function prepareFetchNarrow(api: Pick<Api, 'fetchRawList'>, config: Config): FetchNarrow {
  return async (request) => {
    const records: ParsedRecord[] = [];
    let cursor: string | null = null;
    let sawEmptyEnd = false;
    for (let page = 1; page <= MOST_PAGES; page++) {
      const answer: ParsedPage | null = await fetchOrRefused(api, config, request, cursor);
      if (answer === null || !answer.records.every((record) => isWanted(record, request))) break;
      records.push(...answer.records);
      // an empty last page behind a cursor may be a fault: it is asked for once more
      const isEmptyEnd = answer.next === null && cursor !== null && answer.records.length === 0;
      if (answer.next === null && (!isEmptyEnd || sawEmptyEnd)) return { kind: 'records', records };
      sawEmptyEnd = isEmptyEnd;
      cursor = answer.next ?? cursor;
    }
    return { kind: 'not_honoured' };
  };
}

async function fetchOrRefused(
  api: Pick<Api, 'fetchRawList'>,
  config: Config,
  request: NarrowRequest,
  cursor: string | null,
): Promise<ParsedPage | null> {
  const { generation, region, pair } = request;
  // A V3 answer of another company than asked for is to be seen, not to be rejected.
  const companyId = generation === 'v3' ? null : request.companyId;
  const stream = { generation, region, model: pair.v3, companyId };
  for (const asksDeleted of deletedChoices(config, generation)) {
    const parameters = wordsOf(config.fieldPrefix, request, cursor, asksDeleted);
    try {
      return await api.fetchRawList({ stream, pair, parameters });
    } catch (error) {
      const isRefused = error instanceof SvcError && error.code === 'http_status';
      if (!isRefused || !REFUSALS.includes(error.facts['status'])) throw error;
    }
  }
  return null;
}

/** V4 may refuse to be asked for deleted records; what it shows without them is not wrong. */
function deletedChoices({ v4 }: Config, generation: Generation): readonly boolean[] {
  if (generation === 'v3') return [true];
  return v4.includeDeleted === 'auto' ? [true, false] : [v4.includeDeleted];
}

function wordsOf(
  fieldPrefix: string,
  { generation, pair, companyId, by, value }: NarrowRequest,
  cursor: string | null,
  asksDeleted: boolean,
): [string, string][] {
  const field = by === 'svc_id' ? `${fieldPrefix}id` : 'platform_id';
  const words: [string, string][] = [
    ['limit', PAGE_SIZE],
    [`${field}[eq]`, value],
  ];
  if (asksDeleted) words.push(['include_deleted_records', 'true']);
  if (generation === 'v3' && companyId !== null) {
    words.push([`${fieldPrefix}company_id[eq]`, String(companyId)]);
  }
  if (pair.expand.length > 0) words.push(['expand', pair.expand.join(',')]);
  if (cursor !== null) words.push(['next', cursor]);
  return words;
}

function isWanted(record: ParsedRecord, { by, value, companyId }: NarrowRequest): boolean {
  const found = by === 'svc_id' ? String(record.svcId) : record.platformId;
  return found === value && (companyId === null || record.companyId === companyId);
}
