import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AttemptFaults, createFaults, type FaultSetting } from './faults.js';
import { type JsonObject, MODELS } from './models.js';
import { hashOf, hexOf, mixText } from './seeded-random.js';
import { createService, type Service, v3Prefix } from './service.js';
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
  const server = await serve({
    port: options.port ?? 0,
    faultsFor: createFaults(seed, faults),
    clock,
    answer: createService({ world, apiKey, clock, loadedShare }),
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
    backfill: { since: new Date(world.times.sinceMs).toISOString() },
    ...(world.scenario === 'clean'
      ? { limits: { outside_backfill_window: '100%', connection_inert: '100%' } }
      : {}),
  };
}

interface HttpOptions {
  readonly port: number;
  readonly answer: Service;
  readonly faultsFor: (address: string) => AttemptFaults;
  readonly clock: () => number;
}

async function serve(options: HttpOptions): Promise<{ origin: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => handle(options, request, response));
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

function handle(options: HttpOptions, request: IncomingMessage, response: ServerResponse): void {
  const target = request.url ?? '/';
  const url = new URL(URL.canParse(target, 'http://sandbox') ? target : '/', 'http://sandbox');
  const address = url.pathname + url.search;
  const faults = options.faultsFor(address);
  if (faults.strikes('hang')) return;
  if (faults.strikes('reset')) return void request.socket.resetAndDestroy();
  const { status, headers, body } = options.answer(request, url, faults);
  const isCut = faults.strikes('truncate');
  if (isCut && (mixText(0, address) & 1) === 0) response.setHeader('content-length', Buffer.byteLength(body));
  response.writeHead(status, { ...headers, date: new Date(options.clock()).toUTCString() });
  if (!isCut) return void response.end(body);
  response.write(body.slice(0, body.length >>> 1), () => response.destroy());
}
