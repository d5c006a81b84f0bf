import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { rootCertificates, TLSSocket } from 'node:tls';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { PgSession } from '../../../src/apply/dialects/postgres-session.js';
import { secureUrl, tlsModeFor } from '../../../src/apply/dialects/server-url.js';
import type { SvcError } from '../../../src/errors.js';
import { makeFolder } from '../support/folder.js';
import { connect, startOwnPostgres } from '../support/postgres.js';
import { IN_PLACE, makeRemap, openContext } from '../support/remap.js';

const OFF = 'db.example.com';
const remap = makeRemap([]);
const fixture = (name: string) => new URL(`../../../fixtures/api/${name}`, import.meta.url);
const OWN = fixture('self-signed.crt.pem').pathname;

describe('TLS towards PostgreSQL', () => {
  it.each([
    // off loopback: always verified, and a string that asks for less is refused
    [OFF, null, 'verified', 'verified'],
    [OFF, 'prefer', 'verified', 'verified'],
    [OFF, 'require', 'verified', 'verified'],
    [OFF, 'verify-ca', 'verified', 'verified'],
    [OFF, 'verify-full', 'verified', 'verified'],
    [OFF, 'nonsense', 'verified', 'verified'],
    [OFF, 'disable', 'verified', null],
    [OFF, 'allow', 'verified', null],
    [OFF, 'no-verify', 'verified', null],
    ['10.0.0.1', null, 'verified', 'verified'],
    ['127.0.0.1.example.com', null, 'verified', 'verified'],
    ['localhost.example.com', null, 'verified', 'verified'],
    ['::2', null, 'verified', 'verified'],
    // the target says so
    [OFF, null, 'unverified', 'unverified'],
    [OFF, 'require', 'unverified', 'unverified'],
    [OFF, 'no-verify', 'unverified', 'unverified'],
    [OFF, 'disable', 'unverified', 'plain'],
    // loopback and Unix sockets may be plain
    ['localhost', null, 'verified', 'plain'],
    ['127.0.0.1', null, 'verified', 'plain'],
    ['127.9.9.9', 'prefer', 'verified', 'plain'],
    ['::1', 'disable', 'verified', 'plain'],
    ['/var/run/postgresql', null, 'verified', 'plain'],
    ['', null, 'verified', 'plain'],
    ['localhost', 'require', 'verified', 'verified'],
    ['localhost', 'verify-full', 'verified', 'verified'],
    ['localhost', 'no-verify', 'verified', 'unverified'],
    ['localhost', 'require', 'unverified', 'unverified'],
  ] as const)('to %j with sslmode %j and policy %s is %s', (host, sslmode, policy, mode) => {
    expect(tlsModeFor(host, sslmode, policy)).toBe(mode);
  });
});

describe('a connection string', () => {
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  afterEach(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
  });

  it.each(['sslmode=require&uselibpqcompat=true', 'sslmode=prefer', 'ssl=true', 'application_name=x'])(
    'with %s leaves no way around verification',
    (query) => {
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
      const secured = secureUrl(`postgres://u:p%40@${OFF}:5433/d?${query}`, OFF, 'verified');
      expect(secured.ssl).toEqual({ rejectUnauthorized: true });
      expect(secured.connectionString).not.toMatch(/ssl|libpq/);
      expect(secured.connectionString).toContain(`u:p%40@${OFF}:5433/d`);
    },
  );

  it.each(['sslmode=disable', 'sslmode=no-verify', 'ssl=0', 'ssl=no-verify'])(
    'with %s is refused',
    (query) => {
      const secure = () => secureUrl(`postgres://u:canary@${OFF}/d?${query}`, OFF, 'verified');
      expect(secure).toThrow(expect.objectContaining({ code: 'config' }) as SvcError);
      expect(secure).not.toThrow(/canary/);
    },
  );

  it('gives nothing to a server with a certificate that nobody vouches for', async () => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    const received: Buffer[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.write('S');
        const cert = readFileSync(OWN);
        const secure = new TLSSocket(socket, {
          isServer: true,
          cert,
          key: readFileSync(fixture('self-signed.key.pem')),
        });
        secure.on('error', () => {});
        secure.on('data', (bytes) => received.push(bytes));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const env = { TEST_PG: `postgres://u:canary@127.0.0.1:${port}/d?sslmode=require` };
    const session = new PgSession({ ...openContext(remap, IN_PLACE), env }, { urlEnv: 'TEST_PG' });
    await expect(session.one('SELECT 1')).rejects.toMatchObject({ code: 'config' });
    expect(received).toEqual([]);
    await session.close();
    server.close();
  });

  it('brings its own authority', () => {
    const { ssl } = secureUrl(`postgres://u@${OFF}/d?sslmode=verify-ca&sslrootcert=${OWN}`, OFF, 'verified');
    expect(ssl).toMatchObject({ rejectUnauthorized: true, ca: expect.any(Buffer) });
  });
});

const cluster = await startOwnPostgres();

describe.skipIf(cluster === null)('a TLS handshake with PostgreSQL', () => {
  if (cluster === null) return;
  const other = join(makeFolder(), 'other-ca.pem');
  writeFileSync(other, rootCertificates[0] ?? '');
  afterAll(() => cluster.stop());

  /** Whether a connection is encrypted, or its error. */
  async function connectWith(query: string): Promise<unknown> {
    const env = { TEST_PG: `${cluster?.url().replace('127.0.0.1', 'localhost')}?${query}` };
    const context = { ...openContext(remap, IN_PLACE), env };
    const session = new PgSession(context, { urlEnv: 'TEST_PG' });
    try {
      return await session.one('SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    } catch (error) {
      return error;
    } finally {
      await session.close();
      context.remap.close();
    }
  }

  it('takes a certificate of the named authority only', async () => {
    const client = await connect(cluster.url());
    // Written by the server: it reads no key that others own.
    for (const [to, from] of [
      ['server.crt', 'self-signed.crt.pem'],
      ['server.key', 'self-signed.key.pem'],
    ] as const) {
      const lines = readFileSync(fixture(from), 'utf8').trim().split('\n');
      await client.query(
        `COPY (SELECT unnest(ARRAY['${lines.join("','")}'])) TO PROGRAM 'umask 077; cat > ${to}'`,
      );
    }
    await client.query('ALTER SYSTEM SET ssl = on');
    await client.query('SELECT pg_reload_conf()');
    await client.end();
    await expect
      .poll(() => connectWith(`sslmode=verify-full&sslrootcert=${OWN}`), { timeout: 20_000 })
      .toBe('true');
    expect(await connectWith('sslmode=disable')).toBe('false');
    for (const query of [
      `sslmode=verify-full&sslrootcert=${other}`,
      `sslmode=verify-ca&sslrootcert=${other}`,
      'sslmode=require',
    ]) {
      const error = await connectWith(query);
      expect([query, error]).toEqual([query, expect.objectContaining({ code: 'config' })]);
      expect(String(error)).toContain('Cannot connect to PostgreSQL');
      expect(String(error)).not.toContain('canary');
    }
  });
});
