import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { MysqlSession, mysqlError } from '../../../src/apply/dialects/mysql-session.js';
import { makeFolder } from '../support/folder.js';
import { connectMysql, MYSQL_PRODUCT, startOwnMysql } from '../support/mysql.js';
import { IN_PLACE, makeRemap, openContext } from '../support/remap.js';

const fixture = (name: string) => new URL(`../../../fixtures/api/${name}`, import.meta.url);
const OWN = fixture('self-signed.crt.pem').pathname;

const server = await startOwnMysql(['--ssl-cert=../cert.pem', '--ssl-key=../key.pem'], {
  'cert.pem': readFileSync(OWN, 'utf8'),
  'key.pem': readFileSync(fixture('self-signed.key.pem'), 'utf8'),
});

const STATUS_SCHEMA = MYSQL_PRODUCT === 'MariaDB' ? 'information_schema' : 'performance_schema';

describe.skipIf(server === null)(`a TLS handshake with ${MYSQL_PRODUCT}`, () => {
  if (server === null) return;
  const other = join(makeFolder(), 'other-ca.pem');
  writeFileSync(other, rootCertificates[0] ?? '');
  const remap = makeRemap([]);
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  afterEach(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
  });
  afterAll(() => server.stop());

  /** The cipher of a connection, or its error. */
  async function connect(host: string, query: string, tls: 'verified' | 'unverified'): Promise<unknown> {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    const url = server?.url('mysql').replace('127.0.0.1', host);
    const context = { ...openContext(remap, IN_PLACE), env: { TEST_MYSQL: `${url}?${query}` } };
    const session = new MysqlSession(context, { urlEnv: 'TEST_MYSQL', tls });
    try {
      return await session.one(
        `SELECT VARIABLE_VALUE FROM ${STATUS_SCHEMA}.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'`,
      );
    } catch (error) {
      return mysqlError(error);
    } finally {
      await session.close();
      context.remap.close();
    }
  }

  it.each([
    ['localhost', `ssl-mode=VERIFY_IDENTITY&ssl-ca=${OWN}`, 'verified', /TLS|GCM|CHACHA/],
    ['localhost', `ssl-mode=VERIFY_CA&ssl-ca=${OWN}`, 'verified', /TLS|GCM|CHACHA/],
    ['localhost', 'ssl-mode=REQUIRED', 'unverified', /TLS|GCM|CHACHA/],
    ['localhost', 'ssl-mode=DISABLED', 'verified', /^$/],
  ] as const)('to %s with %s and policy %s succeeds', async (host, query, tls, cipher) => {
    expect((await connect(host, query, tls)) ?? 'no answer').toMatch(cipher);
  });

  it.each([
    [
      'another authority',
      'localhost',
      `ssl-mode=VERIFY_IDENTITY&ssl-ca=${other}`,
      'TLS with the MySQL server failed: ',
    ],
    [
      'another authority for VERIFY_CA',
      'localhost',
      `ssl-mode=VERIFY_CA&ssl-ca=${other}`,
      'TLS with the MySQL server failed: ',
    ],
    ['no authority', 'localhost', 'ssl-mode=REQUIRED', 'TLS with the MySQL server failed: '],
    ['an address', '127.0.0.1', `ssl-mode=VERIFY_CA&ssl-ca=${OWN}`, 'cannot be verified by its address'],
  ])('with %s is refused, whatever NODE_TLS_REJECT_UNAUTHORIZED says', async (_, host, query, sentence) => {
    const error = await connect(host, query, 'verified');
    expect(error).toMatchObject({ code: 'config', message: expect.stringContaining(sentence) });
    expect(String(error)).not.toContain('canary-password');
  });

  it('is asked for where the server takes no other connection', async () => {
    const admin = await connectMysql(server.url('mysql'));
    await admin.query("ALTER USER 'admin'@'127.0.0.1' REQUIRE SSL");
    await admin.end();
    const plain = await connect('localhost', 'ssl-mode=DISABLED', 'verified');
    expect(plain).toMatchObject({ code: 'bad_input', message: expect.stringContaining('Access denied') });
    expect(await connect('localhost', `ssl-mode=VERIFY_CA&ssl-ca=${OWN}`, 'verified')).toMatch(
      /TLS|GCM|CHACHA/,
    );
  });
});
