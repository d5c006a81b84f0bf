import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

const DAY_MS = 86_400_000;
const KEY = 'newcomer-key';
/** V4's history begins this many days ago. */
const WINDOW_DAYS = 60;
const MAX_LIMIT = 100;

/** V3 path and V4 name of each model; four of the V4 names cannot be guessed from the path. */
const MODELS = {
  'accounting/invoices': 'invoices',
  'payments/items': 'payments_items',
  'payments/orders': 'paymentsOrders',
  'crm/companies': 'companies',
  'crm/stages': 'crm_stages',
} as const;
type Model = keyof typeof MODELS;

interface StoredRecord {
  readonly id: number;
  readonly platformId: string;
  readonly companyId: number;
  readonly dateMs: number;
  readonly deleted: boolean;
}

interface World {
  readonly v3: ReadonlyMap<string, readonly StoredRecord[]>;
  readonly v4: ReadonlyMap<string, readonly StoredRecord[]>;
  /** V4 id of each V3 record that V4 loaded, by `region model id`. */
  readonly twins: ReadonlyMap<string, number>;
}

const COMPANIES = [
  { region: 'eu', v3: 1, v4: 901 },
  { region: 'eu', v3: 2, v4: 902 },
  { region: 'us', v3: 1, v4: 903 },
  { region: 'us', v3: 2, v4: 904 },
] as const;

/**
 * Records of 120 days for four companies of two regions with the same ids, which number their records 1, 2, 3 … alike. V4 holds the
 * last 60 days, every stage and item, and one old record of each other model: reference data.
 */
function buildWorld(nowMs: number): World {
  const v3 = new Map<string, StoredRecord[]>();
  const v4 = new Map<string, StoredRecord[]>();
  const twins = new Map<string, number>();
  let v4Id = 5000;
  for (const company of COMPANIES) {
    for (const model of Object.keys(MODELS) as Model[]) {
      const isReference = model === 'crm/stages' || model === 'payments/items';
      const count = isReference ? 30 : 120;
      for (let n = 0; n < count; n++) {
        const isOld = !isReference && n === 119;
        const dateMs = nowMs - (isReference || isOld ? 300 - n : n) * DAY_MS - 3_600_000;
        const id = company.v3 * 1000 + n;
        const base = { platformId: String(n + 1), dateMs, deleted: n % 37 === 36 };
        push(v3, `${company.region} ${model}`, { ...base, id, companyId: company.v3 });
        if (!isReference && !isOld && dateMs < nowMs - WINDOW_DAYS * DAY_MS) continue;
        v4Id += 1;
        push(v4, `${company.v4} ${MODELS[model]}`, { ...base, id: v4Id, companyId: company.v4 });
        twins.set(`${company.region} ${model} ${id}`, v4Id);
      }
    }
  }
  return { v3, v4, twins };
}

function push(map: Map<string, StoredRecord[]>, key: string, record: StoredRecord): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [record]);
  else list.push(record);
}

function bodyOf(record: StoredRecord, key: string): object {
  const date = new Date(record.dateMs).toISOString();
  return {
    svc_id: record.id,
    svc_company_id: record.companyId,
    svc_deleted_at: record.deleted ? date : null,
    svc_created_at: date,
    svc_updated_at: date,
    platform_id: record.platformId,
    platform_unique_id: null,
    created_at: date,
    updated_at: date,
    name: `${key} ${record.platformId}`,
    reference: `R-${key}-${record.platformId}`,
  };
}

export interface NewcomerService {
  readonly origin: string;
  readonly key: string;
  readonly twins: ReadonlyMap<string, number>;
  /** Start of V4's history, ISO 8601. */
  readonly since: string;
  readonly models: typeof MODELS;
  close(): Promise<void>;
}

/**
 * A service that a newcomer may meet: two regions with equal ids, V4 names that nobody would guess, at most 100 records a page (400
 * above), 429 and 502 now and then, one cursor that expires, a V4 company list whose ids are texts one object deeper.
 */
export async function startNewcomerService(nowMs = Date.now()): Promise<NewcomerService> {
  const world = buildWorld(nowMs);
  const state = { requests: 0, hasExpired: false };
  const server = createServer((request, response) => {
    const { status, body, headers } = reply(request, world, state);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    key: KEY,
    twins: world.twins,
    since: new Date(nowMs - WINDOW_DAYS * DAY_MS).toISOString(),
    models: MODELS,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

interface Reply {
  readonly status: number;
  readonly body: object;
  readonly headers?: Record<string, string>;
}

interface ServiceState {
  requests: number;
  hasExpired: boolean;
}

function reply(request: IncomingMessage, world: World, state: ServiceState): Reply {
  const url = new URL(request.url ?? '/', 'http://service');
  if (request.headers['api_key'] !== KEY) return refuse(401, 'unknown api key');
  state.requests += 1;
  if (state.requests % 23 === 0) return { ...refuse(429, 'slow down'), headers: { 'retry-after': '0' } };
  if (state.requests % 31 === 0) return refuse(502, 'bad gateway');
  if (Number(url.searchParams.get('limit')) > MAX_LIMIT)
    return refuse(400, `limit must not exceed ${MAX_LIMIT}`);
  if (url.searchParams.has('next') && !state.hasExpired) {
    state.hasExpired = true;
    return refuse(410, 'cursor expired');
  }
  const [first, version, ...rest] = url.pathname.slice(1).split('/');
  if (version === 'v3') return replyV3(`${first} ${rest.join('/')}`, world, url);
  if (`${first}/${version}/${rest[0]}` !== 'v4/core/companies') return refuse(404, 'no such route');
  return replyV4(rest.slice(1), world, url);
}

function refuse(status: number, message: string): Reply {
  return { status, body: { error: { message } } };
}

function replyV3(list: string, world: World, url: URL): Reply {
  const records = world.v3.get(list);
  if (records === undefined) return refuse(404, 'no such model');
  const [region] = list.split(' ');
  const bodies = selectV3(records, url).map((record) => bodyOf(record, `${region}-${record.companyId}`));
  return { status: 200, body: pageOf(bodies, url) };
}

function replyV4([companyId, model, id]: readonly string[], world: World, url: URL): Reply {
  if (companyId === undefined) {
    const list = COMPANIES.map(({ v4 }) => ({
      status: 'active',
      company: { svc_id: String(v4), name: `c${v4}` },
    }));
    return { status: 200, body: { data: pageOf(list, url), request_id: 'companies' } };
  }
  const company = COMPANIES.find(({ v4 }) => String(v4) === companyId);
  const records = world.v4.get(`${companyId} ${model}`);
  if (company === undefined || records === undefined) return refuse(404, 'no such list');
  const showDeleted = id !== undefined || url.searchParams.get('include_deleted_records') === 'true';
  const shown = records.filter((record) => showDeleted || !record.deleted);
  const bodies = shown.map((record) => bodyOf(record, `${company.region}-${company.v3}`));
  if (id === undefined) return { status: 200, body: { data: pageOf(bodies, url), request_id: 'list' } };
  const body = bodies[shown.findIndex((record) => String(record.id) === id)];
  return body === undefined
    ? refuse(404, 'no such record')
    : { status: 200, body: { data: body, request_id: 'record' } };
}

function pageOf(list: readonly object[], url: URL): object {
  const limit = Number(url.searchParams.get('limit') ?? 50);
  const from = Number(
    Buffer.from(url.searchParams.get('next') ?? '', 'base64url')
      .toString()
      .replace('from:', ''),
  );
  const next = from + limit < list.length ? Buffer.from(`from:${from + limit}`).toString('base64url') : null;
  return { data: list.slice(from, from + limit), prev: null, next, total_count: null };
}

function selectV3(records: readonly StoredRecord[], url: URL): StoredRecord[] {
  const since = url.searchParams.get('svc_updated_at[gte]');
  const company = url.searchParams.get('svc_company_id[eq]');
  const showDeleted = url.searchParams.get('include_deleted_records') === 'true';
  const key = url.searchParams.get('platform_id[eq]');
  return records.filter(
    (record) =>
      (showDeleted || !record.deleted) &&
      (since === null || record.dateMs >= Date.parse(since)) &&
      (company === null || String(record.companyId) === company) &&
      (key === null || record.platformId === key),
  );
}
