import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PgSession } from '../../../src/apply/dialects/postgres-session.js';
import { campaign } from '../../support/campaign.js';
import { startCutProxy } from '../support/cut-proxy.js';
import { CutScene, commitMessages, describeCuts, everyMessage, through } from '../support/cut-scene.js';
import { makeFolder } from '../support/folder.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';
import { createRemap, IN_PLACE, openContext } from '../support/remap.js';

/** One in so many messages is cut, and one in so many of those around a COMMIT; every message in the soak. */
const STRIDE = campaign({ small: 800, full: 64 });
const COMMIT_STRIDE = campaign({ small: 48, full: 1 });
/** A connection is cut for good after so many shares of its messages. */
const SHARES = campaign({ small: 2, full: 6, soak: 60 });

const cluster = await startPostgres();

describe.skipIf(cluster === null)('a connection to PostgreSQL that is cut', () => {
  const folder = makeFolder();

  it(`at every ${STRIDE}th message, and at every ${COMMIT_STRIDE}th around a COMMIT, is made anew: nothing is lost or done twice`, {
    timeout: 3_600_000,
  }, async () => {
    if (cluster === null) return;
    const scene = await CutScene.open(cluster, folder, 'cut');
    const messages = await scene.record();
    const cuts = [
      ...everyMessage(messages, STRIDE),
      ...commitMessages(messages).filter((_, at) => at % COMMIT_STRIDE === 0),
    ];
    for (const cut of cuts) await scene.live(cut);
    process.stderr.write(`PostgreSQL: ${describeCuts(scene, messages)}\n`);
    expect(scene.cuts).toBeGreaterThan(cuts.length);
    await scene.close();
  });

  it('for good ends the run with what was done in the ledger; it is carried on later', async () => {
    if (cluster === null) return;
    const scene = await CutScene.open(cluster, folder, 'cut_always');
    const messages = await scene.record();
    for (let at = 0; at < SHARES; at += 1) {
      for (const work of ['write', 'undo'] as const) {
        await scene.failFor(work, Math.floor((messages[work].length * at) / SHARES));
        await scene.finish(work);
      }
    }
    await scene.close();
  });

  it('between two statements of a step ends the step: none of it goes on over another connection', async () => {
    const url = (await cluster?.createDatabase('cut_step')) ?? '';
    const client = await connect(url);
    await client.query('CREATE TABLE t(attempt integer, place text)');
    const remap = join(folder, 'empty.db');
    createRemap(remap, []);
    const proxy = await startCutProxy(cluster?.port ?? 0);
    const session = new PgSession(
      { ...openContext(remap, IN_PLACE), env: { TEST_PG: through(url, proxy) } },
      { urlEnv: 'TEST_PG' },
    );
    let attempt = 0;
    await session.transaction('latest', async () => {
      attempt += 1;
      await session.exec(`INSERT INTO public.t VALUES (${attempt}, 'first')`);
      if (attempt === 1) {
        proxy.cutAll();
        await new Promise((done) => setTimeout(done, 50));
      }
      await session.exec(`INSERT INTO public.t VALUES (${attempt}, 'second')`);
    });
    expect(await readAll(client, 'SELECT * FROM t')).toEqual([
      ['2', 'first'],
      ['2', 'second'],
    ]);
    await session.close();
    await proxy.close();
    await client.end();
  });
});
