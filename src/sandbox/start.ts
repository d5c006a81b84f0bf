import { regionsOf } from './connections.js';
import { type EventLogEntry, type Schedule, startEvents } from './events.js';
import type { Scenario } from './fate.js';
import { createFaults, type FaultSetting } from './faults.js';
import { type RequestLogEntry, serve } from './http-server.js';
import type { JsonObject } from './json.js';
import { NO_QUIRKS, type Quirks } from './quirks.js';
import { hashOf, hexOf } from './random.js';
import { buildConfig } from './ready-config.js';
import { findRoute, v3Prefix } from './routes.js';
import { createService } from './service.js';
import { buildTruth, type TruthRow } from './truth.js';
import { buildWorld, type World } from './world.js';

export interface SandboxOptions {
  readonly seed: number;
  /** 0 or absent: a free one. */
  readonly port?: number | undefined;
  /** About how many V3 records all models have together; 800 by default. */
  readonly scale?: number | undefined;
  /** `clean` passes the gate; `ugly` has everything that can go wrong in data. */
  readonly scenario?: Scenario | undefined;
  /** Normal connections; 4 in the clean scenario, 5 in the ugly one. */
  readonly companies?: number | undefined;
  /** Length of the backfill window, at least 7; 90 by default. */
  readonly windowDays?: number | undefined;
  /** The service's own time, ms since 1970; by default a day in January 2026 that the seed chooses. */
  readonly now?: number | undefined;
  /** Whether companies keep their ids in V4; by default the seed decides. */
  readonly idsSurvive?: boolean | undefined;
  readonly faults?: readonly FaultSetting[] | undefined;
  readonly quirks?: Partial<Quirks> | undefined;
  /** What a 429 asks for; 1 by default. */
  readonly retryAfterSeconds?: number | undefined;
  /** How long V4 takes from holding nothing to holding everything; 0 by default. */
  readonly backfillSeconds?: number | undefined;
  /** Where webhook events are posted. */
  readonly eventsUrl?: string | undefined;
  /** Wall clock, ms since 1970, for what happens while the service runs: backfill, events, `mutate`. */
  readonly clock?: (() => number) | undefined;
  readonly schedule?: Schedule | undefined;
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
  /** The webhook events that were sent. */
  events(): readonly EventLogEntry[];
  close(): Promise<void>;
}

const DEFAULT_SCALE = 800;
const DEFAULT_WINDOW_DAYS = 90;
const LONGEST_LOG = 100_000;

/** Starts a V3 and V4 service on 127.0.0.1; the same options give the same service. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { seed, faults = [], clock = Date.now } = options;
  const quirks = { ...NO_QUIRKS, ...options.quirks };
  const world = buildWorldFor(options);
  const regions = regionsOf(world.scenario);
  const apiKey = `sandbox-${hexOf(hashOf(seed, 'api_key'))}`;
  const backfillMs = (options.backfillSeconds ?? 0) * 1000;
  const startedMs = clock();
  const service = createService({
    world,
    apiKey,
    clock,
    quirks,
    loadedShare: () => (backfillMs === 0 ? 1 : Math.min(1, (clock() - startedMs) / backfillMs)),
  });
  const log: RequestLogEntry[] = [];
  const server = await serve({
    port: options.port ?? 0,
    faultsFor: createFaults(seed, faults),
    retryAfterSeconds: options.retryAfterSeconds ?? 1,
    quirks,
    clock,
    answer: (request, url, attemptFaults) =>
      service({
        method: request.method ?? '',
        url,
        route: findRoute(url.pathname, regions),
        apiKey: request.headers['api_key'],
        faults: attemptFaults,
      }),
    onRequest: (entry) => {
      if (log.push(entry) > LONGEST_LOG) log.shift();
    },
  });
  const events = startEventsFor(options, world, backfillMs, clock);
  const { origin } = server;
  const v3 = Object.fromEntries(regions.map((region) => [region, origin + v3Prefix(region, regions)]));
  return {
    v3,
    v4: origin,
    apiKey,
    config: () => buildConfig(world, v3, origin),
    truth: () => buildTruth(world),
    requests: () => log,
    events: () => events.log,
    close: () => {
      events.stop();
      return server.close();
    },
  };
}

function buildWorldFor(options: SandboxOptions): World {
  const scenario = options.scenario ?? 'clean';
  return buildWorld({
    seed: options.seed,
    scenario,
    scale: options.scale ?? DEFAULT_SCALE,
    companies: options.companies ?? (scenario === 'clean' ? 4 : 5),
    windowDays: options.windowDays ?? DEFAULT_WINDOW_DAYS,
    now: options.now,
    idsSurvive: options.idsSurvive,
    arrivals: (options.faults ?? []).some(({ name }) => name === 'mutate'),
  });
}

function startEventsFor(
  { eventsUrl, schedule = scheduleByTimer }: SandboxOptions,
  world: World,
  backfillMs: number,
  now: () => number,
): ReturnType<typeof startEvents> {
  if (eventsUrl === undefined) return { log: [], stop: () => {} };
  return startEvents({ world, url: eventsUrl, backfillMs, now, schedule });
}

function scheduleByTimer(delayMs: number, work: () => void): () => void {
  const timer = setTimeout(work, delayMs);
  return () => clearTimeout(timer);
}
