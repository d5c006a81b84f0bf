import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { answer, type Script } from './support/raw-server.js';
import { serve } from './support/serve.js';
import { failureOf, V3_PAGE, v3Request } from './support/test-api.js';

const GZIP = ['Content-Encoding: gzip'];

/** Writes what is given and closes the connection cleanly. */
function cut(bytes: Uint8Array): Script {
  return (socket) => socket.end(bytes);
}

describe('an answer that arrived', () => {
  it('leaves no timer behind that keeps the process alive', async () => {
    const { api, time } = await serve((socket) => socket.write(answer(V3_PAGE)), {
      http: { timeoutMs: 3_600_000 },
    });
    await time.run(api.fetchPage(v3Request()));
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout');
    const before = timers.length;
    await time.run(api.fetchPage(v3Request()));
    expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBeLessThanOrEqual(
      before,
    );
  });
});

describe('a body over the cap', () => {
  const limits = { http: { maxBodyBytes: 100_000 } };

  it.each<readonly [string, Script]>([
    ['announced', (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n')],
    [
      'announced absurdly',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n'),
    ],
    [
      'sent without end',
      flood('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', `8000\r\n${' '.repeat(32_768)}\r\n`),
    ],
    ['sent without length', flood('HTTP/1.1 200 OK\r\n\r\n', ' '.repeat(32_768))],
    ['decompressed', (socket) => socket.write(answer(gzipSync(' '.repeat(100_001)), GZIP))],
  ])('%s is refused, not asked again, and what to do is said', async (_name, script) => {
    const { server, api, time } = await serve(script, limits);
    const error = await failureOf(time.run(api.fetchPage(v3Request())));
    expect(error).toMatchObject({ code: 'body_too_large', exitCode: 4 });
    expect(error.hint).toContain('http.maxBodyMiB');
    expect(server.requests).toHaveLength(1);
  });

  it('up to the last byte is accepted', async () => {
    const padding = ' '.repeat(100_000 - V3_PAGE.length);
    const { api, time } = await serve(
      (socket, request) =>
        socket.write(
          request.count === 1 ? answer(V3_PAGE + padding) : answer(gzipSync(V3_PAGE + padding), GZIP),
        ),
      limits,
    );
    for (let round = 0; round < 2; round++) {
      expect((await time.run(api.fetchPage(v3Request()))).columns).toHaveLength(1);
    }
  });

  it('that would decompress to 4 GiB costs little memory', async () => {
    const member = gzipSync(Buffer.alloc(64 * 1_048_576));
    const bomb = Buffer.concat(Array.from({ length: 64 }, () => member));
    const { api, time } = await serve((socket) => socket.write(answer(bomb, GZIP)), {
      http: { maxBodyBytes: 8 * 1_048_576 },
    });
    const before = process.resourceUsage().maxRSS;
    expect(await failureOf(time.run(api.fetchPage(v3Request())))).toMatchObject({ code: 'body_too_large' });
    expect((process.resourceUsage().maxRSS - before) / 1024).toBeLessThan(100);
  });

  it('of an error changes nothing about its status', async () => {
    const endless = flood(
      'HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n',
      `8000\r\n${'x'.repeat(32_768)}\r\n`,
    );
    const { api, time } = await serve(endless, limits);
    expect(await failureOf(time.run(api.fetchPage(v3Request())))).toMatchObject({
      code: 'http_status',
      facts: { status: 404 },
    });
  });

  it('of an error that breaks changes nothing about its status', async () => {
    const { api, time } = await serve(cut(answer('{"message":"gone"}', [], '410 Gone').subarray(0, -4)));
    expect(await failureOf(time.run(api.fetchPage(v3Request())))).toMatchObject({
      code: 'http_status',
      facts: { status: 410 },
    });
  });
});

/** Writes as fast as the other side reads. */
function flood(start: string, more: string): Script {
  return (socket) => {
    socket.write(start);
    const pour = (): void => {
      while (!socket.destroyed && socket.write(more));
    };
    socket.on('drain', pour);
    pour();
  };
}
