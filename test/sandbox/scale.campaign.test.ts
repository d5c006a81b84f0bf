import { describe, expect, it } from 'vitest';
import { walkPages } from './client.js';
import { firstRegion, sandboxStarter } from './sandboxes.js';

const start = sandboxStarter();

describe('a service of 100,000 records', () => {
  it('streams its lists and its truth without keeping them', async () => {
    const sandbox = await start({ seed: 71, scale: 100_000 });
    const address = `${firstRegion(sandbox)}/payments/orders`;
    const before = process.memoryUsage().rss;
    let records = 0;
    const parameters = { include_deleted_records: 'true', limit: '1000', return_count: 'true' };
    for await (const page of walkPages(sandbox, address, parameters)) {
      records += page.rows.length;
      expect(page.totalCount).toBeGreaterThan(10_000);
    }
    let rows = 0;
    for (const row of sandbox.truth()) if (row.path === '') rows++;
    const grownMiB = (process.memoryUsage().rss - before) / 2 ** 20;
    process.stdout.write(`${records} records read, ${rows} rows of truth, ${grownMiB.toFixed(0)} MiB more\n`);
    expect(records).toBeGreaterThan(10_000);
    expect(rows).toBeGreaterThan(90_000);
    expect(grownMiB).toBeLessThan(150);
  });

  it('pages a late sweep without going through the list for each page', async () => {
    const sandbox = await start({ seed: 71, scale: 100_000 });
    const address = `${firstRegion(sandbox)}/accounting/invoices`;
    const parameters = { 'svc_updated_at[gte]': '2025-12-20T00:00:00Z', limit: '50', return_count: 'true' };
    const counts = new Set<number | null>();
    let found = 0;
    for await (const page of walkPages(sandbox, address, parameters)) {
      counts.add(page.totalCount);
      found += page.rows.length;
    }
    expect([...counts]).toEqual([found]);
    expect(found).toBeGreaterThan(100);
  });
});
