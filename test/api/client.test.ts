import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { allowMocksOnly, createMockedApi, V3, V3_PATH, V4, V4_PATH } from './support/nock-hosts.js';
import {
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

allowMocksOnly();

describe('a list of V3', () => {
  it('is asked with its key, for gzip, and read', async () => {
    const { api, time } = createMockedApi();
    let path = '';
    nock(V3, { reqheaders: { api_key: V3_KEY, 'accept-encoding': 'gzip' } })
      .get(V3_PATH)
      .reply(({ url }: Request) => {
        path = url;
        return [200, V3_PAGE];
      });
    const page = await time.run(
      api.fetchPage(v3Request({ cursor: 'a b', updatedSince: '2026-01-01T00:00:00Z' })),
    );
    expect(page.records).toMatchObject([{ svcId: 1, platformId: 'a' }]);
    expect(page).toMatchObject({ next: null, totalCount: 1 });
    expect([...new URL(path, V3).searchParams]).toEqual([
      ['limit', '100'],
      ['include_deleted_records', 'true'],
      ['return_count', 'true'],
      ['sort[svc_created_at]', 'ASC'],
      ['svc_updated_at[gte]', '2026-01-01T00:00:00Z'],
      ['expand', 'line_items'],
      ['next', 'a b'],
    ]);
  });
});

describe('a list of V4', () => {
  it('is asked with its own key, and read', async () => {
    const { api, time } = createMockedApi();
    nock(V4, { reqheaders: { api_key: V4_KEY } })
      .get(V4_PATH)
      .reply(200, V4_PAGE);
    const page = await time.run(api.fetchPage(v4Request()));
    expect(page.records).toMatchObject([{ svcId: 1 }]);
  });

  it('holds records of its own company, whichever company was read before', async () => {
    const { api, time } = createMockedApi();
    nock(V4)
      .get(/^\/v4\/core\/companies\/[23]\/invoices\?/)
      .twice()
      .reply(200, V4_PAGE);
    const ofTwo = await time.run(api.fetchPage(v4Request()));
    const stream = { ...v4Request().stream, companyId: 3n };
    const ofThree = await time.run(api.fetchPage(v4Request({ stream })));
    expect([ofTwo.records.length, ofTwo.rejected]).toEqual([1, []]);
    expect([ofThree.records.length, ofThree.rejected]).toMatchObject([0, [{ reason: 'other_company' }]]);
  });

  it.each([
    ['auto', true],
    [true, true],
    [false, false],
  ] as const)('with includeDeleted %s asks for deleted records: %s', async (includeDeleted, asks) => {
    const { api, time } = createMockedApi({ v4: { includeDeleted } });
    let path = '';
    nock(V4)
      .get(V4_PATH)
      .reply(({ url }: Request) => {
        path = url;
        return [200, V4_PAGE];
      });
    await time.run(api.fetchPage(v4Request()));
    expect(path.includes('include_deleted_records=true')).toBe(asks);
  });

  /** V4 that refuses a parameter; what it was asked, with (1) and without (0). */
  function refusing(
    message = '{"message":"unknown parameter include_deleted_records"}',
    status = 400,
  ): number[] {
    const asked: number[] = [];
    nock(V4)
      .persist()
      .get(V4_PATH)
      .reply(({ url: path }: Request) => {
        const asks = path.includes('include_deleted_records');
        asked.push(Number(asks));
        return asks ? [status, message] : [200, V4_PAGE];
      });
    return asked;
  }

  it.each([400, 422])(
    'does without deleted records where V4 refuses them with %i, and asks no more',
    async (status) => {
      const { api, time } = createMockedApi({ v4: { includeDeleted: 'auto' } });
      const asked = refusing(undefined, status);
      await time.run(api.fetchPage(v4Request()));
      await time.run(api.fetchPage(v4Request()));
      expect(asked).toEqual([1, 0, 0]);
    },
  );

  it('takes a 400 that does not name the parameter for an error', async () => {
    const { api, time } = createMockedApi({ v4: { includeDeleted: 'auto' } });
    const asked = refusing('{"message":"busy"}');
    await expect(time.run(api.fetchPage(v4Request()))).rejects.toMatchObject({ facts: { status: 400 } });
    expect(asked).toEqual([1]);
  });

  it('does not do without them where they were demanded', async () => {
    const { api, time } = createMockedApi({ v4: { includeDeleted: true } });
    refusing();
    await expect(time.run(api.fetchPage(v4Request()))).rejects.toMatchObject({ facts: { status: 400 } });
  });
});

describe('trying again', () => {
  it.each([408, 429, 500, 502, 503, 504, 599])('after %i brings the page', async (status) => {
    const { api, time, events, requests } = createMockedApi();
    nock(V3).get(V3_PATH).twice().reply(status, 'busy').get(V3_PATH).reply(200, V3_PAGE);
    const page = await time.run(api.fetchPage(v3Request()));
    expect(page.records).toHaveLength(1);
    expect(requests()).toBe(3);
    expect(events).toEqual([
      {
        kind: 'wait',
        generation: 'v3',
        host: 'v3.example.com',
        waitMs: 250,
        reason: `V3 answered ${status}; attempt 2 of 4 follows`,
      },
      {
        kind: 'wait',
        generation: 'v3',
        host: 'v3.example.com',
        waitMs: 500,
        reason: `V3 answered ${status}; attempt 3 of 4 follows`,
      },
    ]);
  });

  it('after 200 with another body brings the page, and for ever is bad_response', async () => {
    const body = '<html><body>maintenance</body></html>';
    const { api, time } = createMockedApi();
    nock(V3).get(V3_PATH).reply(200, body).get(V3_PATH).reply(200, V3_PAGE);
    expect((await time.run(api.fetchPage(v3Request()))).records).toHaveLength(1);
    const scope = nock(V3).get(V3_PATH).times(4).reply(200, body);
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error.code).toBe('bad_response');
    expect(error.facts).toMatchObject({
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
    const { api, time } = createMockedApi();
    nock(V4).get(V4_PATH).reply(status, '{"request_id":"r-9","message":"no  such\\nthing"}');
    const error = await failureOf(time.run(api.fetchPage(v4Request())));
    expect(error).toMatchObject({ code: 'http_status', exitCode: 4 });
    expect(error.facts).toMatchObject({
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
    const { api, time } = createMockedApi();
    nock(V3).get(V3_PATH).reply(status, 'no');
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error).toMatchObject({ code: 'auth', exitCode: 3, facts: { status } });
    expect(error.hint).toContain('underscore');
    expect(error.hint).toContain('SVC_TEST_KEY');
  });

  it('ends after the last attempt, with what that one said', async () => {
    const { api, time } = createMockedApi();
    nock(V3).get(V3_PATH).times(3).reply(500).get(V3_PATH).reply(503, '{"request_id":"last"}');
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error).toMatchObject({
      code: 'unavailable',
      facts: { status: 503, request_id: 'last', attempts: 4 },
    });
    expect(time.waits.filter((ms) => ms > 1.1)).toEqual([250, 500, 1000]);
  });
});

describe('an interrupt', () => {
  const reason = new SvcError('interrupted', 'Interrupted.');

  it('ends a wait at once with its own reason', async () => {
    const { api, stop, time } = createMockedApi();
    nock(V3).get(V3_PATH).reply(500);
    const failure = failureOf(api.fetchPage(v3Request()));
    await until(() => time.waits.length === 1);
    stop.abort(reason);
    expect(await failure).toBe(reason);
  });

  it('ends a request under way', async () => {
    const { api, stop } = createMockedApi({ http: { attempts: 1 } });
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
    const { api, stop, requests } = createMockedApi();
    stop.abort(reason);
    expect(await failureOf(api.fetchPage(v3Request()))).toBe(reason);
    expect(requests()).toBe(0);
  });
});

describe('a response', () => {
  it('tells how far the clock of its service is off', async () => {
    const { api, time } = createMockedApi();
    nock(V3).get(V3_PATH).reply(200, V3_PAGE, { Date: 'Thu, 01 Jan 2026 00:10:00 GMT' });
    expect(api.clockOffsets()).toEqual([]);
    await time.run(api.fetchPage(v3Request()));
    expect(api.clockOffsets()).toEqual([{ region: 'default', clockOffsetMs: 600_000 }]);
  });
});
