import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MysqlSession } from '../../../src/apply/dialects/mysql-session.js';
import { PgSession } from '../../../src/apply/dialects/postgres-session.js';
import { campaign } from '../../support/campaign.js';
import type { CutProxy } from '../support/cut-proxy.js';
import { CutScene, commitMessages, describeCuts, everyMessage, openProxy } from '../support/cut-scene.js';
import { type Database, only } from '../support/databases.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, IN_PLACE, openContext } from '../support/remap.js';

/** One in so many messages is cut, and one in so many of those around a COMMIT. */
const STRIDE = campaign({ small: 800, full: 128, soak: 1 });
const COMMIT_STRIDE = campaign({ small: 96, full: 2, soak: 1 });
/** A connection is cut for good after so many shares of its messages. */
const SHARES = campaign({ small: 1, full: 3, soak: 60 });

const folder = makeFolder();
const remap = join(folder, 'empty.db');
createRemap(remap, []);

describe.each(only('postgres', 'mysql'))('a connection to $product that is cut', (engine) => {
  it(`at every ${STRIDE}th message, and at every ${COMMIT_STRIDE}th around a COMMIT, is made anew: nothing is lost or done twice`, {
    timeout: 3_600_000,
  }, async () => {
    const scene = await CutScene.open(engine, folder, 'cut');
    const messages = await scene.record();
    const cuts = [
      ...everyMessage(messages, STRIDE),
      ...commitMessages(messages).filter((_, at) => at % COMMIT_STRIDE === 0),
    ];
    for (const cut of cuts) await scene.live(cut);
    process.stderr.write(`${engine.product}: ${describeCuts(scene, messages)}\n`);
    expect(scene.cuts).toBeGreaterThan(cuts.length);
    await scene.close();
  });

  it('for good ends the run with what was done in the ledger; it is carried on later', async () => {
    const scene = await CutScene.open(engine, folder, 'cut_always');
    const messages = await scene.record();
    for (let at = 0; at < SHARES; at += 1) {
      for (const work of ['write', 'undo'] as const) {
        await scene.failFor(work, Math.floor((messages[work].length * at) / SHARES));
        await scene.finish(work);
      }
    }
    await scene.close();
  });
});

describe.each(only('postgres'))('a connection to $product', (engine) => {
  it('that is cut between two statements of a step ends the step: none of it goes on over another connection', async () => {
    const database = await engine.createDatabase('cut_step');
    await database.query('CREATE TABLE t(attempt integer, place text)');
    const remap = join(folder, 'empty.db');
    createRemap(remap, []);
    const { proxy, through } = await openProxy(database);
    const session = new PgSession(
      { ...openContext(remap, IN_PLACE), env: { TEST_URL: through } },
      { urlEnv: 'TEST_URL' },
    );
    let attempt = 0;
    await session.transaction('latest', async () => {
      attempt += 1;
      await session.exec(`INSERT INTO public.t VALUES (${attempt}, 'first')`);
      if (attempt === 1) {
        proxy.cutAll();
        await setTimeout(50);
      }
      await session.exec(`INSERT INTO public.t VALUES (${attempt}, 'second')`);
    });
    expect(await database.query('SELECT * FROM t')).toEqual([
      ['2', 'first'],
      ['2', 'second'],
    ]);
    await session.close();
    await proxy.close();
    await database.close();
  });
});

describe.each(only('mysql'))('a connection to $product', (engine) => {
  let database: Database;
  let proxy: CutProxy;
  let through = '';
  beforeAll(async () => {
    database = await engine.createDatabase('cut');
    ({ proxy, through } = await openProxy(database));
  });
  afterAll(async () => {
    await proxy.close();
    await database.close();
  });
  const source = { urlEnv: 'TEST_URL' };
  const context = (signal = new AbortController().signal) => ({
    ...openContext(remap, IN_PLACE),
    env: { TEST_URL: through },
    signal,
  });

  it('that is cut while rows are read ends the reading with an error', async () => {
    const session = new MysqlSession(context(), source);
    await session.one('SELECT 1');
    const reading = drain(session.read('SELECT SLEEP(60)'));
    await setTimeout(300);
    proxy.cutAll();
    await expect(reading).rejects.toThrow('connection closed');
    expect(await session.one('SELECT 2')).toBe('2');
    await session.close();
  });

  it.each(['query', 'read'] as const)('an abort ends a running %s at once', async (how) => {
    const abort = new AbortController();
    const session = new MysqlSession(context(abort.signal), source);
    await session.one('SELECT 1');
    const sql = 'SELECT SLEEP(60)';
    const running = how === 'query' ? session.query(sql) : drain(session.read(sql));
    const failed = expect(running).rejects.toThrow(/connection/i);
    await setTimeout(300);
    abort.abort();
    await failed;
    await session.close();
  });
});

async function drain(rows: AsyncGenerator<unknown>): Promise<void> {
  for await (const _ of rows);
}
