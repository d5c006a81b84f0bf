import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { makeCase, remapRowsOf, storePlatformIds } from '../support/cases.js';
import { ENGINES } from '../support/databases.js';
import { dyingStores } from '../support/dying-stores.js';
import { makeFolder } from '../support/folder.js';
import { describeKills, KillLives } from '../support/kill-lives.js';
import { createRemap, IN_PLACE, NEW, openContext } from '../support/remap.js';

/**
 * One in so many moments: of a server, a statement has one before it is sent and one after that, which may be its end or
 * not. SQLite's cost little.
 */
const SERVER_STRIDE = campaign({ small: 144, full: 16, soak: 1 });
const SQLITE_STRIDE = campaign({ small: 24, full: 1 });

const folder = makeFolder();

describe.each(ENGINES)('$product, left at any statement', (engine) => {
  const stride = engine.kind === 'sqlite' ? SQLITE_STRIDE : SERVER_STRIDE;
  const journals = engine.kind === 'sqlite' ? ['delete', 'wal'] : [''];

  it.each(
    journals.flatMap((journal) => [
      { journal, policy: IN_PLACE, what: 'in place' },
      { journal, policy: NEW, what: 'into new columns' },
    ]),
  )(
    'rewrites $what exactly once and comes back without a trace $journal',
    { timeout: 3_600_000 },
    async (one) => {
      const { journal, policy, what } = one;
      const cases = [
        storePlatformIds(makeCase(210, 'plain', 1), 0),
        makeCase(211, 'unique', 1),
        makeCase(212, 'json', 1),
      ];
      const remap = join(folder, `${engine.kind}${journal}${policy.mode}.db`);
      createRemap(remap, cases.flatMap(remapRowsOf));
      const context = openContext(remap, policy, { batchRows: 2 });
      const database = await engine.createDatabase(`statements_${policy.mode}`);
      if (journal !== '') await database.query(`PRAGMA journal_mode = ${journal}`);
      await database.createCases(cases);
      const lives = new KillLives(database, cases, context, dyingStores(database, context));
      await lives.measure();
      const [write, undo] = [lives.steps('write'), lives.steps('undo')];
      // From another one each time where not all are tried.
      const first = Math.floor(stride / 2);
      for (let at = first; at < Math.max(write, undo); at += stride) {
        await lives.live({ write: [{ kind: 'step', at }], undo: [{ kind: 'step', at: at % undo }] });
      }
      const where = stride === 1 ? 'each' : `one in ${stride}`;
      process.stderr.write(
        `${engine.product} ${journal} ${what}: left at ${where} of ${write} moments of a run and ${undo} of an undo: ${describeKills(lives)}\n`,
      );
      expect(lives.tally.kills).toBeGreaterThanOrEqual(Math.floor((write + undo) / stride) - 1);
      await database.close();
      context.remap.close();
    },
  );
});
