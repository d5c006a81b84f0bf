import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import { MysqlSession } from '../../../src/apply/dialects/mysql-session.js';
import type { MysqlTarget } from '../../../src/config/apply-targets.js';
import { campaign } from '../../support/campaign.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { type CutProxy, type Message, mysqlSize, startCutProxy } from '../support/cut-proxy.js';
import { through } from '../support/cut-scene.js';
import { foreignTable } from '../support/foreign-app.js';
import { FOREIGN_REMAP } from '../support/foreign-scene.js';
import { connectMysql, MYSQL_PRODUCT, readMysql, startMysql } from '../support/mysql.js';
import { createRemap, IN_PLACE, INVOICES, openContext, target } from '../support/remap.js';

/** One in so many messages is cut; and one in so many of the client's, with the answer lost. */
const STRIDE = campaign({ small: 1000, full: 200, soak: 24 });
const CLIENT_STRIDE = campaign({ small: 40, full: 10, soak: 2 });

const server = await startMysql();

describe.skipIf(server === null)(`a connection to ${MYSQL_PRODUCT} that is cut`, () => {
  if (server === null) return;
  const folder = makeFastFolder();
  const remap = join(folder, 'remap.db');
  createRemap(remap, FOREIGN_REMAP);
  const targets = [
    target({ kind: 'mysql', urlEnv: 'TEST_MYSQL', table: 't', ids: [{ column: 'svc_id', model: INVOICES }] }),
  ].filter((each): each is MysqlTarget => each.kind === 'mysql');
  const source = { urlEnv: 'TEST_MYSQL' };
  let url = '';
  let proxy: CutProxy;

  beforeAll(async () => {
    url = await server.createDatabase('cut');
    proxy = await startCutProxy(server.port, mysqlSize);
  });
  afterAll(async () => {
    await proxy.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const context = (signal = new AbortController().signal) => ({
    ...openContext(remap, IN_PLACE, { batchRows: 60 }),
    env: { TEST_MYSQL: through(url, proxy) },
    signal,
  });

  it(`at every ${STRIDE}th message, and after every ${CLIENT_STRIDE}th of ours, is made anew: nothing is lost or done twice`, {
    timeout: 3_600_000,
  }, async () => {
    const client = await connectMysql(url);
    const rows = [...foreignTable(false)].map(([k, { id, note }]) => `(${k}, ${id}, '${note}')`);
    await client.query(
      `CREATE TABLE t(k int PRIMARY KEY, svc_id bigint, note text); INSERT INTO t VALUES ${rows.join(', ')}`,
    );
    const ids = async () =>
      new Map((await readMysql(client, 'SELECT k, svc_id FROM t')).map(([k, id]) => [k, id]));
    const expected = (isMapped: boolean) =>
      new Map([...foreignTable(isMapped)].map(([k, { id }]) => [String(k), id === null ? null : String(id)]));
    let lives = 0;
    /** Plans, writes and takes back. */
    async function live(judge: CutProxy['judge']): Promise<void> {
      lives += 1;
      const store = openMysqlStore(context(), targets);
      proxy.count = 0;
      proxy.judge = judge;
      const plans = await store.survey();
      const [written] = await store.write(plans, { run: `run-${lives}`, planSha256: 'p', isExact: true });
      expect(written).toMatchObject({ changed: 300, skippedCount: 0 });
      expect(await ids()).toEqual(expected(true));
      await store.undo(`run-${lives}`);
      expect(await ids()).toEqual(expected(false));
      await store.close();
    }
    await live(() => 'pass');
    const messages: Message[] = [];
    await live((message) => {
      messages.push(message);
      return 'pass';
    });
    const ours = messages.filter(({ direction }) => direction === 'frontend').map(({ at }) => at);
    const cuts = [
      ...messages
        .filter((_, at) => at % STRIDE === 0)
        .map(({ at }) => ({ at, verdict: 'cut_before' as const })),
      ...ours
        .filter((_, at) => at % CLIENT_STRIDE === 0)
        .map((at) => ({ at, verdict: 'cut_after' as const })),
    ];
    let made = 0;
    for (const cut of cuts) {
      await live((message) => {
        if (message.at !== cut.at) return 'pass';
        made += 1;
        return cut.verdict;
      });
    }
    process.stderr.write(`${MYSQL_PRODUCT}: ${made} cuts in jobs of ${messages.length} messages\n`);
    expect(made).toBe(cuts.length);
    await client.end();
  });

  it('while rows are read ends the reading with an error', async () => {
    proxy.judge = () => 'pass';
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
    proxy.judge = () => 'pass';
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
