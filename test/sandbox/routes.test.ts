import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { MODELS } from '../../src/sandbox/models.js';
import type { Sandbox } from '../../src/sandbox/start-sandbox.js';
import { get, getAll, getPage, getV4Companies, parseExact, type Row } from './client.js';
import { firstRegion, sandboxStarter } from './sandboxes.js';

const start = sandboxStarter();

const COMMON = [
  'svc_id',
  'svc_deleted_at',
  'svc_created_at',
  'svc_updated_at',
  'svc_company_id',
  'platform_id',
  'platform_unique_id',
];

/** Field lists of the specification: n number, i integer, s text, t timestamp, l list of text. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'accounting/bill_credit_notes': {
    n: 'total_amount remaining_credit tax_amount',
    s: 'contact_id document_number currency_id memo status',
    t: 'posted_date updated_at',
    l: 'bill_ids',
  },
  'accounting/company_info': {
    s: 'name legal_name tax_number registration_number base_currency',
    t: 'fiscal_start_at org_created_at updated_at',
  },
  'payments/items': {
    t: 'created_at updated_at',
    s: 'name description code unit_price currency_id status',
  },
  'payments/orders': { t: 'created_at', s: 'reference status currency_id', n: 'amount amount_due' },
  'payments/tax_rates': { t: 'created_at updated_at', s: 'name description', n: 'rate' },
  'ecommerce/orders': {
    s: 'currency_id reference order_name order_number description order_status payment_status customer_id',
    t: 'created_at updated_at',
    n: 'total_discount sub_total tax_amount total_amount amount_due shipping_amount',
  },
  'crm/companies': { s: 'name description industry', i: 'people_count', t: 'created_at updated_at' },
  'crm/stages': { s: 'name status pipeline_id', n: 'deal_probability', t: 'created_at updated_at' },
};

const LINE_ITEM =
  'svc_id platform_id line_item_type line_item_type_id tracking_category_ids project_id item_id tax_id account_id ' +
  'description quantity unit_amount total_amount sub_total tax_amount total_discount updated_at';
const ORDER_LINE_ITEM =
  'item_id tax_id line_item_type_id line_item_type description unit_amount quantity total_discount tax_amount ' +
  'sub_total total_amount';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/;

function isOfKind(value: unknown, kind: string): boolean {
  if (value === null) return true;
  if (kind === 'n') return typeof value === 'number';
  if (kind === 'i') return Number.isInteger(value);
  if (kind === 't') return typeof value === 'string' && ISO.test(value);
  if (kind === 'l') return Array.isArray(value) && value.every((item) => typeof item === 'string');
  return typeof value === 'string';
}

async function listV4(sandbox: Sandbox, model: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const company of await getV4Companies(sandbox)) {
    rows.push(...(await getAll(sandbox, `${sandbox.v4}/v4/core/companies/${company}/${model}`)));
  }
  return rows;
}

describe('routes', () => {
  it('serve the fields of the specification for each of its eight models, in V3 and V4', async () => {
    const sandbox = await start({ seed: 5 });
    for (const [path, kinds] of Object.entries(FIELDS)) {
      const v4 = MODELS.find((shape) => shape.v3 === path)?.v4 ?? '';
      const names = Object.values(kinds).flatMap((list) => list.split(' '));
      const rows = [
        ...(await getAll(sandbox, `${firstRegion(sandbox)}/${path}`)),
        ...(await listV4(sandbox, v4)),
      ];
      expect(rows.length).toBeGreaterThan(3);
      for (const row of rows) {
        expect(Object.keys(row).sort(), path).toEqual([...COMMON, ...names].sort());
        for (const [kind, list] of Object.entries(kinds)) {
          for (const name of list.split(' ')) expect(isOfKind(row[name], kind), `${path} ${name}`).toBe(true);
        }
      }
      for (const name of names)
        expect(
          rows.some((row) => row[name] !== null),
          name,
        ).toBe(true);
    }
  });

  it('show line items only when asked, with ids for accounting documents and without for orders', async () => {
    const sandbox = await start({ seed: 5 });
    const base = firstRegion(sandbox);
    for (const path of ['accounting/bill_credit_notes', 'accounting/invoices', 'ecommerce/orders']) {
      const plain = await getAll(sandbox, `${base}/${path}`);
      expect(plain.every((row) => row.line_items === undefined)).toBe(true);
      const rows = await getAll(sandbox, `${base}/${path}`, { expand: 'line_items' });
      const items = rows.flatMap((row) => row.line_items ?? []);
      const fields = path === 'ecommerce/orders' ? ORDER_LINE_ITEM : LINE_ITEM;
      for (const item of items) expect(Object.keys(item).sort()).toEqual(fields.split(' ').sort());
      expect(items.length).toBeGreaterThan(10);
    }
  });

  it('read one V4 record by id, deleted ones too, and no record of another company', async () => {
    const sandbox = await start({ seed: 6 });
    const [first, second] = await getV4Companies(sandbox);
    const address = `${sandbox.v4}/v4/core/companies/${first}/invoices`;
    const rows = await getAll(sandbox, address, { include_deleted_records: 'true' });
    for (const row of rows) {
      const { status, text } = await get(sandbox, `${address}/${row.svc_id}`);
      expect(status).toBe(200);
      const body = parseExact(text) as { data: Row; request_id: string };
      expect(body.data).toEqual(row);
      expect(body.request_id).toMatch(/^req_/);
      const other = `${sandbox.v4}/v4/core/companies/${second}/invoices/${row.svc_id}`;
      expect((await get(sandbox, other)).status).toBe(404);
    }
    expect(rows.some((row) => row.svc_deleted_at !== null)).toBe(true);
    expect((await get(sandbox, `${address}/999999999`)).status).toBe(404);
  });

  it('refuse a missing or wrong key, unknown routes and methods with a JSON error', async () => {
    const sandbox = await start({ seed: 8 });
    const v3 = `${firstRegion(sandbox)}/accounting/invoices`;
    const v4 = `${sandbox.v4}/v4/core/companies`;
    const call = async (address: string, key: string | null, method = 'GET') => {
      const response = await fetch(address, { method, headers: key === null ? {} : { api_key: key } });
      const body = (await response.json()) as { error: { code: string } };
      return [response.status, body.error.code];
    };
    for (const address of [v3, v4, `${sandbox.v4}/nothing`]) {
      expect(await call(address, null)).toEqual([401, 'unauthorized']);
      expect(await call(address, 'wrong')).toEqual([401, 'unauthorized']);
    }
    const { apiKey } = sandbox;
    expect(await call(`${v3}/extra`, apiKey)).toEqual([404, 'not_found']);
    expect(await call(`${firstRegion(sandbox)}/crm/nothing`, apiKey)).toEqual([404, 'not_found']);
    expect(await call(`${v4}/123456/invoices`, apiKey)).toEqual([404, 'not_found']);
    expect(await call(`${v4}/1/nothing`, apiKey)).toEqual([404, 'not_found']);
    expect(await call(v3, apiKey, 'POST')).toEqual([405, 'method_not_allowed']);
  });

  it('refuse parameters and values they do not know', async () => {
    const sandbox = await start({ seed: 8 });
    const address = `${firstRegion(sandbox)}/accounting/invoices`;
    const bad = [
      'limit=0',
      'limit=-1',
      'limit=ten',
      'page=2',
      'return_count=yes',
      'include_deleted_records=1',
      'select=everything',
      'sort[svc_created_at]=up',
      'sort[memo]=ASC',
      'memo[like]=x',
      'nothing[eq]=x',
      'svc_id[eq]=one',
      'svc_updated_at[gte]=yesterday',
      'total_amount[gt]=1',
      'next=nonsense',
      'prev=nonsense',
    ];
    for (const query of bad) expect((await get(sandbox, `${address}?${query}`)).status, query).toBe(400);
    for (const query of ['limit=null', 'next=null', 'next=', 'limit=']) {
      expect((await get(sandbox, `${address}?${query}`)).status, query).toBe(200);
    }
  });

  it('refuse the cursor of another list, query or direction', async () => {
    const sandbox = await start({ seed: 8, scale: 300 });
    const base = firstRegion(sandbox);
    const address = `${base}/accounting/invoices`;
    const query = { limit: '2', 'svc_id[gte]': '1' };
    const next = (await getPage(sandbox, address, query)).next ?? '';
    const statusOf = async (more: object, at = address) =>
      (await get(sandbox, at, { ...query, ...more })).status;
    const statuses = [
      await statusOf({ next }, `${base}/payments/items`),
      await statusOf({ prev: next }),
      await statusOf({ next, prev: next }),
      await statusOf({ next: next.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')) }),
      await statusOf({ next, 'svc_id[gte]': '2' }),
      await statusOf({ next, include_deleted_records: 'true' }),
      await statusOf({ next, 'sort[svc_created_at]': 'DESC' }),
      await statusOf({ next, 'sort[svc_updated_at]': 'ASC' }),
    ];
    expect([await statusOf({ next }), ...statuses]).toEqual([200, ...statuses.map(() => 400)]);
  });

  it('listen on 127.0.0.1 only', async () => {
    const sandbox = await start({ seed: 8 });
    const { port } = new URL(sandbox.v4);
    const failure = await new Promise<string>((resolve) => {
      const probe = request({ host: '127.0.0.2', port, path: '/' }, () => resolve('answered'));
      probe.on('error', (error) => resolve('code' in error ? String(error.code) : error.message));
      probe.end();
    });
    expect(failure).toBe('ECONNREFUSED');
  });
});
