import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { allowMocksOnly, createMockedApi, V3, V3_PATH, V4, V4_PATH } from './support/nock-hosts.js';
import { failureOf, until, V3_PAGE, V4_PAGE, v3Request, v4Request } from './support/test-api.js';

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

  it('of a 503 holds back all requests to the host', async () => {
    const { api, time, events } = createMockedApi();
    const start = time.clock.now();
    const asked: number[] = [];
    const answer = () => {
      asked.push(time.clock.now() - start);
      return asked.length === 1 ? [503, 'busy', { 'Retry-After': '9' }] : [200, V3_PAGE];
    };
    nock(V3).persist().get(V3_PATH).reply(answer);
    const first = api.fetchPage(v3Request());
    await until(() => events.length === 1);
    await time.run(Promise.all([first, api.fetchPage(v3Request())]));
    expect(asked.map((at) => at >= 9000)).toEqual([false, true, true]);
  });

  it('beyond the longest wait ends the request, also the last attempt, and those that follow, unasked', async () => {
    const { api, time, requests } = createMockedApi({ http: { maxWaitMs: 60_000, attempts: 1 } });
    nock(V3).get(V3_PATH).reply(429, 'busy', { 'Retry-After': '7200' });
    for (let i = 0; i < 2; i++) {
      const error = await failureOf(time.run(api.fetchPage(v3Request())));
      expect(error).toMatchObject({ code: 'wait_too_long', facts: { waitMs: 7_200_000 } });
    }
    expect(requests()).toBe(1);
  });
});

describe('two endpoints on one host', () => {
  it('share its waits, and the lower of their limits', async () => {
    const { api, time, events } = createMockedApi({ v4Url: V3, v4: { requestsPerSecond: 1 } });
    const start = time.clock.now();
    const asked: number[] = [];
    const answer = (page: string) => () => {
      asked.push(time.clock.now() - start);
      return asked.length === 1 ? [429, 'busy', { 'Retry-After': '9' }] : [200, page];
    };
    nock(V3).persist().get(V3_PATH).reply(answer(V3_PAGE)).get(V4_PATH).reply(answer(V4_PAGE));
    const first = api.fetchPage(v3Request());
    await until(() => events.length === 1);
    await time.run(Promise.all([first, api.fetchPage(v4Request())]));
    expect(asked[1]).toBeGreaterThanOrEqual(9000);
    expect(asked[2]).toBeGreaterThanOrEqual(10_000);
  });

  it('keep their own limits on two', async () => {
    const { api, time } = createMockedApi({ v4: { requestsPerSecond: 1 } });
    const start = time.clock.now();
    nock(V3).persist().get(V3_PATH).reply(200, V3_PAGE);
    for (let i = 0; i < 3; i++) await time.run(api.fetchPage(v3Request()));
    expect(time.clock.now() - start).toBeLessThan(1000);
  });
});

describe('a 429 that does not say how long to wait', () => {
  it('holds back all requests to the host for the back-off', async () => {
    const { api, time, events } = createMockedApi();
    const start = time.clock.now();
    const asked: number[] = [];
    const answer = () => {
      asked.push(time.clock.now() - start);
      return asked.length === 1 ? [429, 'slow down'] : [200, V3_PAGE];
    };
    nock(V3).persist().get(V3_PATH).reply(answer);
    const first = api.fetchPage(v3Request());
    await until(() => events.length === 1);
    await time.run(Promise.all([first, api.fetchPage(v3Request())]));
    expect(asked.map((at) => at >= 250)).toEqual([false, true, true]);
  });

  it('takes nothing from the retry budget', async () => {
    const { api, time, requests } = createMockedApi({ endpoint: { concurrency: 1 } });
    for (let page = 0; page < 5; page++) {
      nock(V3).get(V3_PATH).times(2).reply(429, 'slow down').get(V3_PATH).reply(200, V3_PAGE);
      expect((await time.run(api.fetchPage(v3Request()))).records).toHaveLength(1);
    }
    expect(requests()).toBe(15);
  });
});

describe('an outage', () => {
  it('of one host leaves the budget of the other alone', async () => {
    const { api, time } = createMockedApi({ endpoint: { concurrency: 1 } });
    nock(V3).persist().get(V3_PATH).reply(500, 'down');
    await time.run(Promise.allSettled([1, 2, 3, 4].map(() => api.fetchPage(v3Request()))));
    nock(V4).get(V4_PATH).times(2).reply(500).get(V4_PATH).reply(200, V4_PAGE);
    expect((await time.run(api.fetchPage(v4Request()))).records).toHaveLength(1);
  });

  it('is not amplified: what is retried is bounded by the successes', async () => {
    const { api, time, requests } = createMockedApi({ endpoint: { concurrency: 2 } });
    nock(V3).persist().get(V3_PATH).reply(503, 'down');
    await time.run(Promise.allSettled(Array.from({ length: 20 }, () => api.fetchPage(v3Request()))));
    // Each request once, and two rounds of three retries.
    expect(requests()).toBe(26);
  });
});
