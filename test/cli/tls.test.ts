import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignCases } from '../support/campaign.js';
import { keysOf, makeFolder } from './run-cli.js';
import { spawnCli } from './spawn-cli.js';

const read = (name: string) => readFileSync(new URL(`../../fixtures/api/${name}`, import.meta.url));
const CERT_FILE = new URL('../../fixtures/api/self-signed.crt.pem', import.meta.url).pathname;

let requests: string[] = [];
const server = createServer(
  { cert: read('self-signed.crt.pem'), key: read('self-signed.key.pem') },
  (request, response) => {
    requests.push(`${request.url} ${String(request.headers['api_key'])}`);
    response.writeHead(404).end();
  },
);
// The client hangs up during the handshake.
server.on('tlsClientError', () => {});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function setUp(): string {
  requests = [];
  const baseUrl = `https://localhost:${(server.address() as AddressInfo).port}`;
  return makeFolder({
    v3: { regions: { default: { baseUrl } } },
    v4: { baseUrl },
    models: [{ v3: 'crm/stages' }],
    http: { attempts: 1 },
  });
}

describe('a certificate that nobody vouches for', () => {
  it.each(campaignCases(['run', 'doctor', 'export v3', 'export v4'], 2))(
    'gets no request from %s, even with NODE_TLS_REJECT_UNAUTHORIZED=0',
    async (line) => {
      const env = { ...keysOf('canary-key'), NODE_TLS_REJECT_UNAUTHORIZED: '0' };
      const ended = await spawnCli(line.split(' '), { cwd: setUp(), env });
      expect(requests).toEqual([]);
      expect(ended.code).toBe(4);
    },
  );

  it('is accepted where NODE_EXTRA_CA_CERTS names it', async () => {
    const env = { ...keysOf('canary-key'), NODE_EXTRA_CA_CERTS: CERT_FILE };
    await spawnCli(['export', 'v3'], { cwd: setUp(), env });
    expect(requests).not.toEqual([]);
  });
});
