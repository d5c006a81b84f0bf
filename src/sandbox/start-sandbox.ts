import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type JsonObject, MODELS } from './models.js';
import { hashOf, hexOf } from './seeded-random.js';
import { createFaults, createService, type FaultSetting, type ServiceAnswer, v3Prefix } from './service.js';
import { buildTruth, type TruthRow } from './truth.js';
import { buildWorld, regionsOf, type World, type WorldOptions } from './world.js';

export interface SandboxOptions extends Omit<WorldOptions, 'arrivals'> {
  readonly port?: number | undefined;
  readonly faults?: readonly FaultSetting[] | undefined;
  readonly backfillSeconds?: number | undefined;
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
  close(): Promise<void>;
}

/** Starts a V3 and V4 service on 127.0.0.1; the same options give the same service. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { seed, faults = [], clock = Date.now } = options;
  const world = buildWorld({ ...options, arrivals: faults.some(({ name }) => name === 'mutate') });
  const apiKey = `sandbox-${hexOf(hashOf(seed, 'api_key'))}`;
  const backfillMs = (options.backfillSeconds ?? 0) * 1000;
  const startedMs = clock();
  let isSynced = options.isStory !== true;
  const loadedShare = (connection: number) => {
    if (!isSynced && connection === world.connections.length - 1) return 0;
    return backfillMs === 0 ? 1 : Math.min(1, (clock() - startedMs) / backfillMs);
  };
  const faultsFor = createFaults(seed, faults);
  const answer = createService({ world, apiKey, clock, loadedShare });
  const server = createServer((request, response) => {
    const target = request.url ?? '/';
    const url = new URL(URL.canParse(target, 'http://sandbox') ? target : '/', 'http://sandbox');
    const strikes = faultsFor(url.pathname + url.search);
    if (strikes('hang')) return;
    if (strikes('reset')) return void request.socket.resetAndDestroy();
    response.setHeader('date', new Date(clock()).toUTCString());
    send(answer(request, url, strikes), response, strikes('truncate'));
  });
  const origin = `http://127.0.0.1:${await listen(server, options.port ?? 0)}`;
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
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
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
    backfill: { since: new Date(world.times.sinceMs).toISOString() },
    ...(world.scenario === 'clean'
      ? { limits: { outside_backfill_window: '100%', connection_inert: '100%' } }
      : {}),
  };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('The server has no port.');
  return address.port;
}

/** @param isCut half of the body, in a chunked body or one of a given length */
function send({ status, headers, body }: ServiceAnswer, response: ServerResponse, isCut: boolean): void {
  const size = Buffer.byteLength(body);
  if (isCut && size % 2 === 0) response.setHeader('content-length', size);
  response.writeHead(status, headers);
  if (!isCut) return void response.end(body);
  response.write(body.slice(0, body.length >>> 1), () => response.destroy());
}
