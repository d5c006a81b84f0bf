import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type AttemptFaults, createFaults, type FaultSetting, NO_QUIRKS, type Quirks } from './faults.js';
import type { JsonObject } from './fields.js';
import { MODELS } from './models.js';
import { hashOf, hexOf, mixText } from './seeded-random.js';
import { answerError, createService, type Service, type ServiceAnswer, v3Prefix } from './service.js';
import { buildTruth, type TruthRow } from './truth.js';
import { buildWorld, regionsOf, type World, type WorldOptions } from './world.js';

export interface SandboxOptions extends Omit<WorldOptions, 'arrivals'> {
  readonly port?: number | undefined;
  readonly faults?: readonly FaultSetting[] | undefined;
  readonly quirks?: Partial<Quirks> | undefined;
  /** `Retry-After` of a 429; 1 by default. */
  readonly retryAfterSeconds?: number | undefined;
  /** How long every answer takes; 0 by default. */
  readonly latencyMs?: number | undefined;
  /** How long V4 takes to load all its data; 0 by default. */
  readonly backfillSeconds?: number | undefined;
  /** Wall clock, ms since 1970, for backfill and `mutate`. */
  readonly clock?: (() => number) | undefined;
}

export interface Sandbox {
  /** Base address by region; requests go to `{address}/{category}/{model}`. */
  readonly v3: Readonly<Record<string, string>>;
  /** Base address; requests go to `{address}/v4/core/companies…`. */
  readonly v4: string;
  readonly apiKey: string;
  /** A configuration for `svc-migrate`; without a file of the key, it is expected in the two default variables. */
  config(apiKeyFile?: string): JsonObject;
  truth(): Iterable<TruthRow>;
  /** With `isStory`: V4 loads the records of the company that it did not have until now. */
  completeFullSync(): void;
  requests(): readonly RequestLogEntry[];
  close(): Promise<void>;
}

/** Starts a V3 and V4 service on 127.0.0.1; the same options give the same service. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { seed, faults = [], clock = Date.now } = options;
  const quirks = { ...NO_QUIRKS, ...options.quirks };
  const world = buildWorld({ ...options, arrivals: faults.some(({ name }) => name === 'mutate') });
  const apiKey = `sandbox-${hexOf(hashOf(seed, 'api_key'))}`;
  const backfillMs = (options.backfillSeconds ?? 0) * 1000;
  const startedMs = clock();
  let isSynced = options.isStory !== true;
  const loadedShare = (connection: number) => {
    if (!isSynced && connection === world.connections.length - 1) return 0;
    return backfillMs === 0 ? 1 : Math.min(1, (clock() - startedMs) / backfillMs);
  };
  const log: RequestLogEntry[] = [];
  const server = await serve({
    port: options.port ?? 0,
    faultsFor: createFaults(seed, faults),
    retryAfterSeconds: options.retryAfterSeconds ?? 1,
    latencyMs: options.latencyMs ?? 0,
    quirks,
    clock,
    answer: createService({ world, apiKey, clock, quirks, loadedShare }),
    onRequest: (entry) => {
      if (log.push(entry) > 100_000) log.shift();
    },
  });
  const { origin } = server;
  const regions = regionsOf(world.scenario);
  const v3 = Object.fromEntries(regions.map((region) => [region, origin + v3Prefix(region, regions)]));
  return {
    v3,
    v4: origin,
    apiKey,
    config: (apiKeyFile) => buildConfig(world, v3, origin, apiKeyFile),
    truth: () => buildTruth(world),
    completeFullSync: () => {
      isSynced = true;
    },
    requests: () => log,
    close: server.close,
  };
}

/**
 * A configuration of `svc-migrate` for the service: its addresses, all models, the start of the backfill window and, in
 * the clean scenario, limits that its findings do not exceed.
 */
function buildConfig(
  world: World,
  v3: Readonly<Record<string, string>>,
  v4: string,
  apiKeyFile?: string,
): JsonObject {
  const keyOf = (variable: string): JsonObject =>
    apiKeyFile === undefined ? { apiKeyEnv: variable } : { apiKeyFile };
  const speed = { concurrency: 8, requestsPerSecond: 500 };
  const regions = Object.fromEntries(
    Object.entries(v3).map(([region, baseUrl]) => [region, { baseUrl, ...keyOf('SVC_MIGRATE_V3_API_KEY') }]),
  );
  return {
    v3: { regions, ...speed },
    v4: { baseUrl: v4, ...keyOf('SVC_MIGRATE_V4_API_KEY'), ...speed },
    models: MODELS.map((shape) => ({
      v3: shape.v3,
      v4: shape.v4,
      expand: shape.lineItems === 'none' ? [] : ['line_items'],
      children: shape.lineItems === 'ids' ? ['line_items'] : [],
    })),
    companies: { match: 'auto' },
    backfill: {
      since: new Date(world.times.sinceMs).toISOString(),
      dateFields: ['posted_date', 'created_at', 'updated_at', 'org_created_at'],
    },
    ...(world.scenario === 'clean'
      ? { limits: { outside_backfill_window: '100%', connection_inert: '100%' } }
      : {}),
  };
}

export interface RequestLogEntry {
  readonly method: string;
  readonly address: string;
  /** 0 if no status was sent. */
  readonly status: number;
}

interface HttpOptions {
  readonly port: number;
  readonly answer: Service;
  readonly faultsFor: (address: string) => AttemptFaults;
  readonly retryAfterSeconds: number;
  readonly latencyMs: number;
  readonly quirks: Quirks;
  readonly clock: () => number;
  readonly onRequest: (entry: RequestLogEntry) => void;
}

async function serve(options: HttpOptions): Promise<{ origin: string; close: () => Promise<void> }> {
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
  if (options.latencyMs > 0) await sleep(options.latencyMs);
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
  const isZipped = gzip && String(request.headers['accept-encoding'] ?? '').includes('gzip');
  response.writeHead(status, isZipped ? { ...dated, 'content-encoding': 'gzip' } : dated);
  response.end(isZipped ? gzipSync(body) : body);
}

function refuse(url: URL, faults: AttemptFaults, retryAfterSeconds: number): ServiceAnswer | null {
  const requestId = url.pathname.startsWith('/v4') ? 'req_refused' : null;
  if (faults.strikes('429')) {
    const headers = { 'retry-after': String(retryAfterSeconds) };
    return answerError(429, 'too_many_requests', 'Too many requests.', requestId, headers);
  }
  return faults.strikes('500') ? answerError(500, 'internal', 'Something broke.', requestId) : null;
}

function truncate(response: ServerResponse, answer: ServiceAnswer, announcesLength: boolean): void {
  const body = Buffer.from(answer.body, 'utf8');
  const length = announcesLength ? { 'content-length': String(body.length) } : {};
  response.writeHead(answer.status, { ...answer.headers, ...length });
  response.write(body.subarray(0, body.length >>> 1), () => response.destroy());
}
