import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { decodeBody } from '../../src/api/body.js';
import { campaignSize } from '../support/campaign.js';
import { answer, chunkedAnswer, RawServer, type Script } from './support/raw-server.js';
import {
  createTestApi,
  failureOf,
  type Settings,
  V3_KEY,
  V3_PAGE,
  v3Request,
  v4Request,
} from './support/test-api.js';

/** A client and the raw server it asks, both gone after the test. */
async function serve(script: Script, settings: Settings = {}) {
  const server = await RawServer.start(script);
  const test = createTestApi({ ...settings, v3Url: `${server.url}/v3` });
  onTestFinished(async () => {
    await test.api.close();
    await server.stop();
  });
  return { server, ...test };
}

/** Three answers of so many records at once, so often. */
const [ROUNDS, RECORDS] = campaignSize({ small: [1, 3000], full: [4, 12_000] });
const GZIP = ['Content-Encoding: gzip'];
const ZIPPED = gzipSync(V3_PAGE);
/** A chunked answer whose chunks hold `size` bytes. */
function inChunks(bytes: Uint8Array, size: number): Buffer {
  const parts: Uint8Array[] = [Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')];
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

describe('a whole answer', () => {
  const waysToSend: readonly (readonly [string, Buffer])[] = [
    ['with Content-Length', answer(V3_PAGE)],
    ['chunked', chunkedAnswer(V3_PAGE, true)],
    ['gzipped', answer(ZIPPED, GZIP)],
    ['gzipped and chunked', chunkedAnswer(ZIPPED, true, ['Content-Encoding: GZip'])],
    [
      'gzipped in two members',
      answer(Buffer.concat([gzipSync(V3_PAGE.slice(0, 20)), gzipSync(V3_PAGE.slice(20))]), GZIP),
    ],
    ['marked as identity', answer(V3_PAGE, ['Content-Encoding: identity'])],
    [
      'after informational ones',
      Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'), answer(V3_PAGE)]),
    ],
  ];

  it.each(waysToSend)('%s is read, also byte by byte', async (_name, bytes) => {
    const { api, time } = await serve((socket, request) => {
      if (request.count === 1) socket.write(bytes);
      else for (const byte of bytes) socket.write(Uint8Array.of(byte));
    });
    for (let round = 0; round < 2; round++) {
      const page = await time.run(api.fetchPage(v3Request()));
      expect(page.records).toMatchObject([{ svcId: 1, companyId: 2, platformId: 'a' }]);
      expect(decodeBody(page.body, page.encoding)).toBe(V3_PAGE);
    }
  });

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['at once', (bytes) => answer(bytes)],
    ['in chunks, several to a read', (bytes) => inChunks(bytes, 20_000)],
    ['gzipped', (bytes) => answer(gzipSync(bytes, { level: 0 }), GZIP)],
  ])('of many reads is whole, %s, beside others on its connection', async (_name, wrap) => {
    const body = (count: number) => {
      const records = Array.from(
        { length: RECORDS },
        (_, at) => `{"svc_id":${count * 100_000 + at},"svc_company_id":2,"platform_id":"p${at}"}`,
      );
      return Buffer.from(`{"data":[${records.join(',')}],"next":null}`);
    };
    const { api, time } = await serve((socket, request) => socket.write(wrap(body(request.count))));
    for (let round = 0; round < ROUNDS; round++) {
      const pages = await time.run(
        Promise.all([api.fetchPage(v3Request()), api.fetchPage(v3Request()), api.fetchPage(v3Request())]),
      );
      for (const { records } of pages) {
        const first = Math.trunc(Number(records[0]?.svcId) / 100_000) * 100_000;
        expect(records.map(({ svcId }) => svcId)).toEqual(
          Array.from({ length: RECORDS }, (_, at) => first + at),
        );
      }
    }
  });

  it.each(['br', 'deflate', 'gzip, br', 'x'])('in the encoding %s is refused', async (encoding) => {
    const { api, time } = await serve((socket) =>
      socket.write(answer(V3_PAGE, [`Content-Encoding: ${encoding}`])),
    );
    expect(await failureOf(time.run(api.fetchPage(v3Request())))).toMatchObject({ code: 'bad_response' });
  });

  it('comes over kept connections', async () => {
    const { server, api, time } = await serve((socket) => socket.write(answer(V3_PAGE)));
    for (let round = 0; round < 20; round++) await time.run(api.fetchPage(v3Request()));
    // the next request may leave before the last connection is known to be free again
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  it('comes over at most as many connections as requests are allowed at once', async () => {
    const { server, api, time } = await serve(
      (socket) => setTimeout(() => socket.write(answer(V3_PAGE)), 2),
      { endpoint: { concurrency: 3 } },
    );
    await time.run(Promise.all(Array.from({ length: 30 }, () => api.fetchPage(v3Request()))));
    expect(server.connections).toBeLessThanOrEqual(3);
  });

  it('comes although the kept connection went stale', async () => {
    const { server, api, time } = await serve((socket, request) => {
      if (request.count === 2) socket.resetAndDestroy();
      else socket.write(answer(V3_PAGE));
    });
    for (let round = 0; round < 3; round++) {
      expect((await time.run(api.fetchPage(v3Request()))).records).toHaveLength(1);
    }
    expect(server.requests).toHaveLength(4);
  });
});

describe('a host that is not there', () => {
  it('is asked again, and named', async () => {
    const server = await RawServer.start(() => {});
    const { url } = server;
    await server.stop();
    const { api, time } = createTestApi({ v3Url: url });
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error).toMatchObject({
      code: 'network',
      exitCode: 4,
      facts: { error: 'ECONNREFUSED', attempts: 4 },
    });
    expect(error.message).toContain(new URL(url).host);
    await api.close();
  });

  it('under a name without address is named', async () => {
    const { api, time } = createTestApi({ v3Url: 'https://no-such-host.invalid', http: { attempts: 2 } });
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error.code).toBe('network');
    expect(error.message).toContain('no-such-host.invalid');
    await api.close();
  });

  it.each([
    [
      'with a certificate nobody vouches for',
      () => createTlsServer({ key: fixture('key'), cert: fixture('crt') }),
      'certificate',
    ],
    [
      'that speaks no TLS',
      () => createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
      'without TLS',
    ],
  ])('%s is not asked again', async (_name, build, hint) => {
    const server = build();
    let connections = 0;
    server.on('connection', () => connections++);
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = address === null || typeof address === 'string' ? 0 : address.port;
    const { api, time } = createTestApi({ v3Url: `https://127.0.0.1:${port}` });
    onTestFinished(async () => {
      await api.close();
      server.close();
    });
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error).toMatchObject({ code: 'network', exitCode: 4, facts: { attempts: 1 } });
    expect(error.hint).toContain(hint);
    expect(connections).toBe(1);
  });
});

function fixture(kind: 'key' | 'crt'): Buffer {
  return readFileSync(new URL(`../../fixtures/api/self-signed.${kind}.pem`, import.meta.url));
}

describe('closing', () => {
  it('lets go of kept connections', async () => {
    const { server, api, time } = await serve((socket) => socket.write(answer(V3_PAGE)));
    await time.run(api.fetchPage(v3Request()));
    await api.close();
    await server.stop();
    await api.close();
  });
});

describe('the proxy in HTTPS_PROXY', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('is refused without being shown where it is not an address', () => {
    vi.stubEnv('https_proxy', 'ftp://secret');
    expect(() => createTestApi()).toThrow(expect.objectContaining({ code: 'config', exitCode: 2 }));
    expect(() => createTestApi()).not.toThrow(/secret/);
  });

  it('tunnels https, and is never asked for plain http', async () => {
    const proxy = await RawServer.start((socket) =>
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
    );
    vi.stubEnv('NO_PROXY', '');
    vi.stubEnv('no_proxy', '');
    for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'])
      vi.stubEnv(name, proxy.url);
    const settings = { http: { attempts: 1 }, v4Url: 'http://no-such-host.invalid' };
    const { api, time } = createTestApi(settings);
    const plain = await failureOf(time.run(api.fetchPage(v4Request())));
    expect(proxy.requests).toEqual([]);
    expect(plain.code).toBe('network');
    const tunnelled = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(proxy.requests.map(({ headers }) => headers.split('\r\n', 1))).toEqual([
      ['CONNECT v3.example.com:443 HTTP/1.1'],
    ]);
    expect(proxy.requests[0]?.headers).not.toContain(V3_KEY);
    expect(tunnelled.message).toContain('407');
    await api.close();
    await proxy.stop();
  });
});
