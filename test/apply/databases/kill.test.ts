import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { campaign, campaignCases } from '../../support/campaign.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { startApplyChildren } from '../support/apply-children.js';
import { makeCase, remapRowsOf, SHAPES, type Shape, storePlatformIds } from '../support/cases.js';
import { ENGINES, type Kind } from '../support/databases.js';
import { describeKills, KillLives, killMany, spread } from '../support/kill-lives.js';
import { createRemap, IN_PLACE, openContext } from '../support/remap.js';

const FEW: readonly Shape[] = campaign({ small: ['plain', 'text', 'unique'], soak: SHAPES });
/** Kills, and in a row at most; shapes of the tables; the least share of kills halfway through the rows. */
const SIZES: Readonly<
  Record<Kind, { kills: number; chain: number; shapes: readonly Shape[]; halfway: number }>
> = {
  sqlite: {
    kills: campaign({ small: 2, full: 30, soak: 1000 }),
    chain: campaign({ small: 2, full: 8 }),
    shapes: campaign({ small: ['plain', 'text', 'json', 'unique', 'half_key'], soak: SHAPES }),
    halfway: 1 / 3,
  },
  postgres: {
    kills: campaign({ small: 2, full: 40, soak: 1000 }),
    chain: campaign({ small: 2, full: 8 }),
    shapes: FEW,
    halfway: 1 / 3,
  },
  mysql: {
    kills: campaign({ small: 2, full: 30, soak: 1000 }),
    chain: campaign({ small: 2, full: 8 }),
    shapes: FEW,
    halfway: 1 / 4,
  },
};

describe.each(ENGINES)('$product, whose client is killed', (engine) => {
  const { kills, chain, shapes, halfway } = SIZES[engine.kind];
  const folder = makeFastFolder();
  const children = startApplyChildren(engine.kind);
  afterAll(async () => {
    await children.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(engine.kind === 'sqlite' ? campaignCases(['delete', 'wal'], 1) : [''])(
    `at ${kills} moments, applies exactly once and is taken back without a trace %s`,
    { timeout: 3_600_000 },
    async (journal) => {
      const first = engine.kind === 'sqlite' ? 1 : 200;
      const cases = shapes.map((shape, at) => storePlatformIds(makeCase(at + first, shape), at + 1));
      const remap = join(folder, `remap-${journal}.db`);
      createRemap(remap, cases.flatMap(remapRowsOf));
      const context = openContext(remap, IN_PLACE, { batchRows: campaign({ small: 25, soak: 11 }) });
      const database = await engine.createDatabase(`kills_${journal}`);
      if (journal !== '') await database.query(`PRAGMA journal_mode = ${journal}`);
      await database.createCases(cases);
      const lives = new KillLives(database, cases, context, children);
      await lives.measure();
      await killMany(lives, kills, { seed: 1, first: spread, chain });
      process.stderr.write(`${engine.product} ${journal}: ${describeKills(lives)}\n`);
      // Of two kills, chance decides where they fall.
      if (kills > 2) expect(lives.tally.halfway).toBeGreaterThan(kills * halfway);
      if (engine.kind === 'sqlite' && kills > 2)
        expect(lives.tally.withinTransactions).toBeGreaterThan(kills / 5);
      await database.close();
      context.remap.close();
    },
  );
});
