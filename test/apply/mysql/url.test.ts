import { describe, expect, it } from 'vitest';
import { connectionOptions, MYSQL_URL, readUrl } from '../../../src/apply/dialects/server-url.js';

const VERIFIED = { rejectUnauthorized: true, verifyIdentity: true };
const UNVERIFIED = { rejectUnauthorized: false, verifyIdentity: false };
const REFUSED = 'refused';

describe('TLS towards MySQL', () => {
  it.each([
    // off loopback: always verified, and a string that asks for less is refused
    ['db.example.com', '', 'verified', VERIFIED],
    ['db.example.com', '?ssl-mode=PREFERRED', 'verified', VERIFIED],
    ['db.example.com', '?ssl-mode=REQUIRED', 'verified', VERIFIED],
    ['db.example.com', '?ssl-mode=verify_ca', 'verified', VERIFIED],
    ['db.example.com', '?ssl-mode=DISABLED', 'verified', REFUSED],
    ['db.example.com', '?ssl-mode=nonsense', 'verified', REFUSED],
    ['localhost.example.com', '', 'verified', VERIFIED],
    // the driver verifies host names only
    ['10.0.0.1', '', 'verified', REFUSED],
    ['[2001:db8::1]', '', 'verified', REFUSED],
    ['10.0.0.1', '', 'unverified', UNVERIFIED],
    // the target says so
    ['db.example.com', '', 'unverified', UNVERIFIED],
    ['db.example.com', '?ssl-mode=DISABLED', 'unverified', undefined],
    // loopback and sockets may be plain
    ['localhost', '', 'verified', undefined],
    ['127.0.0.1', '?ssl-mode=PREFERRED', 'verified', undefined],
    ['[::1]', '', 'verified', undefined],
    ['db.example.com', '?socket=/run/mysqld/mysqld.sock', 'verified', undefined],
    ['localhost', '?ssl-mode=REQUIRED', 'verified', VERIFIED],
  ] as const)('to %s%s with policy %s is %j', (host, parameters, policy, ssl) => {
    const options = () => connectionOptions(`mysql://u:p@${host}/shop${parameters}`, policy);
    if (ssl === REFUSED) expect(options).toThrow(expect.objectContaining({ code: 'config' }));
    else expect(options().ssl).toEqual(ssl);
  });
});

describe('a connection string of MySQL', () => {
  it('is decoded, and its other parameters are ignored', () => {
    const url = 'mysql://us%40er:p%2Fw@[::1]/my%20shop?multipleStatements=false&flags=LOCAL_FILES&host=evil';
    expect(connectionOptions(url, 'verified')).toEqual({
      host: '::1',
      port: 3306,
      user: 'us@er',
      password: 'p/w',
      database: 'my shop',
    });
  });

  it.each(['mysql://u:p@localhost', 'mysql://u:p@localhost/'])('needs a database: %s', (url) => {
    expect(() => connectionOptions(url, 'verified')).toThrow(expect.objectContaining({ code: 'config' }));
  });

  it.each(['', 'postgres://u:secret@localhost/x', 'localhost', 'mysql:secret'])('must be one: %j', (URL) => {
    expect(() => readUrl('URL', { URL }, MYSQL_URL)).toThrow(
      expect.objectContaining({ code: 'config', message: expect.not.stringContaining('secret') }),
    );
  });
});
