import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { allowMocksOnly, createMockedApi, V3, V3_PATH, V4, V4_PATH } from './support/nock-hosts.js';
import { failureOf, PAIR, until, V3_PAGE, V4_PAGE, v3Request, v4Request } from './support/test-api.js';

allowMocksOnly();

describe('Retry-After', () => {
  it.each([
    ['seconds', '7'],
    ['a date', 'Thu, 01 Jan 2026 00:00:07 GMT'],
  ])('in %s holds back every stream of the host, and no other host', async (_name, header) => {
    const { api, time, events } = createMockedApi({ endpoint: { concurrency: 3 } });
    const start = time.clock.now();
    const asked: [string, number][] = [];
    let refused = 0;
    nock(V3)
      .get(V3_PATH)
      .times(20)
      .reply(() => {
        asked.push(['V3', time.clock.now() - start]);
        return refused++ === 0 ? [429, 'slow down', { 'Retry-After': header }] : [200, V3_PAGE];
      });
    nock(V4)
      .get(V4_PATH)
      .times(20)
      .reply(() => {
        asked.push(['V4', time.clock.now() - start]);
        return [200, V4_PAGE];
      });
    const first = api.fetchPage(v3Request());
    await until(() => events.length === 1);
    const others = [v3Request(), v3Request(), v3Request(), v4Request()].map((request) =>
      api.fetchPage(request),
    );
    await until(() => asked.some(([host]) => host === 'V4'));
    await time.run(Promise.all([first, ...others]));
    const later = asked.filter(([host]) => host === 'V3').slice(1);
    expect(later).toHaveLength(4);
    expect(Math.min(...later.map(([, at]) => at))).toBeGreaterThanOrEqual(7000);
    expect(asked.filter(([host]) => host === 'V4')).toEqual([['V4', 0]]);
    expect(events).toEqual([
      {
        kind: 'wait',
        generation: 'v3',
        host: 'v3.example.com',
        waitMs: 7000,
        reason: 'V3 answered 429 and asked for it',
      },
    ]);
  });

  it('as a date is measured on the clock of the server', async () => {
    const { api, time } = createMockedApi();
    const start = time.clock.now();
    const headers = { Date: 'Thu, 01 Jan 2026 05:00:00 GMT', 'Retry-After': 'Thu, 01 Jan 2026 05:00:20 GMT' };
    nock(V3).get(V3_PATH).reply(429, 'busy', headers).get(V3_PATH).reply(200, V3_PAGE);
    await time.run(api.fetchPage(v3Request()));
    expect(time.clock.now() - start).toBeGreaterThanOrEqual(20_000);
    expect(time.clock.now() - start).toBeLessThan(21_000);
  });

  it('beyond the longest wait ends the request, and those that follow, unasked', async () => {
    const { api, time } = createMockedApi({ http: { maxWaitMs: 60_000 } });
    nock(V3).get(V3_PATH).reply(429, 'busy', { 'Retry-After': '7200' });
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error).toMatchObject({
      code: 'wait_too_long',
      exitCode: 4,
      facts: { waitMs: 7_200_000, model: PAIR.v3 },
    });
    expect(error.message).toContain('7200 s');
    expect((await failureOf(time.run(api.fetchPage(v3Request())))).code).toBe('wait_too_long');
    expect(api.endpoints()[0]?.requests).toBe(1);
    expect(time.waits).toEqual([]);
  });
});

describe('two endpoints on one host', () => {
  it('share its limits and its waits', async () => {
    const { api, time, events } = createMockedApi({ v4Url: V3 });
    const start = time.clock.now();
    nock(V3).get(V3_PATH).reply(429, 'busy', { 'Retry-After': '9' }).get(V3_PATH).reply(200, V3_PAGE);
    let askedAt = 0;
    nock(V3)
      .get(V4_PATH)
      .reply(() => {
        askedAt = time.clock.now();
        return [200, V4_PAGE];
      });
    const first = api.fetchPage(v3Request());
    await until(() => events.length === 1);
    await time.run(Promise.all([first, api.fetchPage(v4Request())]));
    expect(askedAt - start).toBeGreaterThanOrEqual(9000);
  });
});

describe('a 429', () => {
  it('slows down everything that follows to the same host', async () => {
    const { api, time } = createMockedApi({ endpoint: { requestsPerSecond: 10 } });
    const asked: number[] = [];
    nock(V3)
      .persist()
      .get(V3_PATH)
      .reply(() => {
        asked.push(time.clock.now());
        return asked.length === 1 ? [429, 'slow down'] : [200, V3_PAGE];
      });
    await time.run(Promise.all(Array.from({ length: 40 }, () => api.fetchPage(v3Request()))));
    const gaps = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
    expect(Math.max(...gaps)).toBeGreaterThan(180);
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
