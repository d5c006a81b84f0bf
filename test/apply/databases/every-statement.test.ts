import { describe, expect, it } from 'vitest';
import { campaign } from '../../support/campaign.js';
import { makeCase, storePlatformIds } from '../support/cases.js';
import { ENGINES } from '../support/databases.js';
import { dyingStores } from '../support/dying-stores.js';
import { openCases } from '../support/job.js';
import { describeKills, KillLives } from '../support/kill-lives.js';
import { IN_PLACE, NEW } from '../support/remap.js';

/**
 * One in so many moments: of a server, a statement has one before it is sent and one after that, which may be its end or
 * not. SQLite's cost little.
 */
const SERVER_STRIDE = campaign({ small: 144, full: 32, soak: 1 });
const SQLITE_STRIDE = campaign({ small: 24, full: 1 });

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
      const start = journal === '' ? {} : { start: `PRAGMA journal_mode = ${journal}` };
      const job = await openCases(engine, `statements_${policy.mode}`, cases, policy, {
        batchRows: 2,
        ...start,
      });
      const lives = new KillLives(job, cases, dyingStores(job.database, job.context));
      await lives.measure();
      await lives.liveEach(stride);
      const [write, undo] = [lives.steps('write'), lives.steps('undo')];
      const where = stride === 1 ? 'each' : `one in ${stride}`;
      process.stderr.write(
        `${engine.product} ${journal} ${what}: left at ${where} of ${write} moments of a run and ${undo} of an undo: ${describeKills(lives)}\n`,
      );
      expect(lives.tally.kills).toBeGreaterThanOrEqual(Math.floor((write + undo) / stride) - 1);
    },
  );
});
