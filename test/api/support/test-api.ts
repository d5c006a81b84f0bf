import type { Dispatcher } from 'undici';
import { type Api, createApi } from '../../../src/api/client.js';
import type { ListRequest } from '../../../src/api/queries.js';
import type { Config, Endpoint } from '../../../src/config/config.js';
import type { ModelPair, ProgressEvent } from '../../../src/domain.js';
import { SvcError } from '../../../src/errors.js';
import { VirtualTime } from './virtual-time.js';

export const V3_KEY = 'v3-canary-key-7Qx';
export const V4_KEY = 'v4-canary-key-9Zk';

export const PAIR: ModelPair = {
  v3: 'accounting/invoices',
  v4: 'invoices',
  expand: ['line_items'],
  children: ['line_items'],
  v4Guessed: false,
};

export interface Settings {
  readonly v3Url?: string;
  readonly v4Url?: string;
  readonly http?: Partial<Config['http']>;
  readonly v4?: Partial<Config['v4']>;
  readonly endpoint?: Partial<Endpoint>;
  readonly keys?: { readonly v3?: string; readonly v4?: string };
}

function buildTestConfig(settings: Settings = {}): Config {
  const endpoint = {
    keySource: 'SVC_TEST_KEY',
    pageSize: 100,
    concurrency: 8,
    requestsPerSecond: 1000,
    ...settings.endpoint,
  };
  return {
    file: '/nowhere/config.json',
    database: '/nowhere/job.db',
    fieldPrefix: 'svc_',
    v3: {
      regions: [{ ...endpoint, region: 'default', baseUrl: settings.v3Url ?? 'https://v3.example.com/v3' }],
      companies: [],
    },
    v4: {
      ...endpoint,
      region: '',
      baseUrl: settings.v4Url ?? 'https://v4.example.com',
      includeDeleted: 'auto',
      companies: [],
      companyIdField: null,
      ...settings.v4,
    },
    models: [PAIR],
    decisions: null,
    companies: { match: 'auto', include: [], exclude: [] },
    backfill: { sinceMs: null, dateFields: ['posted_date', 'created_at'] },
    http: {
      timeoutMs: 5000,
      attempts: 4,
      maxWaitMs: 300_000,
      maxBodyBytes: 1_048_576,
      allowHttp: false,
      ...settings.http,
    },
    payload: 'full',
    limits: { global: {}, models: {} },
    apply: { targets: [] },
    maxAgeMs: 86_400_000,
  };
}

export interface TestApi {
  readonly api: Api;
  readonly time: VirtualTime;
  readonly events: ProgressEvent[];
  readonly stop: AbortController;
}

/** A client on virtual time that draws the middle of every back-off. */
export function createTestApi(settings: Settings = {}, dispatcher?: Dispatcher): TestApi {
  const time = new VirtualTime();
  const stop = new AbortController();
  const events: ProgressEvent[] = [];
  const api = createApi({
    config: buildTestConfig(settings),
    keys: { v3: new Map([['default', settings.keys?.v3 ?? V3_KEY]]), v4: settings.keys?.v4 ?? V4_KEY },
    onProgress: (event) => events.push(event),
    signal: stop.signal,
    clock: time.clock,
    sleep: time.sleep,
    random: () => 0.5,
    ...(dispatcher === undefined ? {} : { dispatcher }),
  });
  return { api, time, events, stop };
}

export function v3Request(changes: Partial<ListRequest> = {}): ListRequest {
  const stream = { generation: 'v3', region: 'default', model: PAIR.v3, companyId: null } as const;
  return { stream, pair: PAIR, cursor: null, updatedSince: null, ...changes };
}

export function v4Request(changes: Partial<ListRequest> = {}): ListRequest {
  const stream = { generation: 'v4', region: '', model: PAIR.v3, companyId: 2n } as const;
  return { stream, pair: PAIR, cursor: null, updatedSince: null, ...changes };
}

/** The SvcError that `work` must end with. */
export async function failureOf(work: Promise<unknown>): Promise<SvcError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

export const V3_PAGE =
  '{"data":[{"svc_id":1,"svc_company_id":2,"platform_id":"a"}],"prev":null,"next":null,"total_count":1}';
export const V4_PAGE =
  '{"data":{"data":[{"svc_id":1,"svc_company_id":2,"platform_id":"a"}],"prev":null,"next":null,"total_count":1},"request_id":"r-1"}';

/** Waits, in turns of the event loop, for what other work brings about. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
