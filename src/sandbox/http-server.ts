import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { answerError, type ServiceAnswer } from './answers.js';
import type { AttemptFaults } from './faults.js';
import type { Quirks } from './quirks.js';
import { mixText } from './seeded-random.js';

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
