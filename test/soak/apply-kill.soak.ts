import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startApplyChildren } from '../apply/support/apply-children.js';
import { makeCase, remapRowsOf, SHAPES } from '../apply/support/cases.js';
import { ENGINES } from '../apply/support/databases.js';
import { makeFolder } from '../apply/support/folder.js';
import { describeKills, KillLives, killMany } from '../apply/support/kill-lives.js';
import { createRemap, IN_PLACE, openContext } from '../apply/support/remap.js';

const KILLS = 1000;

describe.each(ENGINES)('$product', (engine) => {
  const folder = makeFolder();
  const cases = SHAPES.map((shape, at) => makeCase(at + 300, shape));

  it.each(engine.kind === 'sqlite' ? ['delete', 'wal'] : [''])(
    'is rewritten exactly once and taken back without a trace, however often the process is killed %s',
    { timeout: 3_600_000 },
    async (journal) => {
      const children = startApplyChildren(engine.kind);
      const remap = join(folder, `remap-${journal}.db`);
      createRemap(remap, cases.flatMap(remapRowsOf));
      const context = openContext(remap, IN_PLACE, { batchRows: 11 });
      const database = await engine.createDatabase(`kills_${journal}`);
      if (journal !== '') await database.query(`PRAGMA journal_mode = ${journal}`);
      await database.createCases(cases);
      const lives = new KillLives(database, cases, context, children);
      await lives.measure();
      await killMany(lives, KILLS, { seed: 7, first: (life, steps) => life % steps, chain: 5 });
      process.stdout.write(`${engine.product} ${journal}: ${describeKills(lives)}\n`);
      expect(lives.tally.kills).toBeGreaterThanOrEqual(KILLS);
      await database.close();
      context.remap.close();
      await children.close();
    },
  );
});
