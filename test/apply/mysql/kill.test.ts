import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { startApplyChildren } from '../support/apply-children.js';
import { makeCase, remapRowsOf, type Shape, storePlatformIds } from '../support/cases.js';
import { describeKills, KillLives, killMany, spread } from '../support/kill-lives.js';
import { connectMysql, MYSQL_PRODUCT, startMysql } from '../support/mysql.js';
import { createMysqlPlace } from '../support/mysql-kill-place.js';
import { createRemap, IN_PLACE, openContext } from '../support/remap.js';

const KILLS = campaign({ small: 2, full: 60, soak: 1000 });
const SHAPES: readonly Shape[] = ['plain', 'text', 'unique'];

const server = await startMysql();

describe.skipIf(server === null)(MYSQL_PRODUCT, () => {
  const folder = makeFastFolder();
  const children = startApplyChildren('mysql');
  afterAll(async () => {
    await children.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it(`killed at ${KILLS} moments it is applied exactly once and taken back without a trace`, {
    timeout: 3_600_000,
  }, async () => {
    if (server === null) return;
    const cases = SHAPES.map((shape, at) => storePlatformIds(makeCase(at + 200, shape), at + 1));
    const remap = join(folder, 'remap.db');
    createRemap(remap, cases.flatMap(remapRowsOf));
    const context = openContext(remap, IN_PLACE, { batchRows: 25 });
    const url = await server.createDatabase('kills');
    const client = await connectMysql(url);
    const lives = new KillLives(await createMysqlPlace(url, client, context, cases), children);
    await lives.measure();
    await killMany(lives, KILLS, { seed: 1, first: spread, chain: campaign({ small: 2, full: 8 }) });
    process.stderr.write(`${MYSQL_PRODUCT}: ${describeKills(lives)}\n`);
    expect(lives.tally.halfway).toBeGreaterThan(KILLS / 4);
    await client.end();
    context.remap.close();
  });
});
