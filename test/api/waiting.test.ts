import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { allowMocksOnly, createMockedApi, V3, V3_PATH, V4, V4_PATH } from './support/nock-hosts.js';
import { V3_PAGE, V4_PAGE, v3Request, v4Request } from './support/test-api.js';

allowMocksOnly();

describe('Retry-After', () => {
  it('as a date is measured on the clock of the server', async () => {
    const { api, time } = createMockedApi();
    const start = time.clock.now();
    const headers = { Date: 'Thu, 01 Jan 2026 05:00:00 GMT', 'Retry-After': 'Thu, 01 Jan 2026 05:00:20 GMT' };
    nock(V3).get(V3_PATH).reply(429, 'busy', headers).get(V3_PATH).reply(200, V3_PAGE);
    await time.run(api.fetchPage(v3Request()));
    expect(time.clock.now() - start).toBeGreaterThanOrEqual(20_000);
    expect(time.clock.now() - start).toBeLessThan(21_000);
  });
});

describe('an outage', () => {
  it('of one host leaves the budget of the other alone', async () => {
    const { api, time } = createMockedApi({ endpoint: { concurrency: 1 } });
    nock(V3).persist().get(V3_PATH).reply(500, 'down');
    await time.run(Promise.allSettled([1, 2, 3, 4].map(() => api.fetchPage(v3Request()))));
    nock(V4).get(V4_PATH).times(2).reply(500).get(V4_PATH).reply(200, V4_PAGE);
    expect((await time.run(api.fetchPage(v4Request()))).columns).toHaveLength(1);
  });
});
