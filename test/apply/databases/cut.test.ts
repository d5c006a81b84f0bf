import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MysqlSession } from '../../../src/apply/dialects/mysql-session.js';
import { PgSession } from '../../../src/apply/dialects/postgres-session.js';
import { campaign } from '../../support/campaign.js';
import { makeCase } from '../support/cases.js';
import { CutStores, openProxy } from '../support/cut-stores.js';
import { type Engine, only } from '../support/databases.js';
import { newDatabase, openCases } from '../support/job.js';
import { KillLives } from '../support/kill-lives.js';
import { IN_PLACE, makeRemap, openContext } from '../support/remap.js';

/**
 * One in so many steps is cut, of which a message has two (hence odd), and one in so many of the six around each COMMIT. The second
 * of small campaigns loses the answer to a COMMIT that records a run.
 */
const STRIDE = campaign({ small: 801, full: 127, soak: 1 });
const COMMIT_STRIDE = campaign({ small: 14, full: 2, soak: 1 });
/** A connection is cut for good after so many shares of its messages. */
const SHARES = campaign({ small: 1, full: 3, soak: 60 });
/** Two small tables, one rewritten in batches and one at once. */
const CASES = [makeCase(4, 'plain', 2), makeCase(7, 'unique', 1)];

async function openLives(engine: Engine, name: string) {
  const job = await openCases(engine, name, CASES, IN_PLACE, { batchRows: 4 });
  const stores = await CutStores.open(job.database, job.context);
  onTestFinished(() => stores.close());
  const lives = new KillLives(job, CASES, stores);
  await lives.measure();
  return { stores, lives };
}

describe.each(only('postgres', 'mysql'))('a connection to $product that is cut', (engine) => {
  it(`at every ${STRIDE}th moment, and at every ${COMMIT_STRIDE}th around a COMMIT, is made anew: nothing is lost or done twice`, {
    timeout: 3_600_000,
  }, async () => {
    const { stores, lives } = await openLives(engine, 'cut');
    await lives.liveEach(STRIDE);
    // The first job made the ledger, with a COMMIT of its own.
    await lives.measure();
    for (let step = 0; step < 6 * stores.commits.write; step += COMMIT_STRIDE) {
      stores.fromCommit = Math.floor(step / 6);
      await lives.liveAt(step % 6, step % 6);
    }
    process.stderr.write(
      `${engine.product}: ${stores.cuts} cuts in applies of ${lives.steps('write') / 2} messages and undos of ${lives.steps('undo') / 2}\n`,
    );
    expect([lives.tally.kills, stores.cuts]).toEqual([0, 2 * lives.lives]);
  });

  it('for good ends the run with what was done in the ledger; it is carried on later', async () => {
    const { stores, lives } = await openLives(engine, 'cut_always');
    stores.isForGood = true;
    const step = (work: 'write' | 'undo', at: number) =>
      2 * Math.floor((lives.steps(work) / 2) * (at / SHARES));
    for (let at = 0; at < SHARES; at += 1) await lives.liveAt(step('write', at), step('undo', at));
    expect(lives.tally.kills).toBe(2 * SHARES);
  });
});

const remap = makeRemap([]);
const SOURCE = { urlEnv: 'TEST_URL' };

/** A database behind a proxy, and the context of a session by way of it. */
async function open(engine: Engine, signal = new AbortController().signal) {
  const database = await newDatabase(engine, 'cut_step');
  const { proxy, through } = await openProxy(database);
  onTestFinished(() => proxy.close());
  return {
    database,
    proxy,
    context: { ...openContext(remap, IN_PLACE), env: { TEST_URL: through }, signal },
  };
}

it.each(only('postgres'))(
  'a step in $product, cut between two of its statements, ends: none of it goes on over another connection',
  async (engine) => {
    const { database, proxy, context } = await open(engine);
    await database.query('CREATE TABLE t(attempt integer, place text)');
    const session = new PgSession(context, SOURCE);
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
  },
);

it.each(only('mysql'))('reading from $product, cut, ends with an error', async (engine) => {
  const { proxy, context } = await open(engine);
  const session = new MysqlSession(context, SOURCE);
  await session.one('SELECT 1');
  const reading = drain(session.read('SELECT SLEEP(60)'));
  await setTimeout(300);
  proxy.cutAll();
  await expect(reading).rejects.toThrow('connection closed');
  expect(await session.one('SELECT 2')).toBe('2');
  await session.close();
});

it.each(only('mysql').flatMap((engine) => (['query', 'read'] as const).map((how) => ({ engine, how }))))(
  'an abort ends a running $how of $engine.product at once',
  async ({ engine, how }) => {
    const abort = new AbortController();
    const { context } = await open(engine, abort.signal);
    const session = new MysqlSession(context, SOURCE);
    await session.one('SELECT 1');
    const sql = 'SELECT SLEEP(60)';
    const running = how === 'query' ? session.query(sql) : drain(session.read(sql));
    const failed = expect(running).rejects.toThrow(/connection/i);
    await setTimeout(300);
    abort.abort();
    await failed;
    await session.close();
  },
);

async function drain(rows: AsyncGenerator<unknown>): Promise<void> {
  for await (const _ of rows);
}
