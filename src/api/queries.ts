import type { ModelPair, StreamKey } from '../domain.js';

type Parameter = readonly [name: string, value: string];

/** The path below the base URL and the parameters of a request, not encoded. */
export interface ApiQuery {
  /** Segments; none may be `.` or `..`. */
  readonly path: readonly string[];
  readonly parameters: readonly Parameter[];
}

/** The model of V4's list of companies, which is read like any other list. */
export const COMPANY_LIST = 'core/companies';

/** One page of a list. */
export interface ListRequest {
  readonly stream: StreamKey;
  /** Null for V4's list of companies. */
  readonly pair: ModelPair | null;
  /** The `next` of the previous page, or null for the first. */
  readonly cursor: string | null;
  /** V3: only records with `<prefix>updated_at` at or after this ISO 8601 time. */
  readonly updatedSince: string | null;
}

/** One page of a list with the caller's own parameters and no others. */
export interface RawListRequest {
  readonly stream: StreamKey;
  readonly pair: ModelPair;
  readonly parameters: readonly Parameter[];
}

/** One V4 record by its id. */
export interface RecordRequest {
  readonly pair: ModelPair;
  readonly companyId: bigint;
  readonly svcId: bigint;
}

const COMPANIES = ['v4', 'core', 'companies'];

/** V3's list request: `{baseUrl}/{category}/{model}`. A cursor is added to the same parameters. */
export function buildV3List(request: ListRequest, pageSize: number, fieldPrefix: string): ApiQuery {
  const { stream, pair, cursor, updatedSince } = request;
  const parameters: Parameter[] = [
    ['limit', String(pageSize)],
    ['include_deleted_records', 'true'],
    ['return_count', 'true'],
    [`sort[${fieldPrefix}created_at]`, 'ASC'],
    ...expandOf(pair),
  ];
  if (stream.companyId !== null) parameters.push([`${fieldPrefix}company_id[eq]`, String(stream.companyId)]);
  if (updatedSince !== null) parameters.push([`${fieldPrefix}updated_at[gte]`, updatedSince]);
  return { path: pair.v3.split('/'), parameters: [...parameters, ...nextOf(cursor)] };
}

/** V4's list request: `{baseUrl}/v4/core/companies/{companyId}/{data_model}`. */
export function buildV4List(
  { stream, pair, cursor }: ListRequest,
  pageSize: number,
  includeDeleted: boolean,
): ApiQuery {
  const deleted: Parameter[] = includeDeleted ? [['include_deleted_records', 'true']] : [];
  const parameters: Parameter[] = [['limit', String(pageSize)], ...expandOf(pair), ...deleted];
  return { path: v4Path(pair, stream.companyId), parameters: [...parameters, ...nextOf(cursor)] };
}

/** A list request with the given parameters. In V4, the company is part of the path. */
export function buildRawList({ stream, pair, parameters }: RawListRequest): ApiQuery {
  const path = stream.generation === 'v3' ? pair.v3.split('/') : v4Path(pair, stream.companyId);
  return { path, parameters };
}

/** V4's single-record read. */
export function buildV4Record({ pair, companyId, svcId }: RecordRequest): ApiQuery {
  return { path: [...v4Path(pair, companyId), String(svcId)], parameters: expandOf(pair) };
}

/** V4's company list. */
export function buildV4Companies(pageSize: number, cursor: string | null): ApiQuery {
  return { path: COMPANIES, parameters: [['limit', String(pageSize)], ...nextOf(cursor)] };
}

function v4Path({ v3, v4 }: ModelPair, companyId: bigint | null): readonly string[] {
  if (companyId !== null && v4 !== null) return [...COMPANIES, String(companyId), v4];
  throw new TypeError(`V4 lists are read per company and model: ${v3}`);
}

function expandOf({ expand }: ModelPair): Parameter[] {
  return expand.length > 0 ? [['expand', expand.join(',')]] : [];
}

function nextOf(cursor: string | null): Parameter[] {
  return cursor === null ? [] : [['next', cursor]];
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
