import type { ModelPair, StreamKey } from '../domain.js';

type Parameter = readonly [name: string, value: string];

export interface ApiQuery {
  readonly path: readonly string[];
  readonly parameters: readonly Parameter[];
}

export interface ListRequest {
  readonly stream: StreamKey;
  /** Null for V4's list of companies. */
  readonly pair: ModelPair | null;
  /** The `next` of the previous page, or null for the first. */
  readonly cursor: string | null;
  /** V3: only records with `<prefix>updated_at` at or after this ISO 8601 time. */
  readonly updatedSince: string | null;
  /** Instead of the endpoint's page size. */
  readonly limit?: number;
}

export interface RawListRequest extends Pick<ListRequest, 'stream' | 'pair'> {
  /** Besides `expand`. */
  readonly parameters: readonly Parameter[];
}

export interface RecordRequest {
  readonly pair: ModelPair;
  readonly companyId: bigint;
  readonly svcId: bigint;
}

const COMPANIES = ['v4', 'core', 'companies'];

/** @param asksDeleted V4: whether to ask for deleted records */
export function buildList(
  request: ListRequest,
  pageSize: number,
  fieldPrefix: string,
  asksDeleted: boolean,
): ApiQuery {
  const { stream, pair, cursor, updatedSince, limit = pageSize } = request;
  const parameters: Parameter[] = [['limit', String(limit)]];
  if (pair !== null && stream.generation === 'v3') {
    parameters.push(['include_deleted_records', 'true'], ['return_count', 'true']);
    parameters.push([`sort[${fieldPrefix}created_at]`, 'ASC']);
    if (stream.companyId !== null)
      parameters.push([`${fieldPrefix}company_id[eq]`, String(stream.companyId)]);
    if (updatedSince !== null) parameters.push([`${fieldPrefix}updated_at[gte]`, updatedSince]);
  }
  parameters.push(...expandOf(pair));
  if (pair !== null && stream.generation === 'v4' && asksDeleted)
    parameters.push(['include_deleted_records', 'true']);
  if (cursor !== null) parameters.push(['next', cursor]);
  return { path: listPath(stream, pair), parameters };
}

export function buildRawList({ stream, pair, parameters }: RawListRequest): ApiQuery {
  return { path: listPath(stream, pair), parameters: [...parameters, ...expandOf(pair)] };
}

export function buildV4Record({ pair, companyId, svcId }: RecordRequest): ApiQuery {
  return { path: [...v4Path(pair, companyId), String(svcId)], parameters: expandOf(pair) };
}

function listPath({ generation, companyId }: StreamKey, pair: ModelPair | null): readonly string[] {
  if (pair === null) return COMPANIES;
  return generation === 'v3' ? pair.v3.split('/') : v4Path(pair, companyId);
}

function v4Path({ v3, v4 }: ModelPair, companyId: bigint | null): readonly string[] {
  if (companyId !== null && v4 !== null) return [...COMPANIES, String(companyId), v4];
  throw new TypeError(`V4 lists are read per company and model: ${v3}`);
}

function expandOf(pair: ModelPair | null): Parameter[] {
  return pair !== null && pair.expand.length > 0 ? [['expand', pair.expand.join(',')]] : [];
}

/** The URL of a query. Every value is encoded, so that no cursor or id can lead to another origin, path or parameter. */
export function buildUrl(baseUrl: string, query: ApiQuery): URL {
  const base = new URL(baseUrl);
  const path = query.path.map(encodeSegment).join('/');
  const url = new URL(`${base.origin}${base.pathname.replace(/\/+$/, '')}/${path}`);
  if (url.origin !== base.origin) throw new TypeError(`a URL left ${base.origin}`);
  url.search = query.parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');
  return url;
}

function encodeSegment(segment: string): string {
  if (['', '.', '..'].includes(segment)) throw new TypeError('a path may hold no empty or dot segment');
  return encode(segment);
}

/** Like encodeURIComponent, but a lone surrogate is sent as U+FFFD instead of throwing. */
function encode(text: string): string {
  return encodeURIComponent(Buffer.from(text, 'utf8').toString('utf8'));
}
