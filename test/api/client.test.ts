import nock from 'nock';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import {
  createTestApi,
  failureOf,
  PAIR,
  until,
  V3_KEY,
  V3_PAGE,
  V4_KEY,
  V4_PAGE,
  v3Request,
  v4Request,
} from './support/test-api.js';

const V3 = 'https://v3.example.com';
const V4 = 'https://v4.example.com';
const V3_PATH = /^\/v3\/accounting\/invoices\?/;
const V4_PATH = /^\/v4\/core\/companies\/2\/invoices\?/;

beforeAll(() => nock.disableNetConnect());
afterEach(() => nock.cleanAll());
afterAll(() => {
  nock.enableNetConnect();
  nock.restore();
});

describe('a list of V3', () => {
  it('is asked with its key, for gzip, and read', async () => {
    const { api, time } = createTestApi();
    let path = '';
    nock(V3, { reqheaders: { api_key: V3_KEY, 'accept-encoding': 'gzip' } })
      .get(V3_PATH)
      .reply((request: Request) => {
        path = request.url;
        return [200, V3_PAGE];
      });
    const page = await time.run(
      api.fetchPage(v3Request({ cursor: 'a b', updatedSince: '2026-01-01T00:00:00Z' })),
    );
    expect(page).toMatchObject({ records: [{ svcId: 1n, platformId: 'a' }], next: null, totalCount: 1 });
    expect([...new URL(path, V3).searchParams]).toEqual([
      ['limit', '100'],
      ['include_deleted_records', 'true'],
      ['return_count', 'true'],
      ['sort[svc_created_at]', 'ASC'],
      ['expand', 'line_items'],
      ['svc_updated_at[gte]', '2026-01-01T00:00:00Z'],
      ['next', 'a b'],
    ]);
  });
});

describe('a list of V4', () => {
  it('is asked with its own key, and read', async () => {
    const { api, time } = createTestApi();
    nock(V4, { reqheaders: { api_key: V4_KEY } })
      .get(V4_PATH)
      .reply(200, V4_PAGE);
    const page = await time.run(api.fetchPage(v4Request()));
    expect(page).toMatchObject({ records: [{ svcId: 1n }], requestId: 'r-1' });
  });

  it.each([
    ['auto', true],
    [true, true],
    [false, false],
  ] as const)('with includeDeleted %s asks for deleted records: %s', async (includeDeleted, asks) => {
    const { api, time } = createTestApi({ v4: { includeDeleted } });
    let path = '';
    nock(V4)
      .get(V4_PATH)
      .reply((request: Request) => {
        path = request.url;
        return [200, V4_PAGE];
      });
    await time.run(api.fetchPage(v4Request()));
    expect(path.includes('include_deleted_records=true')).toBe(asks);
  });
});

describe('trying again', () => {
  it.each([408, 429, 500, 502, 503, 504, 599])('after %i brings the page', async (status) => {
    const { api, time, events } = createTestApi();
    nock(V3).get(V3_PATH).twice().reply(status, 'busy').get(V3_PATH).reply(200, V3_PAGE);
    const page = await time.run(api.fetchPage(v3Request()));
    expect(page.records).toHaveLength(1);
    expect(api.endpoints()[0]).toMatchObject({ requests: 3, retries: 2 });
    expect(events).toEqual([
      {
        kind: 'wait',
        host: 'v3.example.com',
        waitMs: 250,
        reason: `V3 answered ${status}; attempt 2 of 4 follows`,
      },
      {
        kind: 'wait',
        host: 'v3.example.com',
        waitMs: 500,
        reason: `V3 answered ${status}; attempt 3 of 4 follows`,
      },
    ]);
  });

  it.each([
    ['HTML', '<html><body>maintenance</body></html>'],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['an error', '{"error":"quota"}'],
    ['the other generation', V4_PAGE],
    ['a cut page', V3_PAGE.slice(0, -20)],
    ['an error as text', 'upstream connect error'],
  ])('after 200 with %s brings the page, and for ever is bad_response', async (_name, body) => {
    const { api, time } = createTestApi();
    nock(V3).get(V3_PATH).reply(200, body).get(V3_PATH).reply(200, V3_PAGE);
    expect((await time.run(api.fetchPage(v3Request()))).records).toHaveLength(1);
    const scope = nock(V3).get(V3_PATH).times(4).reply(200, body);
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error.code).toBe('bad_response');
    expect(error.facts).toMatchObject({
      method: 'GET',
      route: '/v3/accounting/invoices',
      host: 'v3.example.com',
      status: 200,
      model: PAIR.v3,
      region: 'default',
      attempts: 4,
    });
    expect(error.hint).toBeTruthy();
    expect(scope.isDone()).toBe(true);
  });

  it.each([400, 404, 405, 409, 410, 413, 414, 422, 431, 451])('does not help after %i', async (status) => {
    const { api, time } = createTestApi();
    nock(V4).get(V4_PATH).reply(status, '{"request_id":"r-9","message":"no  such\\nthing"}');
    const error = await failureOf(time.run(api.fetchPage(v4Request())));
    expect(error).toMatchObject({ code: 'http_status', exitCode: 4 });
    expect(error.facts).toMatchObject({
      method: 'GET',
      route: '/v4/core/companies/2/invoices',
      status,
      request_id: 'r-9',
      model: PAIR.v3,
      company: 2n,
      attempts: 1,
    });
    expect(time.waits).toEqual([]);
  });

  it.each([401, 403])('does not help after %i: the key, or a proxy that drops its header', async (status) => {
    const { api, time } = createTestApi();
    nock(V3).get(V3_PATH).reply(status, 'no');
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error).toMatchObject({ code: 'auth', exitCode: 3, facts: { status } });
    expect(error.hint).toContain('underscore');
    expect(error.hint).toContain('SVC_TEST_KEY');
  });

  it('ends after the last attempt, with what that one said', async () => {
    const { api, time } = createTestApi();
    nock(V3).get(V3_PATH).times(3).reply(500).get(V3_PATH).reply(503, '{"request_id":"last"}');
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error).toMatchObject({
      code: 'http_status',
      facts: { status: 503, request_id: 'last', attempts: 4 },
    });
    expect(time.waits.filter((ms) => ms > 1.1)).toEqual([250, 500, 1000]);
  });

  it('draws every wait between nothing and its cap', async () => {
    const { api, time } = createTestApi({ http: { attempts: 9 } });
    nock(V3).get(V3_PATH).times(9).reply(500);
    await failureOf(time.run(api.fetchPage(v3Request())));
    expect(time.waits.filter((ms) => ms > 1.1)).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
  });
});

describe('Retry-After', () => {
  it.each([
    ['seconds', '7'],
    ['a date', 'Thu, 01 Jan 2026 00:00:07 GMT'],
  ])('in %s holds back every stream of the host, and no other host', async (_name, header) => {
    const { api, time, events } = createTestApi({ endpoint: { concurrency: 3 } });
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
    await time.run(Promise.all([first, ...others]));
    const later = asked.filter(([host]) => host === 'V3').slice(1);
    expect(later).toHaveLength(4);
    expect(Math.min(...later.map(([, at]) => at))).toBeGreaterThanOrEqual(7000);
    expect(asked.filter(([host]) => host === 'V4')).toEqual([['V4', 0]]);
    expect(events).toEqual([
      { kind: 'wait', host: 'v3.example.com', waitMs: 7000, reason: 'V3 answered 429 and asked for it' },
    ]);
  });

  it.each(['soon', '-5', '', 'Thu, 01 Jan 2015 00:00:00 GMT', '0'])(
    '"%s" leaves it to the own back-off',
    async (header) => {
      const { api, time } = createTestApi();
      nock(V3).get(V3_PATH).reply(503, 'busy', { 'Retry-After': header }).get(V3_PATH).reply(200, V3_PAGE);
      await time.run(api.fetchPage(v3Request()));
      expect(time.waits).toContain(250);
    },
  );

  it('as a date is measured on the clock of the server', async () => {
    const { api, time } = createTestApi();
    const start = time.clock.now();
    const headers = { Date: 'Thu, 01 Jan 2026 05:00:00 GMT', 'Retry-After': 'Thu, 01 Jan 2026 05:00:20 GMT' };
    nock(V3).get(V3_PATH).reply(429, 'busy', headers).get(V3_PATH).reply(200, V3_PAGE);
    await time.run(api.fetchPage(v3Request()));
    expect(time.clock.now() - start).toBeGreaterThanOrEqual(20_000);
    expect(time.clock.now() - start).toBeLessThan(21_000);
  });

  it('beyond the longest wait ends the request, and those that follow, unasked', async () => {
    const { api, time } = createTestApi({ http: { maxWaitMs: 60_000 } });
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

describe('a 429', () => {
  it('slows down everything that follows to the same host', async () => {
    const { api, time } = createTestApi({ endpoint: { requestsPerSecond: 10 } });
    const asked: number[] = [];
    nock(V3)
      .persist()
      .get(V3_PATH)
      .reply(() => {
        asked.push(time.clock.now());
        return asked.length === 1 ? [429, 'slow down'] : [200, V3_PAGE];
      });
    await time.run(Promise.all(Array.from({ length: 6 }, () => api.fetchPage(v3Request()))));
    const last = asked.slice(-3);
    expect((last[2] ?? 0) - (last[0] ?? 0)).toBeGreaterThan(2 * 150);
  });
});

describe('an outage', () => {
  it.each([500, 429])(
    'of %i for ever costs a tenth more than asking once, once the budget is spent',
    async (status) => {
      const { api, time } = createTestApi({ endpoint: { concurrency: 4 } });
      nock(V3).persist().get(V3_PATH).reply(status, 'down');
      const budget = 4 * 3;
      const streams = 300;
      const outcomes = await time.run(
        Promise.allSettled(Array.from({ length: streams }, () => api.fetchPage(v3Request()))),
      );
      expect(outcomes.every((outcome) => outcome.status === 'rejected')).toBe(true);
      const requests = api.endpoints()[0]?.requests ?? 0;
      expect(requests).toBeLessThanOrEqual(streams * 1.1 + budget);
      expect(requests).toBeGreaterThanOrEqual(streams);
    },
  );

  it('of one host leaves the budget of the other alone', async () => {
    const { api, time } = createTestApi({ endpoint: { concurrency: 1 } });
    nock(V3).persist().get(V3_PATH).reply(500, 'down');
    await time.run(Promise.allSettled([1, 2, 3, 4].map(() => api.fetchPage(v3Request()))));
    nock(V4).get(V4_PATH).times(2).reply(500).get(V4_PATH).reply(200, V4_PAGE);
    expect((await time.run(api.fetchPage(v4Request()))).records).toHaveLength(1);
  });
});

describe('redirects', () => {
  it.each([
    [301, 'https://evil.example.net/take?key=1', 'evil.example.net'],
    [302, '//evil.example.net/', 'evil.example.net'],
    [303, '/v3/elsewhere', 'v3.example.com'],
    [307, 'http://v3.example.com/plain', 'v3.example.com'],
    [308, 'https://user:secret@evil.example.net:8443/', 'evil.example.net:8443'],
    [302, 'http://[', 'an unnamed place'],
    [300, undefined, 'an unnamed place'],
    [304, undefined, 'an unnamed place'],
  ])('%i to %s is an error that names %s', async (status, location, target) => {
    const { api, time } = createTestApi();
    nock(V3)
      .get(V3_PATH)
      .reply(status, 'moved', location === undefined ? {} : { Location: location });
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error).toMatchObject({ code: 'redirect', exitCode: 2 });
    expect(error.message).toContain(target);
    expect(error.message).not.toContain('secret');
    expect(api.endpoints()[0]?.requests).toBe(1);
  });
});

describe('the key', () => {
  it('appears in no error, however the server echoes it', async () => {
    const echoes = [
      V3_KEY,
      encodeURIComponent(V3_KEY),
      Buffer.from(V3_KEY).toString('base64'),
      V3_KEY.toUpperCase(),
    ];
    const { api, time } = createTestApi({ http: { attempts: 1 } });
    for (const echo of echoes) {
      for (const status of [200, 302, 400, 401, 404, 429, 500]) {
        const body = `{"request_id":"${echo}","error":"bad key ${echo}","data":"${echo}"}`;
        const headers = {
          Location: `https://${echo}.example.net/${echo}`,
          'Retry-After': echo,
          'X-Echo': echo,
        };
        nock(V3).get(V3_PATH).reply(status, body, headers);
        const error = await failureOf(time.run(api.fetchPage(v3Request())));
        const told = [
          error.message,
          error.hint,
          error.stack,
          ...Object.values(error.facts),
          String(error.cause),
        ];
        expect(told.join('\n').toLowerCase()).not.toContain(V3_KEY.toLowerCase());
        expect(told.join('\n')).not.toContain(Buffer.from(V3_KEY).toString('base64'));
      }
    }
  });

  it('of V3 that V4 echoes is hidden too', async () => {
    const { api, time } = createTestApi();
    nock(V4).get(V4_PATH).reply(400, `you are ${V3_KEY}`);
    const error = await failureOf(time.run(api.fetchPage(v4Request())));
    expect(error.facts['answer']).toBe('you are [key]');
  });

  it('that is missing matters only to the generation that is asked', async () => {
    const { api, time } = createTestApi({ keys: { v4: '' } });
    nock(V3).get(V3_PATH).reply(200, V3_PAGE);
    expect((await time.run(api.fetchPage(v3Request()))).records).toHaveLength(1);
    const error = await failureOf(time.run(api.fetchPage(v4Request())));
    expect(error).toMatchObject({ code: 'config', exitCode: 2 });
    expect(error.hint).toContain('SVC_TEST_KEY');
  });

  it.each(['two words', 'line\nbreak', 'tab\t', 'ünïcode', '\u0000'])(
    '%j cannot be sent, and is not shown',
    async (key) => {
      const { api, time } = createTestApi({ keys: { v3: key } });
      const error = await failureOf(time.run(api.fetchPage(v3Request())));
      expect(error.code).toBe('config');
      expect(`${error.message}${error.hint}`).not.toContain(key);
    },
  );
});

describe('base URLs', () => {
  it.each([
    'http://api.example.com/v3',
    'http://localhost.example.com',
    'http://127.0.0.1.example.com',
    'http://[::2]',
    'ftp://api.example.com',
    'https://user:pass@api.example.com',
    'https://user@api.example.com',
    'api.example.com',
    '',
  ])('%s is refused', (v3Url) => {
    expect(() => createTestApi({ v3Url })).toThrow(expect.objectContaining({ code: 'config' }));
  });

  it.each(['http://127.0.0.1:9', 'http://127.9.9.9', 'http://localhost:9', 'http://[::1]:9'])(
    '%s is loopback',
    (v3Url) => {
      expect(() => createTestApi({ v3Url })).not.toThrow();
    },
  );

  it('may be plain http where that is allowed by name', () => {
    expect(() => createTestApi({ v3Url: 'http://api.example.com', http: { allowHttp: true } })).not.toThrow();
  });
});

describe('an interrupt', () => {
  const reason = new SvcError('interrupted', 'Interrupted.');

  it('ends a wait at once with its own reason', async () => {
    const { api, stop, time } = createTestApi();
    nock(V3).get(V3_PATH).reply(500);
    const failure = failureOf(api.fetchPage(v3Request()));
    await until(() => time.waits.length === 1);
    stop.abort(reason);
    expect(await failure).toBe(reason);
  });

  it('ends a request under way', async () => {
    const { api, stop } = createTestApi({ http: { attempts: 1 } });
    let asked = false;
    const delayed = nock(V3).get(V3_PATH).delay(60_000);
    delayed.reply(200, V3_PAGE).on('request', () => {
      asked = true;
    });
    const failure = failureOf(api.fetchPage(v3Request()));
    await until(() => asked);
    stop.abort(reason);
    expect(await failure).toBe(reason);
    nock.abortPendingRequests();
  });

  it('lets no further request out', async () => {
    const { api, stop } = createTestApi();
    stop.abort(reason);
    expect(await failureOf(api.fetchPage(v3Request()))).toBe(reason);
    expect(api.endpoints()[0]?.requests).toBe(0);
  });
});

describe('what an endpoint tells', () => {
  it('is its load and how far its clock is off', async () => {
    const { api, time } = createTestApi();
    nock(V3).get(V3_PATH).reply(200, V3_PAGE, { Date: 'Thu, 01 Jan 2026 00:10:00 GMT' });
    expect(api.endpoints().map((one) => one.clockOffsetMs)).toEqual([null, null]);
    await time.run(api.fetchPage(v3Request()));
    expect(api.endpoints()).toEqual([
      {
        generation: 'v3',
        region: 'default',
        host: 'v3.example.com',
        requests: 1,
        retries: 0,
        clockOffsetMs: 600_000,
      },
      { generation: 'v4', region: '', host: 'v4.example.com', requests: 0, retries: 0, clockOffsetMs: null },
    ]);
  });
});
