import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type mysql from 'mysql2/promise';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Tuning, WriteResult } from '../../../src/apply/context.js';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import type { MysqlTarget } from '../../../src/config/apply-targets.js';
import { campaign } from '../../support/campaign.js';
import { makeFolder } from '../support/folder.js';
import { foreignTable } from '../support/foreign-app.js';
import { FOREIGN_REMAP } from '../support/foreign-scene.js';
import { mysqlLedger } from '../support/ledger.js';
import { connectMysql, MYSQL_PRODUCT, readMysql, startMysql } from '../support/mysql.js';
import { createRemap, IN_PLACE, INVOICES, openContext, target } from '../support/remap.js';

const BATCH_ROWS = 10;
const KILLS = campaign({ small: 2, full: 100, soak: 1000 });

const server = await startMysql();

describe.skipIf(server === null)(`locks, limits and killed connections in ${MYSQL_PRODUCT}`, () => {
  if (server === null) return;
  const folder = makeFolder();
  const remap = join(folder, 'remap.db');
  createRemap(remap, FOREIGN_REMAP);
  const one = target({
    kind: 'mysql',
    urlEnv: 'TEST_MYSQL',
    table: 't',
    ids: [{ column: 'svc_id', model: INVOICES }],
  });
  const targets = [one].filter((each): each is MysqlTarget => each.kind === 'mysql');
  let databases = 0;
  let url = '';
  let client: mysql.Connection;
  let other: mysql.Connection;
  let retries = 0;

  beforeEach(async () => {
    databases += 1;
    retries = 0;
    url = await server.createDatabase(`locks_${databases}`);
    client = await connectMysql(url);
    other = await connectMysql(url);
    const rows = [...foreignTable(false)].map(([k, { id, note }]) => `(${k}, ${id}, '${note}')`);
    await client.query(`CREATE TABLE t(k int PRIMARY KEY, svc_id bigint, note text);
      INSERT INTO t VALUES ${rows.join(', ')}; CREATE TABLE faults(n int) ENGINE=MyISAM; INSERT INTO faults VALUES (0)`);
    return async () => {
      await client.end();
      await other.end();
    };
  });

  function openStore(tuning: Partial<Tuning>) {
    const context = openContext(remap, IN_PLACE, { batchRows: BATCH_ROWS, ...tuning });
    const pause = async () => {
      retries += 1;
    };
    return openMysqlStore({ ...context, sleep: pause, env: { TEST_MYSQL: url } }, targets);
  }

  async function apply(tuning: Partial<Tuning> = {}): Promise<WriteResult | undefined> {
    const store = openStore(tuning);
    try {
      const plans = await store.survey();
      expect(plans.flatMap(({ notes }) => notes.filter(({ level }) => level === 'blocks'))).toEqual([]);
      const [written] = await store.write(plans, { run: 'run-1', planSha256: 'p', isExact: true });
      return written;
    } finally {
      await store.close();
    }
  }

  const ids = async (reader = client) =>
    new Map((await readMysql(reader, 'SELECT k, svc_id FROM t')).map(([k, id]) => [k, id]));
  const expected = (isMapped: boolean) =>
    new Map([...foreignTable(isMapped)].map(([k, { id }]) => [String(k), String(id)]));

  /** Whole batches were carried out, as many as the ledger says, and no other row was touched. */
  async function assertIntact(batches: number): Promise<void> {
    expect(await mysqlLedger(client).progress()).toMatchObject([{ done: batches * BATCH_ROWS }]);
    const all = expected(false);
    for (const change of await mysqlLedger(client).changes()) all.set(change.key, change.new ?? '');
    expect(await ids()).toEqual(all);
  }

  /** Lets the row with key 45, in the fifth batch, do something when it is changed. */
  const onRow45 = (statement: string) =>
    client.query(
      `CREATE TRIGGER fault BEFORE UPDATE ON t FOR EACH ROW BEGIN IF OLD.k = 45 THEN ${statement} END IF; END`,
    );
  const raise = (errno: number) =>
    `SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = ${errno}, MESSAGE_TEXT = 'injected';`;

  it.each([1205, 1213, 1020])('error %i is tried again', async (errno) => {
    await onRow45(`UPDATE faults SET n = n + 1; IF (SELECT n FROM faults) <= 2 THEN ${raise(errno)} END IF;`);
    expect(await apply()).toMatchObject({ skippedCount: 0, changed: 300 });
    expect(retries).toBe(2);
    expect(await ids()).toEqual(expected(true));
  });

  it.each([1205, 1213])('error %i for ever ends the run; it is carried on later', async (errno) => {
    await onRow45(raise(errno));
    await expect(apply()).rejects.toMatchObject({ code: 'locked' });
    await assertIntact(4);
    await client.query('DROP TRIGGER fault');
    await apply();
    expect(await ids()).toEqual(expected(true));
  });

  it('gives up on a row that stays locked, and finishes when it is free', async () => {
    await other.query("BEGIN; UPDATE t SET note = 'other' WHERE k = 45");
    await expect(apply({ lockTimeoutMs: 20, attempts: 2 })).rejects.toMatchObject({ code: 'locked' });
    await assertIntact(4);
    await other.query('COMMIT');
    await apply();
    expect(await ids()).toEqual(expected(true));
  });

  // MySQL limits the time of SELECT alone.
  it.runIf(MYSQL_PRODUCT === 'MariaDB')('stops at a statement that takes too long', async () => {
    await onRow45('DO SLEEP(60);');
    await expect(apply({ statementTimeoutMs: 1000 })).rejects.toMatchObject({
      code: 'bad_input',
      facts: { errno: 1969 },
    });
    await assertIntact(4);
    await client.query('DROP TRIGGER fault');
    await apply();
    expect(await ids()).toEqual(expected(true));
  });

  it('a table that another session keeps from being altered is waited for no longer than the lock timeout', async () => {
    await other.query('BEGIN; SELECT count(*) FROM t');
    const context = openContext(remap, { ...IN_PLACE, mode: 'new' }, { lockTimeoutMs: 20, attempts: 2 });
    const store = openMysqlStore({ ...context, env: { TEST_MYSQL: url } }, targets);
    const plans = await store.survey();
    const write = () => store.write(plans, { run: 'run-1', planSha256: 'p', isExact: true });
    await expect(write()).rejects.toMatchObject({ code: 'locked' });
    await other.query('COMMIT');
    await store.write(await store.survey(), { run: 'run-2', planSha256: 'p', isExact: true });
    const filled = await readMysql(client, 'SELECT k, svc_id_v4 FROM t');
    expect(new Map(filled.map(([k, id]) => [k, id]))).toEqual(expected(true));
    await store.close();
  });

  it(`killed ${KILLS} times by the server, its connection is made anew: nothing is lost or done twice`, {
    timeout: 3_600_000,
  }, async () => {
    const before = await ids();
    let kills = 0;
    for (let round = 0; kills < KILLS; round += 1) {
      const over = { isOver: false };
      const killer = killConnections(other, over, round);
      const store = openStore({ attempts: 100 });
      try {
        const plans = await store.survey();
        const run = `run-${round}`;
        const [written] = await store.write(plans, { run, planSha256: 'p', isExact: true });
        expect(written).toMatchObject({ changed: 300, skippedCount: 0 });
        // Only the killer's own connection is never killed.
        expect(await ids(other)).toEqual(expected(true));
        await store.undo(run);
      } finally {
        over.isOver = true;
        kills += await killer;
      }
      expect(await ids()).toEqual(before);
      await store.close();
    }
    process.stderr.write(`${MYSQL_PRODUCT}: connections killed ${kills} times\n`);
  });
});

/** Kills every session but the test's own now and then, ever more rarely, so that slow machines get on; returns how many. */
async function killConnections(
  client: mysql.Connection,
  over: { readonly isOver: boolean },
  seed: number,
): Promise<number> {
  let kills = 0;
  for (let at = 0; !over.isOver; at += 1) {
    await sleep((15 + ((seed * 13 + at * 7) % 40)) * 1.05 ** at);
    const rows = await readMysql(
      client,
      "SELECT id FROM information_schema.PROCESSLIST WHERE db = DATABASE() AND id <> CONNECTION_ID() AND time < 1 AND command <> 'Sleep' OR db = DATABASE() AND id IN (SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX) AND id <> CONNECTION_ID()",
    );
    for (const [id] of rows) {
      try {
        await client.query(`KILL CONNECTION ${id}`);
        kills += 1;
      } catch {
        // It has ended by itself.
      }
    }
  }
  return kills;
}
