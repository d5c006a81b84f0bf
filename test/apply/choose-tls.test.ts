import { expect, it } from 'vitest';
import { chooseTls } from '../../src/apply/db/server.js';
import { SvcError } from '../../src/errors.js';

type Outcome = 'plain' | 'verified' | 'unverified' | 'config';
type Tls = 'verified' | 'unverified';

const LOCAL = ['localhost', '127.0.0.1', '127.8.0.1', '::1', '', '/var/run/postgresql'];
const REMOTE = ['db.example.com', '10.0.0.5', 'localhost.example.com', '::ffff:127.0.0.1'];

const CASES: readonly (readonly [
  where: readonly string[],
  tls: Tls,
  asked: readonly (string | null)[],
  outcome: Outcome,
])[] = [
  [LOCAL, 'verified', [null, 'disable', 'allow', 'prefer'], 'plain'],
  [LOCAL, 'verified', ['require', 'verify-ca', 'verify-full'], 'verified'],
  [LOCAL, 'verified', ['no-verify'], 'unverified'],
  [LOCAL, 'unverified', [null, 'disable', 'allow', 'prefer'], 'plain'],
  [LOCAL, 'unverified', ['require', 'verify-full', 'no-verify'], 'unverified'],
  [REMOTE, 'verified', [null, 'prefer', 'require', 'verify-ca', 'verify-full'], 'verified'],
  [REMOTE, 'verified', ['disable', 'allow', 'no-verify'], 'config'],
  [REMOTE, 'unverified', ['disable'], 'plain'],
  [REMOTE, 'unverified', [null, 'allow', 'prefer', 'require', 'verify-full', 'no-verify'], 'unverified'],
];

function choose(host: string, asked: string | null, tls: Tls): Outcome {
  try {
    return chooseTls(host, asked, { tls, name: 'SHOP_URL' });
  } catch (error) {
    if (error instanceof SvcError && error.code === 'config') return 'config';
    throw error;
  }
}

it.each(
  CASES.flatMap(([where, tls, modes, outcome]) =>
    where.flatMap((host) => modes.map((asked) => ({ host, tls, asked, outcome }))),
  ),
)('connects to "$host", tls $tls, sslmode $asked: $outcome', ({ host, tls, asked, outcome }) => {
  expect(choose(host, asked, tls)).toBe(outcome);
});
