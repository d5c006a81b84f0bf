import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { startApplyChildren } from '../support/apply-children.js';
import { makeCase, remapRowsOf, type Shape, storePlatformIds } from '../support/cases.js';
import { describeKills, KillLives, killMany, spread } from '../support/kill-lives.js';
import { connect, startPostgres } from '../support/postgres.js';
import { createPostgresPlace } from '../support/postgres-kill-place.js';
import { dumpDatabase } from '../support/postgres-tables.js';
import { createRemap, IN_PLACE, openContext } from '../support/remap.js';

const KILLS = campaign({ small: 2, full: 80 });
const SHAPES: readonly Shape[] = ['plain', 'text', 'unique'];

const cluster = await startPostgres();

describe.skipIf(cluster === null)('PostgreSQL', () => {
  const folder = makeFastFolder();
  const children = startApplyChildren('postgres');
  afterAll(async () => {
    await children.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it(`killed at ${KILLS} moments it is applied exactly once and taken back without a trace`, {
    timeout: 600_000,
  }, async () => {
    if (cluster === null) return;
    const cases = SHAPES.map((shape, at) => storePlatformIds(makeCase(at + 200, shape), at + 1));
    const remap = join(folder, 'remap.db');
    createRemap(remap, cases.flatMap(remapRowsOf));
    const context = openContext(remap, IN_PLACE, { batchRows: 25 });
    const url = await cluster.createDatabase('kills');
    const client = await connect(url);
    const lives = new KillLives(await createPostgresPlace(url, client, context, cases), children);
    const before = dumpDatabase(cluster, url);
    await lives.measure();
    await killMany(lives, KILLS, { seed: 1, first: spread, chain: campaign({ small: 2, full: 8 }) });
    expect(dumpDatabase(cluster, url)).toBe(before);
    process.stderr.write(`PostgreSQL: ${describeKills(lives)}\n`);
    expect(lives.tally.halfway).toBeGreaterThan(KILLS / 3);
    await client.end();
    context.remap.close();
  });
});
