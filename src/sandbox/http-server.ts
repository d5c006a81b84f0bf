import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Answer, answerError } from './answers.js';
import type { AttemptFaults } from './faults.js';
import { dateHeader, encodeBody, type Quirks } from './quirks.js';
import { mixText } from './random.js';

/** One request as the service saw it. */
export interface RequestLogEntry {
  readonly method: string;
  /** Path and query. */
  readonly address: string;
  /** 0 where no status was sent. */
  readonly status: number;
}

export interface HttpOptions {
  readonly port: number;
  readonly answer: (request: IncomingMessage, url: URL, faults: AttemptFaults) => Answer;
  readonly faultsFor: (address: string) => AttemptFaults;
  readonly retryAfterSeconds: number;
  readonly quirks: Quirks;
  /** Wall clock, ms since 1970. */
  readonly clock: () => number;
  readonly onRequest: (entry: RequestLogEntry) => void;
}

/** Serves on 127.0.0.1 only. */
export async function serve(options: HttpOptions): Promise<{ origin: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    handle(options, request, response).catch((error: unknown) => response.destroy(asError(error)));
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('The server has no port.');
  return { origin: `http://127.0.0.1:${address.port}`, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

async function handle(options: HttpOptions, request: IncomingMessage, response: ServerResponse) {
  const target = request.url ?? '/';
  const url = new URL(URL.canParse(target, 'http://sandbox') ? target : '/', 'http://sandbox');
  const address = url.pathname + url.search;
  const faults = options.faultsFor(address);
  const log = (status: number): void => options.onRequest({ method: request.method ?? '', address, status });
  if (faults.strikes('hang')) return log(0);
  if (faults.strikes('reset')) {
    request.socket.resetAndDestroy();
    return log(0);
  }
  const refusal = refuse(url, faults, options.retryAfterSeconds);
  const plain = refusal ?? options.answer(request, url, faults);
  const headers = { ...plain.headers, ...dateHeader(options.quirks, options.clock()) };
  const answer = { ...plain, headers };
  log(answer.status);
  if (faults.strikes('truncate')) return truncate(response, answer, (mixText(0, address) & 1) === 0);
  const encoded = encodeBody(options.quirks, request.headers['accept-encoding'], answer.body);
  await send(response, answer.status, { ...headers, ...encoded.headers }, encoded.body);
}

function refuse(url: URL, faults: AttemptFaults, retryAfterSeconds: number): Answer | null {
  const requestId = url.pathname.startsWith('/v4') ? 'req_refused' : null;
  if (faults.strikes('429')) {
    const headers = { 'retry-after': String(retryAfterSeconds) };
    return answerError(429, 'too_many_requests', 'Too many requests.', requestId, headers);
  }
  return faults.strikes('500') ? answerError(500, 'internal', 'Something broke.', requestId) : null;
}

async function send(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Iterable<string | Buffer>,
): Promise<void> {
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

/** Cuts the body in the middle, with or without having said how long it would be. */
function truncate(response: ServerResponse, answer: Answer, announcesLength: boolean): void {
  const body = Buffer.from([...answer.body].join(''), 'utf8');
  const length = announcesLength ? { 'content-length': String(body.length) } : {};
  response.writeHead(answer.status, { ...answer.headers, ...length });
  response.write(body.subarray(0, body.length >>> 1), () => response.destroy());
}
