import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keysOf, makeFolder, runCli } from '../cli/spawn-cli.js';

let server: Server;
let config: object;
let requests: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(String(request.url));
    response.writeHead(429, { 'retry-after': '3600' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config = { v3: { regions: { default: { baseUrl: `${baseUrl}/v3` } }, concurrency: 1 }, v4: { baseUrl } };
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  requests = [];
});

describe('an hour of Retry-After', () => {
  it('holds in all phases of a run, and in the commands after it', async () => {
    const cwd = makeFolder(config);
    const env = keysOf('k');
    const run = await runCli(['run'], { cwd, env });
    expect(run.code).toBe(4);
    expect(requests).toHaveLength(1);
    expect(run.stderr).toMatch(/asked to wait 3\d{3} s, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    for (const args of [['export', 'v4'], ['export', 'v3'], ['run'], ['doctor']]) {
      const again = await runCli(args, { cwd, env });
      expect(again.code, args.join(' ')).toBe(4);
      expect(again.stdout + again.stderr, args.join(' ')).toMatch(/asked to wait 3\d{3} s, until/);
      expect(requests, args.join(' ')).toHaveLength(1);
    }
  });

  it('concerns no other host', async () => {
    const cwd = makeFolder(config);
    const env = keysOf('k');
    await runCli(['export', 'v3'], { cwd, env });
    const other = makeFolder(JSON.parse(JSON.stringify(config).replaceAll('127.0.0.1', 'localhost')));
    await runCli(['export', 'v3'], { cwd: other, env });
    expect(requests).toHaveLength(2);
  });
});
