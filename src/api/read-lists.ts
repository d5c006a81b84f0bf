import type { Config } from '../config/config.js';
import type { ListPage, ModelPair, ParsedRecord } from '../domain.js';
import { SvcError } from '../errors.js';
import type { ListRequest, RecordRequest } from './client.js';
import { cleanRequestId, type Where } from './failures.js';
import type { Host } from './host.js';
import type { Hosts } from './hosts.js';
import { type PageParser, pageParser } from './page.js';
import { type ApiQuery, buildUrl, DATA_HASH } from './query.js';
import type { ListSpec } from './record-layout.js';
import { type RequestOptions, requestParsed } from './request.js';
import { parseSingleRecord } from './single-record.js';
import { buildV3List } from './v3.js';
import { buildV4List, buildV4Record } from './v4.js';

/** Reads one page of a list, asked for as `buildQuery` words it for the host. */
type ListReader = (
  list: Pick<ListRequest, 'stream' | 'pair'>,
  buildQuery: (host: Host) => ApiQuery,
) => Promise<ListPage>;

/** Makes the reader of all lists; it keeps one parser for all lists of a model: companies can be many. */
export function createListReader(config: Config, hosts: Hosts, settings: RequestOptions): ListReader {
  const parsers = new Map<string, PageParser>();
  return async ({ stream, pair }, buildQuery) => {
    const host = stream.generation === 'v3' ? hosts.v3.get(stream.region) : hosts.v4;
    if (host === undefined) throw new TypeError(`no region ${stream.region}`);
    const name = `${stream.generation} ${pair.v3}`;
    const parser = parsers.get(name) ?? pageParser(specOf(config, stream.generation, pair));
    parsers.set(name, parser);
    const where = whereOf(host, buildQuery(host), pair.v3, stream.companyId);
    const limit = Number(where.url.searchParams.get('limit') ?? host.endpoint.pageSize);
    const parse = (body: Uint8Array, servedMs: number | null) => ({
      ...parser(body, stream.companyId, limit),
      servedMs,
    });
    const page = await requestParsed(where, parse, settings);
    const { requestId } = page;
    return requestId === null ? page : { ...page, requestId: cleanRequestId(requestId, settings.scrub) };
  };
}

/** The dialect of the list's generation. */
export function buildListQuery(
  request: ListRequest,
  host: Host,
  config: Config,
  asksDeleted: boolean,
): ApiQuery {
  const { pageSize } = host.endpoint;
  const { path, parameters } =
    request.stream.generation === 'v3'
      ? buildV3List(request, pageSize, config.fieldPrefix)
      : buildV4List(request, pageSize, asksDeleted);
  return { path, parameters: config.drift.trustDataHash ? [...parameters, ...DATA_HASH] : parameters };
}

/** One V4 record by its id, or null where V4 has none (404). */
export async function fetchRecord(
  request: RecordRequest,
  config: Config,
  host: Host,
  settings: RequestOptions,
): Promise<ParsedRecord | null> {
  const { pair, companyId, svcId } = request;
  if (pair.v4 === null) return null;
  const query = buildV4Record(pair.v4, companyId, svcId, pair.expand);
  const spec = { ...specOf(config, 'v4', pair), companyId };
  try {
    return await requestParsed(
      whereOf(host, query, pair.v3, companyId),
      (body) => parseSingleRecord(body, spec, svcId),
      settings,
    );
  } catch (error) {
    if (error instanceof SvcError && error.code === 'http_status' && error.facts['status'] === 404)
      return null;
    throw error;
  }
}

function specOf(config: Config, generation: ListSpec['generation'], pair: ModelPair): ListSpec {
  const { dateFields } = config.backfill;
  return { generation, fieldPrefix: config.fieldPrefix, children: pair.children, dateFields };
}

function whereOf(host: Host, query: ApiQuery, model: string | null, companyId: bigint | null): Where {
  return { host, url: buildUrl(host.endpoint.baseUrl, query), model, companyId };
}
