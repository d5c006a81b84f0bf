import { type HostileItem, type HostileService, startHostileService } from './hostile-service.js';
import { HOSTILE_VALUES } from './hostile-values.js';

/** Beyond what JavaScript numbers tell apart. */
export const V3_COMPANY = 2n ** 53n + 1n;
const V4_COMPANY = 2n ** 63n - 1n;

export interface HostilePair {
  readonly value: string;
  readonly v3Id: bigint;
  readonly v4Id: bigint;
  readonly v3ChildId: bigint;
  readonly v4ChildId: bigint;
}

/** A service in which every text is hostile, and what must become of it. */
export interface HostileScene {
  readonly service: HostileService;
  readonly apiKey: string;
  /** `accounting/invoices`: records of both generations, with a child each. */
  readonly pairs: readonly HostilePair[];
  /** Keys of `crm/companies`, which V4 lacks, and of `crm/stages`, which V3 lacks. */
  readonly values: readonly string[];
  config(): Readonly<Record<string, unknown>>;
  /** From now on V4 shows each invoice under the next one's key. */
  swapKeys(): void;
}

const PAGE_SIZE = 2;

/** `values` are put where the service may send text: keys, fields and their names, children, cursors, names, request ids. */
export async function openHostileScene(values: readonly string[] = HOSTILE_VALUES): Promise<HostileScene> {
  const pairs = values.map((value, at) => ({
    value,
    v3Id: 2n ** 63n - 1n - BigInt(at),
    v4Id: 2n ** 53n - 1n + BigInt(at),
    v3ChildId: -(2n ** 63n) + BigInt(at),
    v4ChildId: 2n ** 53n + 10_001n + BigInt(at),
  }));
  const lists = {
    v3: {
      'accounting/invoices': pairs.map((pair) =>
        invoice(V3_COMPANY, pair.v3Id, pair.v3ChildId, pair.value, ''),
      ),
      'crm/companies': values.map((value, at) => plain(V3_COMPANY, BigInt(1000 + at), value)),
      'crm/stages': [],
      'ecommerce/orders': values.map((value, at) =>
        plain(V3_COMPANY, BigInt(at), value, '2001-02-03T00:00:00Z'),
      ),
    },
    v4: {
      invoices: pairs.map((pair) => invoice(V4_COMPANY, pair.v4Id, pair.v4ChildId, pair.value, '!')),
      crm_companies: [],
      stages: values.map((value, at) => plain(V4_COMPANY, BigInt(5000 + at), value)),
      ecommerce_orders: [],
    },
  };
  const service = await startHostileService({
    lists,
    v4CompanyId: V4_COMPANY,
    // A cursor of 30 kB, encoded, is more than servers take.
    texts: values.filter((value) => value.length <= 1000),
  });
  const speed = { pageSize: PAGE_SIZE, concurrency: 4, requestsPerSecond: 10_000 };
  return {
    service,
    apiKey: 'hostile-canary-key',
    pairs,
    values,
    config: () => ({
      v3: { regions: { default: { baseUrl: `${service.origin}/v3` } }, ...speed },
      v4: { baseUrl: service.origin, ...speed },
      models: [
        { v3: 'accounting/invoices', v4: 'invoices', children: ['line_items'] },
        { v3: 'crm/companies', v4: 'crm_companies' },
        { v3: 'crm/stages', v4: 'stages' },
        { v3: 'ecommerce/orders', v4: 'ecommerce_orders' },
      ],
      backfill: { since: '2020-01-01T00:00:00Z' },
    }),
    swapKeys: () => {
      const invoices = pairs.map((pair, at) => {
        const next = values[(at + 1) % values.length] ?? '';
        return invoice(V4_COMPANY, pair.v4Id, pair.v4ChildId, next, '!');
      });
      service.lists = { ...lists, v4: { ...lists.v4, invoices } };
    },
  };
}

const MADE = '2026-05-06T07:08:09Z';

function invoice(company: bigint, id: bigint, childId: bigint, value: string, mark: string): HostileItem {
  const text = JSON.stringify(value);
  const child = `{"svc_id":${childId},"platform_id":${text},"description":${text}}`;
  const fields = `"document_number":${text},"memo":${JSON.stringify(value + mark)},${text}:${text}`;
  return { ...plain(company, id, value, MADE, `,${fields},"line_items":[${child}]`) };
}

function plain(company: bigint, id: bigint, value: string, date = MADE, more = ''): HostileItem {
  const text = JSON.stringify(value);
  const times = `"svc_deleted_at":null,"svc_created_at":"${MADE}","svc_updated_at":"${MADE}","created_at":"${date}"`;
  return {
    svcId: id,
    platformId: value,
    text: `{"svc_id":${id},"svc_company_id":${company},${times},"platform_id":${text},"platform_unique_id":${text},"name":${text}${more}}`,
  };
}
