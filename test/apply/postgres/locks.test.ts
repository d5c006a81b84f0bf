import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Tuning, WriteResult } from '../../../src/apply/context.js';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import type { PostgresTarget } from '../../../src/config/apply-targets.js';
import { campaignCases } from '../../support/campaign.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { foreignTable } from '../support/foreign-app.js';
import { FOREIGN_REMAP } from '../support/foreign-scene.js';
import { postgresLedger } from '../support/ledger.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';
import { createRemap, IN_PLACE, INVOICES, openContext, target } from '../support/remap.js';

const BATCH_ROWS = 10;
const ATTEMPTS = 4;

const cluster = await startPostgres();

describe.skipIf(cluster === null)('PostgreSQL with others in the way', () => {
  const folder = makeFastFolder();
  const remap = join(folder, 'remap.db');
  createRemap(remap, FOREIGN_REMAP);
  let url = '';
  let client: pg.Client;
  let other: pg.Client;
  let retries = 0;

  beforeAll(async () => {
    url = (await cluster?.createDatabase('locks')) ?? '';
    client = await connect(url);
    // Whoever waits last finds the deadlock: the others are patient.
    await client.query("ALTER DATABASE locks SET deadlock_timeout = '20ms'");
    other = await connect(url);
    await other.query("SET deadlock_timeout = '60s'");
  });

  afterAll(async () => {
    for (const one of [client, other]) await one.end();
    rmSync(folder, { recursive: true, force: true });
  });

  beforeEach(async () => {
    retries = 0;
    const rows = [...foreignTable(false)].map(([k, { id, note }]) => `(${k}, ${id}, '${note}')`);
    await client.query(`DROP SCHEMA IF EXISTS svc_migrate CASCADE; DROP TABLE IF EXISTS t; DROP SEQUENCE IF EXISTS faults;
      CREATE TABLE t(k integer PRIMARY KEY, svc_id bigint, note text); INSERT INTO t VALUES ${rows.join(', ')};
      CREATE SEQUENCE faults`);
  });

  async function apply(tuning: Partial<Tuning> = {}): Promise<WriteResult> {
    const ids = [{ column: 'svc_id', model: INVOICES }];
    const one = target({ kind: 'postgres', urlEnv: 'TEST_PG', table: 't', ids });
    const targets = [one].filter((each): each is PostgresTarget => each.kind === 'postgres');
    const context = openContext(remap, IN_PLACE, { batchRows: BATCH_ROWS, attempts: ATTEMPTS, ...tuning });
    const wait = async (ms: number) => {
      retries += 1;
      await sleep(ms / 10);
    };
    const store = openPostgresStore({ ...context, sleep: wait, env: { TEST_PG: url } }, targets);
    try {
      const plans = await store.survey();
      const [written] = await store.write(plans, { run: 'run', planSha256: 'p', isExact: true });
      if (written === undefined) throw new Error('nothing was written');
      return written;
    } finally {
      await store.close();
      context.remap.close();
    }
  }

  const idsOf = async () =>
    new Map((await readAll(client, 'SELECT k, svc_id FROM t')).map(([k, id]) => [Number(k), Number(id)]));

  /** Every row holds its new id, and the ledger says so. */
  async function assertDone(written: WriteResult): Promise<void> {
    expect(await idsOf()).toEqual(new Map([...foreignTable(true)].map(([k, { id }]) => [k, id])));
    expect(written).toMatchObject({ skippedCount: 0, changed: foreignTable(true).size });
    expect(await postgresLedger(client).changes()).toHaveLength(foreignTable(true).size);
  }

  /** Whole batches were carried out, as many as the ledger says, and no other row was touched. */
  async function assertIntact(batches: number): Promise<void> {
    expect(await postgresLedger(client).progress()).toMatchObject([
      { listed: foreignTable(true).size, done: batches * BATCH_ROWS },
    ]);
    const expected = new Map([...foreignTable(false)].map(([k, { id }]) => [k, id]));
    for (const change of await postgresLedger(client).changes())
      expected.set(Number(change.key), Number(change.new));
    expect(await idsOf()).toEqual(expected);
  }

  /** Lets the row with key 45, in the fifth batch, do something when it is changed. */
  async function onRow45(statement: string): Promise<void> {
    await client.query(`CREATE OR REPLACE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN ${statement} RETURN NEW; END $$;
      CREATE TRIGGER fault BEFORE UPDATE ON t FOR EACH ROW WHEN (OLD.k = 45) EXECUTE FUNCTION fault()`);
  }

  const faults = ['40P01', '40001', '55P03'].flatMap((code) =>
    Array.from({ length: ATTEMPTS - 1 }, (_, at) => [code, at + 1] as const),
  );

  it.each(campaignCases(faults, 3))('%s, %i times in a row, is tried again', async (code, times) => {
    await onRow45(
      `IF nextval('faults') <= ${times} THEN RAISE EXCEPTION 'injected' USING ERRCODE = '${code}'; END IF;`,
    );
    await assertDone(await apply());
    expect(retries).toBe(times);
  });

  it.each(['40P01', '40001', '55P03'])('%s for ever ends the run; it is carried on later', async (code) => {
    await onRow45(`RAISE EXCEPTION 'injected' USING ERRCODE = '${code}';`);
    await expect(apply()).rejects.toMatchObject({ code: 'locked' });
    expect(retries).toBe(ATTEMPTS - 1);
    await assertIntact(4);
    await client.query('DROP TRIGGER fault ON t');
    await assertDone(await apply());
  });

  it('gives way in a real deadlock, so that the other goes on, and then does its own', async () => {
    // The batch goes on when the other waits for it; the next time it does at once.
    await onRow45(
      "IF nextval('faults') = 1 THEN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted) LOOP PERFORM pg_sleep(0.005); END LOOP; END IF;",
    );
    await other.query("BEGIN; UPDATE t SET note = 'other' WHERE k = 48");
    const written = apply();
    await untilSleeping();
    // Waits for row 41, which the batch holds; the batch will wait for row 48.
    await other.query("UPDATE t SET note = 'other' WHERE k = 41; COMMIT");
    await assertDone(await written);
    expect(retries).toBe(1);
    expect(await readAll(client, "SELECT k FROM t WHERE note = 'other' ORDER BY k")).toEqual([
      ['41'],
      ['48'],
    ]);
  });

  /** Until the batch is in the middle. */
  async function untilSleeping(): Promise<void> {
    const sql =
      "SELECT 1 FROM pg_stat_activity WHERE application_name = 'svc-migrate' AND wait_event = 'PgSleep'";
    while ((await readAll(client, sql)).length === 0) await sleep(5);
  }

  it('gives up on a row that stays locked, and finishes when it is free', async () => {
    await other.query("BEGIN; UPDATE t SET note = 'other' WHERE k = 45");
    await expect(apply({ lockTimeoutMs: 20 })).rejects.toMatchObject({ code: 'locked' });
    expect(retries).toBe(ATTEMPTS - 1);
    await assertIntact(4);
    await other.query('COMMIT');
    await assertDone(await apply());
  });

  it('writes nothing where a table that must be rewritten at once stays locked', async () => {
    // Every id is there once: rewriting them is one transaction under a lock on the table.
    await client.query('DELETE FROM t WHERE k > 50; ALTER TABLE t ADD UNIQUE (svc_id)');
    await other.query("BEGIN; UPDATE t SET note = 'other' WHERE k = 45");
    const before = await idsOf();
    await expect(apply({ lockTimeoutMs: 20 })).rejects.toMatchObject({ code: 'locked' });
    expect(await idsOf()).toEqual(before);
    expect(await postgresLedger(client).states()).toEqual([]);
    await other.query('COMMIT');
    await apply();
    const expected = [...foreignTable(true)].filter(([k]) => k <= 50).map(([k, { id }]) => [k, id] as const);
    expect(await idsOf()).toEqual(new Map(expected));
  });

  it('stops at a statement that takes too long, and finishes when it does not', async () => {
    await onRow45('PERFORM pg_sleep(60);');
    await expect(apply({ statementTimeoutMs: 1000 })).rejects.toMatchObject({
      code: 'bad_input',
      facts: { sqlstate: '57014' },
    });
    await assertIntact(4);
    await client.query('DROP TRIGGER fault ON t');
    await assertDone(await apply());
  });
});
