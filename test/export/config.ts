import type { Config, Endpoint } from '../../src/config/config.js';
import type { ModelPair } from '../../src/domain.js';

export function pair(v3: string, v4: string | null = v3.replace('/', '_')): ModelPair {
  return { v3, v4, expand: [], children: ['line_items'], v4Guessed: false };
}

function endpoint(region: string): Endpoint {
  const limits = { pageSize: 3, concurrency: 4, requestsPerSecond: 1000 };
  return { region, baseUrl: 'http://127.0.0.1:9', keySource: 'KEY', ...limits };
}

export interface ConfigChanges {
  readonly models?: readonly ModelPair[];
  readonly regions?: readonly string[];
  readonly v3Companies?: Config['v3']['companies'];
  readonly v4Companies?: readonly bigint[];
  readonly companies?: Partial<Config['companies']>;
  readonly payload?: Config['payload'];
}

export function config(changes: ConfigChanges = {}): Config {
  const regions = (changes.regions ?? ['eu']).map(endpoint);
  const v4 = {
    ...endpoint(''),
    includeDeleted: 'auto',
    companies: changes.v4Companies ?? [],
    companyIdField: null,
  } as const;
  return {
    file: 'config.json',
    database: 'test.db',
    fieldPrefix: 'svc_',
    v3: { regions, companies: changes.v3Companies ?? [] },
    v4,
    models: changes.models ?? [pair('accounting/invoices')],
    decisions: null,
    companies: { match: 'auto', include: [], exclude: [], ...changes.companies },
    backfill: { sinceMs: null, dateFields: [] },
    http: { timeoutMs: 1, attempts: 1, maxWaitMs: 1, maxBodyBytes: 1, allowHttp: false },
    payload: changes.payload ?? 'full',
    limits: { global: {}, models: {} },
    apply: { targets: [] },
    maxAgeMs: 86_400_000,
  };
}
