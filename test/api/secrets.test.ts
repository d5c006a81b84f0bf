import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { allowMocksOnly, createMockedApi, V3, V3_PATH, V4, V4_PATH } from './support/nock-hosts.js';
import { failureOf, V3_KEY, v3Request, v4Request } from './support/test-api.js';

allowMocksOnly();

describe('redirects', () => {
  it.each([
    [301, 'https://evil.example.net/take?key=1', 'evil.example.net'],
    [302, '//evil.example.net/', 'evil.example.net'],
    [303, '/v3/elsewhere', 'v3.example.com'],
    [307, 'http://v3.example.com/plain', 'v3.example.com'],
    [308, 'https://user:secret@evil.example.net:8443/', 'evil.example.net:8443'],
    [302, 'http://[', 'an unknown address'],
    [300, undefined, 'an unknown address'],
    [304, undefined, 'an unknown address'],
  ])('%i to %s is an error that names %s', async (status, location, target) => {
    const { api, time, requests } = createMockedApi();
    nock(V3)
      .get(V3_PATH)
      .reply(status, 'moved', location === undefined ? {} : { Location: location });
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error).toMatchObject({ code: 'redirect', exitCode: 2 });
    expect(error.message).toContain(target);
    expect(error.message).not.toContain('secret');
    expect(requests()).toBe(1);
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
    const { api, time } = createMockedApi({ http: { attempts: 1 } });
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

  it('is hidden where a 200 with an error echoes it, also where the quote is cut', async () => {
    const { api, time } = createMockedApi({ http: { attempts: 1 } });
    const filler = 'x'.repeat(200 - '{"said":"'.length - 3);
    const body = `{"error":{"said":"${filler}${V3_KEY}"},"data":[],"next":null}`;
    nock(V3).get(V3_PATH).reply(200, body);
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error.facts['answer']).toBe(`{"said":"${filler}[ke`);
  });

  it('of V3 that V4 echoes is hidden too', async () => {
    const { api, time } = createMockedApi();
    nock(V4).get(V4_PATH).reply(400, `you are ${V3_KEY}`);
    const error = await failureOf(time.run(api.fetchPage(v4Request())));
    expect(error.facts['answer']).toBe('you are [key]');
  });
});
