import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Answer } from './answers.js';
import { regionsOf } from './connections.js';
import type { Scenario } from './fates.js';
import type { JsonObject } from './json.js';
import { hashOf, hexOf } from './random.js';
import { buildConfig } from './ready-config.js';
import { findRoute, v3Prefix } from './routes.js';
import { createService, type Service } from './service.js';
import { buildTruth, type TruthRow } from './truth.js';
import { buildWorld, type World } from './world.js';

export interface SandboxOptions {
  readonly seed: number;
  /** 0 or absent: a free one. */
  readonly port?: number;
  /** About how many V3 records all models have together; 800 by default. */
  readonly scale?: number;
  /** `clean` passes the gate; `ugly` has everything that can go wrong in data. */
  readonly scenario?: Scenario;
  /** Normal connections; 4 in the clean scenario, 5 in the ugly one. */
  readonly companies?: number;
  /** Length of the backfill window; 90 by default. */
  readonly windowDays?: number;
  /** The service's own time, ms since 1970; by default a day in January 2026 that the seed chooses. */
  readonly now?: number;
  /** Whether companies keep their ids in V4; by default the seed decides. */
  readonly idsSurvive?: boolean;
}

/** One request as the service saw it. */
export interface RequestLogEntry {
  readonly method: string;
  /** Path and query. */
  readonly address: string;
  readonly status: number;
}

export interface Sandbox {
  /** Base address by region; requests go to `{address}/{category}/{model}`. */
  readonly v3: Readonly<Record<string, string>>;
  /** Base address; requests go to `{address}/v4/core/companies…`. */
  readonly v4: string;
  readonly apiKey: string;
  /** A configuration for `svc-migrate`; the key is expected in the two default variables. */
  config(): JsonObject;
  truth(): Iterable<TruthRow>;
  /** The last requests, at most 100,000. */
  requests(): readonly RequestLogEntry[];
  close(): Promise<void>;
}

const DEFAULT_SCALE = 800;
const DEFAULT_WINDOW_DAYS = 90;

/** Starts a V3 and V4 service on 127.0.0.1; the same options give the same service. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const scenario = options.scenario ?? 'clean';
  const world = buildWorld({
    seed: options.seed,
    scenario,
    scale: options.scale ?? DEFAULT_SCALE,
    companies: options.companies ?? (scenario === 'clean' ? 4 : 5),
    windowDays: options.windowDays ?? DEFAULT_WINDOW_DAYS,
    now: options.now,
    idsSurvive: options.idsSurvive,
    arrivals: false,
  });
  const apiKey = `sandbox-${hexOf(hashOf(options.seed, 'api_key'))}`;
  const log: RequestLogEntry[] = [];
  const service = createService({ world, apiKey, loadedShare: () => 1 });
  const server = createServer((request, response) => {
    void handle(world, service, log, request, response);
  });
  const origin = await listen(server, options.port ?? 0);
  const regions = regionsOf(scenario);
  const v3 = Object.fromEntries(regions.map((region) => [region, origin + v3Prefix(region, regions)]));
  return {
    v3,
    v4: origin,
    apiKey,
    config: () => buildConfig(world, v3, origin),
    truth: () => buildTruth(world),
    requests: () => log,
    close: () => close(server),
  };
}

async function listen(server: Server, port: number): Promise<string> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('The server has no port.');
  return `http://127.0.0.1:${address.port}`;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

async function handle(
  world: World,
  service: Service,
  log: RequestLogEntry[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://sandbox');
  const key = request.headers['api_key'];
  const answer = service({
    method: request.method ?? 'GET',
    url,
    route: findRoute(url.pathname, regionsOf(world.scenario)),
    apiKey: typeof key === 'string' ? key : undefined,
  });
  log.push({ method: request.method ?? '', address: url.pathname + url.search, status: answer.status });
  await send(response, answer);
}

async function send(response: ServerResponse, answer: Answer): Promise<void> {
  response.writeHead(answer.status, answer.headers);
  for (const piece of answer.body) {
    if (response.destroyed) return;
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
  response.end();
}
