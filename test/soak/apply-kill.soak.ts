import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type ApplyChildren, startApplyChildren } from '../apply/support/apply-children.js';
import { type Case, makeCase, remapRowsOf, SHAPES } from '../apply/support/cases.js';
import { describeKills, KillLives, type KillPlace, killMany } from '../apply/support/kill-lives.js';
import { connect, startPostgres } from '../apply/support/postgres.js';
import { createPostgresPlace } from '../apply/support/postgres-kill-place.js';
import { createRemap, IN_PLACE, openContext } from '../apply/support/remap.js';
import { createSqlitePlace } from '../apply/support/sqlite-kill-place.js';

const KILLS = 1000;
const HOUR_MS = 3_600_000;

// On a disk: commits take as long as they do for users.
const folder = mkdtempSync(join(tmpdir(), 'svc-apply-kill-'));
const cluster = await startPostgres();
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
});

function contextFor(name: string, cases: readonly Case[]) {
  const remap = join(folder, `remap-${name}.db`);
  createRemap(remap, cases.flatMap(remapRowsOf));
  return openContext(remap, IN_PLACE, { batchRows: 11 });
}

async function campaign(name: string, place: KillPlace, children: ApplyChildren): Promise<void> {
  const lives = new KillLives(place, children);
  await lives.measure();
  await killMany(lives, KILLS, { seed: 7, first: (life, steps) => life % steps, chain: 5 });
  process.stdout.write(`${name}: ${describeKills(lives)}\n`);
  expect(lives.tally.kills).toBeGreaterThanOrEqual(KILLS);
}

describe('a table is rewritten exactly once and taken back without a trace, however often the process is killed', () => {
  const cases = SHAPES.map((shape, at) => makeCase(at + 300, shape));

  it.each(['delete', 'wal'] as const)('SQLite, journal %s', { timeout: HOUR_MS }, async (journal) => {
    const children = startApplyChildren('sqlite');
    const file = join(folder, `${journal}.db`);
    const place = createSqlitePlace(file, contextFor(journal, cases), cases, journal);
    await campaign(`SQLite, journal ${journal}`, place, children);
    await children.close();
  });

  it.skipIf(cluster === null)('PostgreSQL', { timeout: HOUR_MS }, async () => {
    const children = startApplyChildren('postgres');
    const url = (await cluster?.createDatabase('kills')) ?? '';
    const client = await connect(url);
    const place = await createPostgresPlace(url, client, contextFor('postgres', cases), cases);
    await campaign('PostgreSQL', place, children);
    await client.end();
    await children.close();
  });
});
