import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { allowMocksOnly, createMockedApi, V4 } from './support/nock-hosts.js';
import { failureOf, PAIR } from './support/test-api.js';

const COMPANIES = '/v4/core/companies';

allowMocksOnly();

/** Answers every request for the list, whose address is given, with a status and a body. */
function replyToCompanies(answer: (path: string) => [status: number, body: string]): void {
  nock(V4)
    .persist()
    .get((path) => path.startsWith(`${COMPANIES}?`))
    .reply(answer);
}

/** Serves the pages by cursor; the first has none. */
function serveCompanies(pages: Readonly<Record<string, string>>): string[] {
  const asked: string[] = [];
  replyToCompanies((path) => {
    const cursor = new URL(path, V4).searchParams.get('next') ?? '';
    asked.push(cursor);
    return [200, pages[cursor] ?? '{"error":"no such page"}'];
  });
  return asked;
}

describe('the V4 company list', () => {
  it.each([
    [
      'of the V4 envelope',
      (list: string) => `{"data":{"data":${list},"prev":null,"next":null,"total_count":2},"request_id":"r"}`,
    ],
    ['flat', (list: string) => `{"data":${list},"next":null}`],
    ['with the cursor first', (list: string) => `{"next":null,"data":${list}}`],
  ])('%s is read, ids exact', async (_name, envelope) => {
    const { api, time } = createMockedApi();
    serveCompanies({ '': envelope('[{"svc_id":9007199254740993,"name":"A"},{"svc_id":3}]') });
    const { companies } = await time.run(api.fetchV4Companies());
    expect(companies.map(({ companyId, raw }) => [companyId, Buffer.from(raw).toString()])).toEqual([
      [9007199254740993n, '{"svc_id":9007199254740993,"name":"A"}'],
      [3n, '{"svc_id":3}'],
    ]);
  });

  it.each([
    ['{"svc_id":1,"svc_company_id":2,"id":3}', null, 1n],
    ['{"svc_company_id":2,"id":3}', null, 2n],
    ['{"id":3}', null, 3n],
    ['{"svc_id":"x","id":3}', null, 3n],
    ['{"svc_id":1,"number":7}', 'number', 7n],
  ])('finds the id of %s', async (company, companyIdField, id) => {
    const { api, time } = createMockedApi({ v4: { companyIdField } });
    serveCompanies({ '': `{"data":[${company}],"next":null}` });
    expect((await time.run(api.fetchV4Companies())).companies.map(({ companyId }) => companyId)).toEqual([
      id,
    ]);
  });

  it('is walked to its end, each company once', async () => {
    const { api, time } = createMockedApi();
    const asked = serveCompanies({
      '': '{"data":[{"svc_id":1},{"svc_id":2}],"next":"b"}',
      b: '{"data":[],"next":"c"}',
      c: '{"data":[{"svc_id":2},{"svc_id":3}],"next":null,"total_count":3}',
    });
    const { companies } = await time.run(api.fetchV4Companies());
    expect(companies.map(({ companyId }) => companyId)).toEqual([1n, 2n, 3n]);
    expect(asked).toEqual(['', 'b', 'c']);
  });

  it.each([
    ['3', 2],
    ['null', 3],
  ])(
    'with a total_count of %s finds a company that slipped over the edge of a page',
    async (count, walks) => {
      const { api, time } = createMockedApi();
      let asked = 0;
      replyToCompanies((path) => {
        const isFirst = new URL(path, V4).searchParams.get('next') === null;
        if (isFirst) asked += 1;
        const isSlip = asked === 1;
        const page = isFirst ? '[{"svc_id":1}]' : isSlip ? '[{"svc_id":3}]' : '[{"svc_id":2},{"svc_id":3}]';
        return [200, `{"data":${page},"next":${isFirst ? '"b"' : 'null'},"total_count":${count}}`];
      });
      const { companies, reading } = await time.run(api.fetchV4Companies());
      expect(companies.map(({ companyId }) => companyId)).toEqual([1n, 3n, 2n]);
      expect(reading).toMatchObject({ state: 'complete' });
      expect(reading?.walks).toHaveLength(walks);
    },
  );

  it('is asked once more for each empty last page behind a cursor, and for no other', async () => {
    const [first, second, end] = ['[{"svc_id":1}],"next":"b"', '[{"svc_id":2}],"next":"c"', '[],"next":null'];
    const walkOf = async (...answers: readonly (string | undefined)[]) => {
      nock.cleanAll();
      const { api, time } = createMockedApi();
      const asked: (string | null)[] = [];
      replyToCompanies((path) => {
        asked.push(new URL(path, V4).searchParams.get('next'));
        return [200, `{"data":${answers[asked.length - 1]},"total_count":0}`];
      });
      return [(await time.run(api.fetchV4Companies())).companies.length, ...asked];
    };
    expect(await walkOf(first, end, second, end, end)).toEqual([2, null, 'b', 'b', 'c', 'c']);
    expect(await walkOf(end)).toEqual([0, null]);
  });

  it('whose walks never agree, below its count, is incomplete', async () => {
    const { api, time } = createMockedApi();
    let asked = 0;
    replyToCompanies(() => {
      asked += 1;
      return [200, `{"data":[{"svc_id":${asked}}],"next":null,"total_count":9}`];
    });
    const error = await failureOf(time.run(api.fetchV4Companies()));
    expect(error).toMatchObject({ code: 'incomplete', exitCode: 4, facts: { route: COMPANIES } });
    expect(asked).toBe(5);
  });

  /** Serves so many pages of one company, `c1` and on; `refuse` names the status of a request, 200 for its page. */
  function serveExpiring(pages: number, refuse: (cursor: string, walk: number) => number): string[] {
    const asked: string[] = [];
    replyToCompanies((path) => {
      const cursor = new URL(path, V4).searchParams.get('next') ?? 'c1';
      asked.push(cursor);
      const status = refuse(cursor, asked.filter((one) => one === 'c1').length);
      if (status !== 200) return [status, '{"message":"The cursor has expired."}'];
      const at = Number(cursor.slice(1));
      const next = at === pages ? 'null' : `"c${at + 1}"`;
      return [200, `{"data":[{"svc_id":${at}}],"next":${next},"total_count":${pages}}`];
    });
    return asked;
  }

  it.each([400, 404, 410, 422])('is walked from the start where a cursor meets %i', async (status) => {
    const { api, time } = createMockedApi();
    const asked = serveExpiring(3, (cursor, walk) => (walk === 1 && cursor === 'c3' ? status : 200));
    const { companies, reading } = await time.run(api.fetchV4Companies());
    expect(companies.map(({ companyId }) => companyId)).toEqual([1n, 2n, 3n]);
    expect(asked).toEqual(['c1', 'c2', 'c3', 'c1', 'c2', 'c3']);
    expect(reading).toMatchObject({ state: 'complete', walks: [{ pages: 5, totalCount: 3 }], arrived: 5 });
  });

  it('is walked from the start where the cursor of an empty page expires', async () => {
    const { api, time } = createMockedApi();
    let asked = 0;
    replyToCompanies(() => {
      asked += 1;
      if (asked === 2) return [410, '{}'];
      return [200, asked === 1 ? '{"data":[],"next":"b"}' : '{"data":[{"svc_id":1}],"next":null}'];
    });
    expect((await time.run(api.fetchV4Companies())).companies).toHaveLength(1);
  });

  it('whose cursors expire again and again at the same place is an error', async () => {
    const { api, time } = createMockedApi();
    const asked = serveExpiring(3, (cursor) => (cursor === 'c3' ? 410 : 200));
    expect(await failureOf(time.run(api.fetchV4Companies()))).toMatchObject({
      code: 'cursor_expired',
      exitCode: 4,
      facts: { route: COMPANIES, status: 410 },
    });
    expect(asked).toHaveLength(6);
  });

  it.each([
    ['c1', 400],
    ['c1', 404],
    ['c1', 410],
    ['c2', 409],
    ['c2', 401],
  ])('that answers %s with %i is an error at once', async (at, status) => {
    const { api, time } = createMockedApi();
    const asked = serveExpiring(3, (cursor) => (cursor === at ? status : 200));
    const code = status === 401 ? 'auth' : 'http_status';
    expect(await failureOf(time.run(api.fetchV4Companies()))).toMatchObject({ code, facts: { status } });
    expect(asked.filter((cursor) => cursor === 'c1')).toHaveLength(1);
  });

  it('that repeats a cursor is an error', async () => {
    const { api, time } = createMockedApi();
    serveCompanies({
      '': '{"data":[{"svc_id":1}],"next":"a"}',
      a: '{"data":[{"svc_id":2}],"next":"b"}',
      b: '{"data":[{"svc_id":3}],"next":"a"}',
    });
    expect(await failureOf(time.run(api.fetchV4Companies()))).toMatchObject({
      code: 'cursor_loop',
      facts: { route: COMPANIES },
    });
  });

  it('that goes on without anything new is an error', async () => {
    const { api, time } = createMockedApi();
    const asked: string[] = [];
    replyToCompanies((path) => {
      asked.push(path);
      return [200, `{"data":[{"svc_id":1}],"next":"c${asked.length}"}`];
    });
    expect((await failureOf(time.run(api.fetchV4Companies()))).code).toBe('no_progress');
    expect(asked.length).toBe(101);
  });

  it.each([
    ['no next', '{"data":[{"svc_id":1}]}'],
    ['an inner list without next', '{"data":{"data":[]},"next":null}'],
    ['a next that is a number', '{"data":[],"next":1}'],
    ['a company without id', '{"data":[{"name":"A"}],"next":null}'],
    ['a company that is text', '{"data":["A"],"next":null}'],
  ])('with %s is asked once and points to v4.companies', async (_name, body) => {
    const { api, time } = createMockedApi();
    const asked = serveCompanies({ '': body });
    const error = await failureOf(time.run(api.fetchV4Companies()));
    expect(error).toMatchObject({ code: 'bad_response', facts: { route: COMPANIES } });
    expect(error.hint).toContain('v4.companies');
    expect(asked).toHaveLength(1);
  });

  it.each([
    '',
    'null',
    '[]',
    '[{"svc_id":1}]',
    '{"error":"x"}',
    '{"data":null,"next":null}',
    '{"data":{"data":{"data":[]}},"next":null}',
    '<html>',
    '{"error":{"code":"busy"},"data":[],"next":null,"total_count":null}',
    '{"errors":["busy"],"data":{"data":[],"next":null}}',
    '{"data":{"error":"busy","data":[],"next":null}}',
  ])('that is %j is asked again, then an error', async (body) => {
    const { api, time } = createMockedApi();
    const asked = serveCompanies({ '': body });
    expect((await failureOf(time.run(api.fetchV4Companies()))).code).toBe('bad_response');
    expect(asked).toHaveLength(4);
  });

  it('is not asked where the configuration names the companies', async () => {
    const { api, time } = createMockedApi({ v4: { companies: [5n, 6n] } });
    const { companies } = await time.run(api.fetchV4Companies());
    expect(companies.map(({ companyId, raw }) => [companyId, Buffer.from(raw).toString()])).toEqual([
      [5n, '{}'],
      [6n, '{}'],
    ]);
  });
});

describe('one V4 record', () => {
  const ROUTE = `${COMPANIES}/2/invoices/7`;
  const RECORD =
    '{"svc_id":7,"svc_company_id":2,"platform_id":"p","line_items":[{"svc_id":70,"platform_id":"l"}]}';
  const ask = { pair: PAIR, companyId: 2n, svcId: 7n };

  it.each([
    ['in data', `{"data":${RECORD},"request_id":"r"}`],
    ['in data of data', `{"data":{"data":${RECORD}},"request_id":"r"}`],
    ['alone in a list', `{"data":{"data":[${RECORD}],"next":null},"request_id":"r"}`],
    ['alone in a flat list', `{"data":[${RECORD}]}`],
    ['bare', RECORD],
    ['beside a null error', `{"data":${RECORD},"error":null,"errors":null}`],
  ])('is found %s', async (_name, body) => {
    const { api, time } = createMockedApi();
    nock(V4).get(ROUTE).query({ expand: 'line_items' }).reply(200, body);
    const record = await time.run(api.fetchRecord(ask));
    expect(record).toMatchObject({
      svcId: 7n,
      companyId: 2n,
      platformId: 'p',
      children: expect.stringContaining('"70"'),
    });
    expect(Buffer.from(record?.raw ?? []).toString()).toBe(RECORD);
  });

  it('that does not exist is null', async () => {
    const { api, time } = createMockedApi();
    nock(V4).get(ROUTE).query(true).reply(404, '{"request_id":"r"}');
    expect(await time.run(api.fetchRecord(ask))).toBeNull();
    expect(await time.run(api.fetchRecord({ ...ask, pair: { ...PAIR, v4: null } }))).toBeNull();
  });

  it.each([
    ['another record', RECORD.replace('"svc_id":7,', '"svc_id":8,')],
    ['a record of another company', RECORD.replace('"svc_company_id":2', '"svc_company_id":3')],
    ['a record without company', '{"svc_id":7}'],
    ['a record with text for an id', '{"svc_id":"7","svc_company_id":2}'],
    ['an empty list', '{"data":[]}'],
    ['two records', `{"data":[${RECORD},${RECORD}]}`],
    ['no record', '{"data":null}'],
    ['an error', '{"error":"x"}'],
    ['half a record', RECORD.slice(0, 30)],
    ['an error beside a record', `{"data":${RECORD},"error":{"code":"stale"}}`],
    ['errors inside data', `{"data":{"data":${RECORD},"errors":["stale"]}}`],
  ])('answered with %s is bad_response', async (_name, body) => {
    const { api, time } = createMockedApi({ http: { attempts: 2 } });
    const scope = nock(V4).get(ROUTE).query(true).twice().reply(200, body);
    expect((await failureOf(time.run(api.fetchRecord(ask)))).code).toBe('bad_response');
    expect(scope.isDone()).toBe(true);
  });

  it.each([400, 410, 422])('answered with %i is an error, not an absence', async (status) => {
    const { api, time } = createMockedApi();
    nock(V4).get(ROUTE).query(true).reply(status, 'no');
    expect(await failureOf(time.run(api.fetchRecord(ask)))).toMatchObject({
      code: 'http_status',
      facts: { status },
    });
  });
});
