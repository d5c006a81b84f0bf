import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder, runCli } from './run-cli.js';
import { spawnCli } from './spawn-cli.js';

const KEY = 'canary-key-5521';
const read = (name: string) => readFileSync(new URL(`../../fixtures/api/${name}`, import.meta.url));
const TRUSTED = {
  NODE_EXTRA_CA_CERTS: new URL('../../fixtures/api/self-signed.crt.pem', import.meta.url).pathname,
};

/** The API, whose certificate is for api.example.test. */
const api = createServer(
  { cert: read('self-signed.crt.pem'), key: read('self-signed.key.pem') },
  (request, response) => {
    requests.push(`${request.headers.host} ${String(request.headers['api_key'])}`);
    response.writeHead(404).end();
  },
);
api.on('tlsClientError', () => {});
let requests: string[] = [];

/** A proxy that connects everything to the API, and keeps what it can read. */
const proxy = createHttpServer((request, response) => {
  seen.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
  response.writeHead(502).end();
});
let seen: string[] = [];
let refuses = false;
proxy.on('connect', (request, client) => {
  seen.push(`CONNECT ${request.url} ${JSON.stringify(request.headers)}`);
  client.on('error', () => {});
  if (refuses) return client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
  const server = connect((api.address() as AddressInfo).port, '127.0.0.1', () => {
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    client.on('data', (bytes) => seen.push(bytes.toString('latin1')));
    client.pipe(server).pipe(client);
  });
  return server.on('error', () => client.destroy());
});

beforeAll(async () => {
  for (const server of [api, proxy]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
});
afterAll(() => {
  for (const server of [api, proxy]) {
    server.closeAllConnections();
    server.close();
  }
});
beforeEach(() => {
  requests = [];
  seen = [];
  refuses = false;
});

const proxyHost = () => `127.0.0.1:${(proxy.address() as AddressInfo).port}`;

/** Runs a command against an API at `baseUrl`, with the proxy named in the environment. */
function run(line: string, baseUrl: string, env: Record<string, string> = {}, http: object = {}) {
  const cwd = makeFolder({
    v3: { regions: { default: { baseUrl } } },
    v4: { baseUrl },
    models: [{ v3: 'crm/stages' }],
    http: { attempts: 1, ...http },
  });
  const named = { HTTPS_PROXY: `http://user:proxy-password@${proxyHost()}` };
  const keys = { SVC_MIGRATE_V3_API_KEY: KEY, SVC_MIGRATE_V4_API_KEY: KEY };
  // Node.js reads its own variables as a process starts.
  const runLine = Object.keys(env).some((name) => name.startsWith('NODE_')) ? spawnCli : runCli;
  return runLine(line.split(' '), { cwd, env: { ...keys, ...named, ...env } });
}

describe('a proxy named in HTTPS_PROXY', () => {
  it('is asked for a tunnel, inside which the key is not readable', async () => {
    await run('export v3', 'https://api.example.test', TRUSTED);
    expect(requests).toEqual([`api.example.test ${KEY}`]);
    expect(seen[0]).toMatch(/^CONNECT api\.example\.test:443 .*"proxy-authorization":"Basic /);
    expect(seen.join('\n')).not.toContain(KEY);
  });

  it('gets no request through where the certificate is not trusted', async () => {
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const { code } = await run('export v3', 'https://api.example.test', env);
    expect([code, requests]).toEqual([4, []]);
  });

  it('is named by doctor, without its password', async () => {
    const { stdout, stderr } = await run('doctor', 'https://api.example.test');
    expect(stdout.replace(/\s+/g, ' ')).toContain(`V3 is requested through the proxy ${proxyHost()}`);
    expect(stdout + stderr).not.toContain('proxy-password');
  });

  it('that refuses is told by its status', async () => {
    refuses = true;
    const { code, stderr } = await run('export v3', 'https://api.example.test');
    expect([code, stderr]).toEqual([4, expect.stringContaining('the proxy answered 407')]);
  });

  it('is not asked for loopback', async () => {
    await run('export v3', `https://localhost:${(api.address() as AddressInfo).port}`, TRUSTED);
    expect([requests.length, seen]).toEqual([1, []]);
  });

  it('is not asked for what NO_PROXY names', async () => {
    const { code } = await run('export v3', 'https://api.example.test', { NO_PROXY: 'example.test' });
    expect([code, seen]).toEqual([4, []]);
  });

  it('never gets a key over plain http: that is refused', async () => {
    const env = { HTTP_PROXY: `http://${proxyHost()}` };
    const { code, stderr } = await run('export v3', 'http://api.example.test', env, { allowHttp: true });
    expect([code, seen]).toEqual([2, []]);
    expect(stderr).toContain('would show the key to the proxy');
  });
});
