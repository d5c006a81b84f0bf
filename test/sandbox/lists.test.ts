import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start-sandbox.js';
import { getAll, getPage, getPages, getV4Companies, type PageBody, type Row } from './client.js';
import { firstRegion, sandboxStarter } from './sandboxes.js';

const start = sandboxStarter();

const ALL = { include_deleted_records: 'true', limit: '1000' };

function ids(rows: readonly Row[]): readonly string[] {
  return rows.map(({ svc_id }) => svc_id);
}

async function v4Invoices(sandbox: Sandbox): Promise<string> {
  const [company] = await getV4Companies(sandbox);
  return `${sandbox.v4}/v4/core/companies/${company}/invoices`;
}

/** Walks back from the last page by `prev`. */
async function getPagesBack(
  sandbox: Sandbox,
  address: string,
  parameters: Readonly<Record<string, string>>,
  last: PageBody,
): Promise<readonly PageBody[]> {
  const pages = [last];
  for (let cursor = last.prev; cursor !== null; ) {
    const page = await getPage(sandbox, address, { ...parameters, prev: cursor });
    pages.unshift(page);
    cursor = page.prev;
  }
  return pages;
}

describe('lists', () => {
  it('are covered exactly once by cursors in both directions, whatever the order and the filters', async () => {
    const sandbox = await start({ seed: 11, scenario: 'ugly', scale: 400 });
    const queries: readonly Readonly<Record<string, string>>[] = [
      {},
      { include_deleted_records: 'true' },
      { 'sort[svc_created_at]': 'DESC' },
      { 'sort[svc_updated_at]': 'ASC', include_deleted_records: 'true' },
      { 'sort[svc_updated_at]': 'DESC' },
      { 'total_amount[gte]': '60000' },
      { 'status[eq]': 'paid', 'sort[svc_updated_at]': 'DESC' },
    ];
    for (const address of [`${firstRegion(sandbox)}/accounting/invoices`, await v4Invoices(sandbox)]) {
      for (const query of queries) {
        const whole = await getAll(sandbox, address, { ...query, limit: '1000' });
        const sort = Object.entries(query).find(([name]) => name.startsWith('sort')) ?? ['', 'ASC'];
        const field = sort[0].includes('updated') ? 'svc_updated_at' : 'svc_created_at';
        const times = whole.map((row) => Date.parse(row[field]) * (sort[1] === 'ASC' ? 1 : -1));
        expect(times).toEqual([...times].sort((a, b) => a - b));
        for (const limit of ['3', '20', String(whole.length || 1)]) {
          const parameters = { ...query, limit };
          const pages = await getPages(sandbox, address, parameters);
          expect(ids(pages.flatMap(({ rows }) => rows))).toEqual(ids(whole));
          expect(new Set(ids(whole)).size).toBe(whole.length);
          expect(pages[0]?.prev).toBeNull();
          const last = pages.at(-1);
          if (last === undefined) throw new Error('There is no page.');
          const back = await getPagesBack(sandbox, address, parameters, last);
          expect(back.map(({ rows }) => ids(rows))).toEqual(pages.map(({ rows }) => ids(rows)));
        }
      }
    }
  });

  it('leave deleted records out unless asked for', async () => {
    const sandbox = await start({ seed: 12 });
    for (const address of [`${firstRegion(sandbox)}/accounting/invoices`, await v4Invoices(sandbox)]) {
      const all = await getAll(sandbox, address, ALL);
      const live = await getAll(sandbox, address, { limit: '1000' });
      expect(all.some((row) => row.svc_deleted_at !== null)).toBe(true);
      expect(ids(live)).toEqual(ids(all.filter((row) => row.svc_deleted_at === null)));
    }
  });

  it('count what they list, V3 only when asked', async () => {
    const sandbox = await start({ seed: 13, scenario: 'ugly' });
    const address = `${firstRegion(sandbox)}/accounting/invoices`;
    expect((await getPage(sandbox, address)).totalCount).toBeNull();
    const [some] = await getAll(sandbox, address);
    const queries: readonly Readonly<Record<string, string>>[] = [
      {},
      { include_deleted_records: 'true' },
      { 'status[eq]': 'paid' },
      { 'svc_company_id[eq]': some?.svc_company_id ?? '' },
      { 'svc_company_id[eq]': some?.svc_company_id ?? '', include_deleted_records: 'true' },
      { 'svc_company_id[eq]': '123456789' },
    ];
    for (const query of queries) {
      for (const each of [address, await v4Invoices(sandbox)]) {
        const pages = await getPages(sandbox, each, { ...query, limit: '9', return_count: 'true' });
        const found = pages.flatMap(({ rows }) => rows).length;
        expect(pages.map(({ totalCount }) => totalCount)).toEqual(pages.map(() => found));
      }
    }
  });

  it('filter by values: ids exactly, timestamps as instants, and lists by any of their values', async () => {
    const sandbox = await start({ seed: 21, scenario: 'ugly' });
    const fields: readonly (readonly [string, string, (value: unknown) => bigint | number | string])[] = [
      ['payments/items', 'svc_id', (value) => BigInt(String(value))],
      ['payments/items', 'svc_updated_at', (value) => Date.parse(String(value))],
      ['payments/orders', 'amount', Number],
      ['payments/items', 'name', String],
      ['accounting/bill_credit_notes', 'bill_ids', String],
    ];
    for (const [path, field, read] of fields) {
      const address = `${firstRegion(sandbox)}/${path}`;
      const rows = await getAll(sandbox, address, ALL);
      const valuesOf = (row: Row) => [row[field]].flat().filter((value) => value !== null);
      const values = rows.flatMap(valuesOf);
      const operand = values[values.length >> 1];
      for (const operator of ['eq', 'gte'] as const) {
        const holds = (value: unknown) =>
          operator === 'eq' ? read(value) === read(operand) : read(value) >= read(operand);
        const wanted = rows.filter((row) => valuesOf(row).some(holds));
        const asked = await getAll(sandbox, address, { ...ALL, [`${field}[${operator}]`]: String(operand) });
        expect([wanted.length > 0, ids(asked)], `${path} ${field} ${operator}`).toEqual([true, ids(wanted)]);
      }
    }
  });
});
