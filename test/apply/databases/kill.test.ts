import { afterAll, describe, expect, it } from 'vitest';
import { campaign, campaignCases } from '../../support/campaign.js';
import { startApplyChildren } from '../support/apply-children.js';
import { makeCase, SHAPES, type Shape, storePlatformIds } from '../support/cases.js';
import { ENGINES, type Kind } from '../support/databases.js';
import { openCases } from '../support/job.js';
import { describeKills, KillLives, killMany, spread } from '../support/kill-lives.js';
import { IN_PLACE } from '../support/remap.js';

const FEW: readonly Shape[] = campaign({ small: ['plain', 'text', 'unique'], soak: SHAPES });
/** Kills, and in a row at most; shapes of the tables; the least share of kills halfway through the rows. */
const SIZES: Readonly<
  Record<Kind, { kills: number; chain: number; shapes: readonly Shape[]; halfway: number }>
> = {
  sqlite: {
    kills: campaign({ small: 2, full: 15, soak: 1000 }),
    chain: campaign({ small: 2, full: 8 }),
    shapes: campaign({ small: ['plain', 'text', 'json', 'unique', 'half_key'], soak: SHAPES }),
    halfway: 1 / 3,
  },
  postgres: {
    kills: campaign({ small: 2, full: 20, soak: 1000 }),
    chain: campaign({ small: 2, full: 8 }),
    shapes: FEW,
    halfway: 1 / 3,
  },
  mysql: {
    kills: campaign({ small: 2, full: 20, soak: 1000 }),
    chain: campaign({ small: 2, full: 8 }),
    shapes: FEW,
    halfway: 1 / 4,
  },
};

describe.each(ENGINES)('$product, whose client is killed', (engine) => {
  const { kills, chain, shapes, halfway } = SIZES[engine.kind];
  const children = startApplyChildren(engine.kind);
  afterAll(() => children.close());

  it.each(engine.kind === 'sqlite' ? campaignCases(['delete', 'wal'], 1) : [''])(
    `at ${kills} moments, applies exactly once and is taken back without a trace %s`,
    { timeout: 3_600_000 },
    async (journal) => {
      const first = engine.kind === 'sqlite' ? 1 : 200;
      const cases = shapes.map((shape, at) => storePlatformIds(makeCase(at + first, shape), at + 1));
      const job = await openCases(engine, `kills_${journal}`, cases, IN_PLACE, {
        batchRows: campaign({ small: 25, soak: 11 }),
        ...(journal === '' ? {} : { start: `PRAGMA journal_mode = ${journal}` }),
      });
      const lives = new KillLives(job, cases, children);
      await lives.measure();
      await killMany(lives, kills, { seed: 1, first: spread, chain });
      process.stderr.write(`${engine.product} ${journal}: ${describeKills(lives)}\n`);
      // Of two kills, chance decides where they fall.
      if (kills > 2) expect(lives.tally.halfway).toBeGreaterThan(kills * halfway);
      if (engine.kind === 'sqlite' && kills > 2)
        expect(lives.tally.withinTransactions).toBeGreaterThan(kills / 10);
    },
  );
});
