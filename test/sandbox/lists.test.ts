import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start-sandbox.js';
import { get, getAll, getPage, getPages, getV4Companies, type PageBody, type Row } from './client.js';
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
      { 'status[ne]': 'paid', 'total_amount[lt]': '60000' },
      { 'status[eq]': 'paid', 'sort[svc_updated_at]': 'DESC' },
    ];
    for (const address of [`${firstRegion(sandbox)}/accounting/invoices`, await v4Invoices(sandbox)]) {
      for (const query of queries) {
        const whole = await getAll(sandbox, address, { ...query, limit: '1000' });
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

  it('are sorted by creation, ascending, unless asked otherwise', async () => {
    const sandbox = await start({ seed: 12 });
    const address = `${firstRegion(sandbox)}/accounting/invoices`;
    const created = (rows: readonly Row[]) => rows.map((row) => row.svc_created_at);
    const updated = (rows: readonly Row[]) => rows.map((row) => row.svc_updated_at);
    const plain = await getAll(sandbox, address, ALL);
    expect(created(plain)).toEqual([...created(plain)].sort());
    expect(await getAll(sandbox, address, { ...ALL, 'sort[svc_created_at]': 'ASC' })).toEqual(plain);
    const reversed = await getAll(sandbox, address, { ...ALL, 'sort[svc_created_at]': 'DESC' });
    expect(ids(reversed)).toEqual([...ids(plain)].reverse());
    const byUpdate = await getAll(sandbox, address, { ...ALL, 'sort[svc_updated_at]': 'ASC' });
    expect(updated(byUpdate)).toEqual([...updated(plain)].sort());
    const latestFirst = await getAll(sandbox, address, { ...ALL, 'sort[svc_updated_at]': 'DESC' });
    expect(ids(latestFirst)).toEqual([...ids(byUpdate)].reverse());
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

  it('serve limits above a thousand as a thousand, and a hundred by default', async () => {
    const sandbox = await start({ seed: 14, scale: 5000 });
    const address = `${firstRegion(sandbox)}/accounting/invoices`;
    expect((await getPage(sandbox, address)).rows).toHaveLength(100);
    expect((await getPage(sandbox, address, { limit: '100000' })).rows).toHaveLength(1000);
  });

  it('refuse the cursor of another list, order, filter or direction', async () => {
    const sandbox = await start({ seed: 15 });
    const base = firstRegion(sandbox);
    const { next } = await getPage(sandbox, `${base}/accounting/invoices`, { limit: '2' });
    const cursor = next ?? '';
    const status = async (path: string, more: Readonly<Record<string, string>>) =>
      (await get(sandbox, `${base}/${path}`, more)).status;
    expect(await status('accounting/invoices', { next: cursor, limit: '50' })).toBe(200);
    expect(await status('payments/items', { next: cursor })).toBe(400);
    expect(await status('accounting/invoices', { next: cursor, 'sort[svc_created_at]': 'DESC' })).toBe(400);
    expect(await status('accounting/invoices', { next: cursor, 'status[eq]': 'paid' })).toBe(400);
    expect(await status('accounting/invoices', { prev: cursor })).toBe(400);
    expect(await status('accounting/invoices', { next: cursor, prev: cursor })).toBe(400);
    expect(await status('accounting/invoices', { next: cursor.slice(1) })).toBe(400);
  });
});
