import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { startApplyChildren } from '../support/apply-children.js';
import { makeCase, remapRowsOf, type Shape, storePlatformIds } from '../support/cases.js';
import { describeKills, KillLives, killMany, spread } from '../support/kill-lives.js';
import { createRemap, IN_PLACE, openContext } from '../support/remap.js';
import { createSqlitePlace } from '../support/sqlite-kill-place.js';

const KILLS = campaign({ small: 3, full: 60 });
const SHAPES: readonly Shape[] = ['plain', 'text', 'json', 'unique', 'half_key'];

const folder = makeFastFolder();
const children = startApplyChildren('sqlite');
afterAll(async () => {
  await children.close();
  rmSync(folder, { recursive: true, force: true });
});

it.each(['delete', 'wal'] as const)(
  `killed at ${KILLS} moments it is applied exactly once and taken back without a trace (journal: %s)`,
  { timeout: 600_000 },
  async (journal) => {
    const cases = SHAPES.map((shape, at) => storePlatformIds(makeCase(at + 1, shape), at + 1));
    const remap = join(folder, `remap-${journal}.db`);
    createRemap(remap, cases.flatMap(remapRowsOf));
    const context = openContext(remap, IN_PLACE, { batchRows: 25 });
    const place = createSqlitePlace(join(folder, `${journal}.db`), context, cases, journal);
    const lives = new KillLives(place, children);
    await lives.measure();
    await killMany(lives, KILLS, { seed: 1, first: spread, chain: campaign({ small: 3, full: 8 }) });
    process.stderr.write(`SQLite, journal ${journal}: ${describeKills(lives)}\n`);
    expect(lives.tally.halfway).toBeGreaterThan(KILLS / 3);
    expect(lives.tally.withinTransactions).toBeGreaterThan(KILLS / 5);
    context.remap.close();
  },
);
