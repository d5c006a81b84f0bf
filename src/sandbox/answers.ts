import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Company } from './connections.js';
import { type AttemptFaults, malformedBefore, type Quirks } from './faults.js';
import { drawName } from './fields.js';
import { type JsonObject, writeJson } from './json.js';
import { badParameter, parseLimit, type Query } from './list-query.js';
import { type Page, readCursor, writeCursor } from './pages.js';
import { Draw, hashOf, mix, mixText } from './seeded-random.js';
import { writeRecord } from './stored-records.js';
import type { World } from './world.js';

/** A response before it is sent; the body is generated in pieces. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Iterable<string>;
}

/** Id of the request in V4 answers; null in V3, which has none. */
export type RequestId = string | null;

/** Answers with a page of records in the envelope of its generation. */
export function answerPage(
  world: World,
  page: Page,
  query: Query,
  requestId: RequestId,
  quirks: Quirks,
): ServiceAnswer {
  const { totalCount } = page;
  const counted = totalCount === null ? page : { ...page, totalCount: quirks.totalCount ?? totalCount };
  const write = function* (): Generator<string> {
    for (const stored of page.records) {
      const malformed = malformedBefore(quirks, mix(stored.table.hash, stored.position));
      if (malformed !== null) yield malformed;
      yield writeRecord(world, stored, query);
    }
  };
  return answerList(write(), counted, requestId);
}

/** Answers with a list of objects in the envelope of its generation. */
export function answerList(
  texts: Iterable<string>,
  { prev, next, totalCount }: Pick<Page, 'prev' | 'next' | 'totalCount'>,
  requestId: RequestId,
): ServiceAnswer {
  const tail = `],${writeJson({ prev, next, total_count: totalCount }).slice(1)}`;
  return requestId === null
    ? ok(join('{"data":[', texts, tail))
    : ok(join('{"data":{"data":[', texts, `${tail},"request_id":${writeJson(requestId)}}`));
}

/** Answers with one record in V4's envelope. */
export function answerRecord(record: string, requestId: RequestId): ServiceAnswer {
  return ok([`{"data":${record},"request_id":${writeJson(requestId)}}`]);
}

export function answerError(
  status: number,
  code: string,
  message: string,
  requestId: RequestId,
  headers: Readonly<Record<string, string>> = {},
): ServiceAnswer {
  const error: JsonObject = { error: { code, message } };
  const body = requestId === null ? error : { data: null, ...error, request_id: requestId };
  return { status, headers: { ...JSON_TYPE, ...headers }, body: [writeJson(body)] };
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

function ok(body: Iterable<string>): ServiceAnswer {
  return { status: 200, headers: JSON_TYPE, body };
}

/** Approximate size of the pieces of a body, in characters. */
const PIECE = 32_768;

function* join(head: string, texts: Iterable<string>, tail: string): Generator<string> {
  let piece = head;
  let separator = '';
  for (const text of texts) {
    piece += separator + text;
    separator = ',';
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield piece + tail;
}

/** Fingerprint in cursors of the company list, so that no other list accepts them. */
const FINGERPRINT = 0xc0;

/**
 * A page of V4's companies, by id. The specification does not define their fields: here they have their id in a field
 * that depends on the seed (`svc_id` in the clean scenario), a name, a platform and a status.
 *
 * @throws RequestError 400 for parameters other than limit, next and prev
 */
export function answerCompanies(
  world: World,
  parameters: URLSearchParams,
  requestId: RequestId,
): ServiceAnswer {
  for (const name of parameters.keys()) {
    if (!['limit', 'next', 'prev'].includes(name)) throw badParameter(name, 'unknown parameter');
  }
  const companies = world.connections
    .flatMap(({ v4 }) => v4)
    .sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const limit = parseLimit(parameters.get('limit') ?? undefined);
  const [next, prev] = [parameters.get('next'), parameters.get('prev')];
  const end = !next && prev ? readCursor('prev', prev, FINGERPRINT).ordinal : companies.length;
  const start = next ? readCursor('next', next, FINGERPRINT).ordinal : prev ? Math.max(0, end - limit) : 0;
  const page = companies.slice(start, Math.min(start + limit, end));
  const after = start + page.length;
  const write = (direction: 'next' | 'prev', ordinal: number): string =>
    writeCursor({ direction, ordinal, updatedMs: 0, totalCount: null, copy: 0 }, FINGERPRINT);
  const place = {
    prev: start > 0 ? write('prev', start) : null,
    next: after < companies.length ? write('next', after) : null,
    totalCount: companies.length,
  };
  return answerList(
    page.map((company) => writeJson(buildCompany(world, company))),
    place,
    requestId,
  );
}

const ID_FIELDS = ['svc_id', 'svc_company_id', 'id'] as const;
const PLATFORMS = ['ledgerly', 'shopwise', 'crmaster', 'büroweb'] as const;

function buildCompany({ seed, scenario, connections }: World, { id, connection }: Company): JsonObject {
  const draw = new Draw(hashOf(seed, 'company', connection));
  const field = scenario === 'clean' ? 0 : hashOf(seed, 'company id field') % ID_FIELDS.length;
  return {
    [ID_FIELDS[field] ?? 'svc_id']: id,
    name: drawName(draw),
    platform: draw.pick(PLATFORMS),
    status: connections[connection]?.kind === 'inert' ? 'pending' : 'active',
  };
}

/** One request to the service. */
export interface RequestLogEntry {
  readonly method: string;
  /** Path and query. */
  readonly address: string;
  /** 0 if no status was sent. */
  readonly status: number;
}

export interface HttpOptions {
  readonly port: number;
  readonly answer: (request: IncomingMessage, url: URL, faults: AttemptFaults) => ServiceAnswer;
  readonly faultsFor: (address: string) => AttemptFaults;
  readonly retryAfterSeconds: number;
  /** How long every answer takes. */
  readonly latencyMs: number;
  readonly quirks: Quirks;
  /** Wall clock, ms since 1970. */
  readonly clock: () => number;
  readonly onRequest: (entry: RequestLogEntry) => void;
}

/** Serves on 127.0.0.1 only. */
export async function serve(options: HttpOptions): Promise<{ origin: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    handle(options, request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('The server has no port.');
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return { origin: `http://127.0.0.1:${address.port}`, close };
}

async function handle(options: HttpOptions, request: IncomingMessage, response: ServerResponse) {
  const target = request.url ?? '/';
  const url = new URL(URL.canParse(target, 'http://sandbox') ? target : '/', 'http://sandbox');
  const address = url.pathname + url.search;
  const faults = options.faultsFor(address);
  const log = (status: number): void => options.onRequest({ method: request.method ?? '', address, status });
  if (options.latencyMs > 0) await setTimeout(options.latencyMs);
  if (faults.strikes('hang')) return log(0);
  if (faults.strikes('reset')) {
    request.socket.resetAndDestroy();
    return log(0);
  }
  const refusal = refuse(url, faults, options.retryAfterSeconds);
  const { status, headers, body } = refusal ?? options.answer(request, url, faults);
  const { clockSkew, gzip } = options.quirks;
  const dated = { ...headers, date: new Date(options.clock() + clockSkew * 1000).toUTCString() };
  log(status);
  if (faults.strikes('truncate')) {
    return truncate(response, { status, headers: dated, body }, (mixText(0, address) & 1) === 0);
  }
  if (!gzip || !String(request.headers['accept-encoding'] ?? '').includes('gzip')) {
    return send(response, { status, headers: dated, body });
  }
  const zipped = [gzipSync([...body].join(''))];
  return send(response, { status, headers: { ...dated, 'content-encoding': 'gzip' }, body: zipped });
}

function refuse(url: URL, faults: AttemptFaults, retryAfterSeconds: number): ServiceAnswer | null {
  const requestId = url.pathname.startsWith('/v4') ? 'req_refused' : null;
  if (faults.strikes('429')) {
    const headers = { 'retry-after': String(retryAfterSeconds) };
    return answerError(429, 'too_many_requests', 'Too many requests.', requestId, headers);
  }
  return faults.strikes('500') ? answerError(500, 'internal', 'Something broke.', requestId) : null;
}

interface Sent extends Omit<ServiceAnswer, 'body'> {
  readonly body: Iterable<string | Buffer>;
}

async function send(response: ServerResponse, { status, headers, body }: Sent): Promise<void> {
  response.writeHead(status, headers);
  for (const piece of body) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
  }
  response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      response.off('drain', finish).off('close', finish);
      resolve();
    };
    response.on('drain', finish).on('close', finish);
  });
}

/** Sends half of the body, with or without a Content-Length. */
function truncate(response: ServerResponse, answer: ServiceAnswer, announcesLength: boolean): void {
  const body = Buffer.from([...answer.body].join(''), 'utf8');
  const length = announcesLength ? { 'content-length': String(body.length) } : {};
  response.writeHead(answer.status, { ...answer.headers, ...length });
  response.write(body.subarray(0, body.length >>> 1), () => response.destroy());
}
