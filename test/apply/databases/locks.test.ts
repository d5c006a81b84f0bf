import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Tuning, WriteResult } from '../../../src/apply/context.js';
import type { Policy } from '../../../src/apply/plan.js';
import { campaign, campaignCases } from '../../support/campaign.js';
import { type Database, type Kind, only, type Session } from '../support/databases.js';
import { foreignTable } from '../support/foreign-app.js';
import { FOREIGN_REMAP, FOREIGN_TABLE } from '../support/foreign-scene.js';
import { type Job, openJob } from '../support/job.js';
import { IN_PLACE, INVOICES, makeRemap } from '../support/remap.js';

const BATCH_ROWS = 10;
const ATTEMPTS = 4;
const KILLS = campaign({ small: 2, full: 50, soak: 1000 });

/** What the servers do in their own words. */
const SERVERS: Readonly<Partial<Record<Kind, Words>>> = {
  postgres: {
    errors: ['40P01', '40001', '55P03'],
    timeout: { sqlstate: '57014' },
    counter: 'CREATE SEQUENCE faults',
    raise: (code) => `RAISE EXCEPTION 'injected' USING ERRCODE = '${code}';`,
    times: (count, then) => `IF nextval('faults') <= ${count} THEN ${then} END IF;`,
    sleep: 'PERFORM pg_sleep(60);',
    trigger: (
      statement,
    ) => `CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${statement} RETURN NEW; END $$;
      CREATE TRIGGER fault BEFORE UPDATE ON t FOR EACH ROW WHEN (OLD.k = 45) EXECUTE FUNCTION fault()`,
    dropTrigger: 'DROP TRIGGER fault ON t',
    sessions:
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'",
    kill: (id) => `SELECT pg_terminate_backend(${id})`,
  },
  mysql: {
    errors: ['1205', '1213', '1020'],
    timeout: { errno: 1969 },
    counter: 'CREATE TABLE faults(n int) ENGINE=MyISAM; INSERT INTO faults VALUES (0)',
    raise: (code) => `SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = ${code}, MESSAGE_TEXT = 'injected';`,
    times: (count, then) =>
      `UPDATE faults SET n = n + 1; IF (SELECT n FROM faults) <= ${count} THEN ${then} END IF;`,
    sleep: 'DO SLEEP(60);',
    trigger: (statement) =>
      `CREATE TRIGGER fault BEFORE UPDATE ON t FOR EACH ROW BEGIN IF OLD.k = 45 THEN ${statement} END IF; END`,
    dropTrigger: 'DROP TRIGGER fault',
    sessions: `SELECT id FROM information_schema.PROCESSLIST WHERE db = DATABASE() AND id <> CONNECTION_ID() AND time < 1 AND command <> 'Sleep'
      OR db = DATABASE() AND id IN (SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX) AND id <> CONNECTION_ID()`,
    kill: (id) => `KILL CONNECTION ${id}`,
  },
};

interface Words {
  /** Errors that another attempt may not meet. */
  readonly errors: readonly string[];
  /** The facts of the error of a statement that took too long. */
  readonly timeout: object;
  /** Makes `faults`, which counts how often something happened, also where that is rolled back. */
  readonly counter: string;
  raise(code: string): string;
  times(count: number, then: string): string;
  readonly sleep: string;
  /** Lets the row with key 45, in the fifth batch, do something when it is changed. */
  trigger(statement: string): string;
  readonly dropTrigger: string;
  /** Sessions of others that are at work, and how one is killed. */
  readonly sessions: string;
  kill(id: string): string;
}

const remap = makeRemap(FOREIGN_REMAP);

const cases = only('postgres', 'mysql').flatMap((engine) => {
  const words = SERVERS[engine.kind];
  return words === undefined ? [] : [{ engine, words }];
});

describe.each(cases)('locks, limits and killed connections in $engine.product', ({ engine, words }) => {
  let database: Database;
  let client: Session;
  let other: Session;
  let retries = 0;

  beforeEach(async () => {
    retries = 0;
    database = await engine.createDatabase('locks');
    // Whoever waits last finds the deadlock: the others are patient.
    if (engine.kind === 'postgres') await database.run("ALTER DATABASE locks SET deadlock_timeout = '20ms'");
    client = await database.connect();
    other = await database.connect();
    if (engine.kind === 'postgres') await other.query("SET deadlock_timeout = '60s'");
    await client.query(`${FOREIGN_TABLE}; ${words.counter}`);
    return async () => {
      for (const one of [client, other]) await one.end().catch(() => {});
      await database.close();
    };
  });

  function open(tuning: Partial<Tuning> = {}, policy: Policy = IN_PLACE): Job {
    const wait = async (ms: number) => {
      retries += 1;
      await sleep(ms / 10);
    };
    const target = database.target({ ids: [{ column: 'svc_id', model: INVOICES }] });
    const all = { batchRows: BATCH_ROWS, attempts: ATTEMPTS, ...tuning, more: { sleep: wait } };
    return openJob(database, remap, policy, [target], all);
  }

  async function apply(tuning: Partial<Tuning> = {}, policy: Policy = IN_PLACE): Promise<WriteResult> {
    const [written] = await open(tuning, policy).write();
    if (written === undefined) throw new Error('nothing was written');
    return written;
  }

  const idsOf = async (reader = client, column = 'svc_id') =>
    new Map((await reader.query(`SELECT k, ${column} FROM t`)).map(([k, id]) => [k, id]));
  const expected = (isMapped: boolean, upTo = Number.POSITIVE_INFINITY) =>
    new Map(
      [...foreignTable(isMapped)].filter(([k]) => k <= upTo).map(([k, { id }]) => [String(k), String(id)]),
    );

  /** Every row holds its new id, and the ledger says so. */
  async function assertDone(written: WriteResult): Promise<void> {
    expect(await idsOf()).toEqual(expected(true));
    expect(written).toMatchObject({ skippedCount: 0, changed: 300 });
    expect(await database.ledger.changes()).toHaveLength(300);
  }

  /** Whole batches were carried out, as many as the ledger says, and no other row was touched. */
  async function assertIntact(batches: number): Promise<void> {
    expect(await database.ledger.progress()).toMatchObject([{ listed: 300, done: batches * BATCH_ROWS }]);
    const all = expected(false);
    for (const change of await database.ledger.changes()) all.set(change.key, change.new ?? '');
    expect(await idsOf()).toEqual(all);
  }

  const onRow45 = (statement: string) => client.query(words.trigger(statement));

  const faults = words.errors.flatMap((code) =>
    Array.from({ length: ATTEMPTS - 1 }, (_, at) => [code, at + 1] as const),
  );
  it.each(campaignCases(faults, 3))('%s, %i times in a row, is tried again', async (code, times) => {
    await onRow45(words.times(times, words.raise(code)));
    await assertDone(await apply());
    expect(retries).toBe(times);
  });

  it.each(words.errors)('%s for ever ends the run; it is carried on later', async (code) => {
    await onRow45(words.raise(code));
    await expect(apply()).rejects.toMatchObject({ code: 'locked' });
    expect(retries).toBe(ATTEMPTS - 1);
    await assertIntact(4);
    await client.query(words.dropTrigger);
    await assertDone(await apply());
  });

  it('gives up on a row that stays locked, and finishes when it is free', async () => {
    await other.query("BEGIN; UPDATE t SET note = 'other' WHERE k = 45");
    // MariaDB waits for whole seconds.
    await expect(apply({ lockTimeoutMs: 20, attempts: 2 })).rejects.toMatchObject({ code: 'locked' });
    expect(retries).toBe(1);
    await assertIntact(4);
    await other.query('COMMIT');
    await assertDone(await apply());
  });

  it('writes nothing where a table that must be rewritten at once stays locked', async () => {
    // Every id is there once: rewriting them is one transaction under locks on the whole table.
    await client.query('DELETE FROM t WHERE k > 50; ALTER TABLE t ADD UNIQUE (svc_id)');
    await other.query("BEGIN; UPDATE t SET note = 'other' WHERE k = 45");
    await expect(apply({ lockTimeoutMs: 20, attempts: 2 })).rejects.toMatchObject({ code: 'locked' });
    expect(await idsOf()).toEqual(expected(false, 50));
    expect(await database.ledger.states()).toEqual([]);
    await other.query('COMMIT');
    await apply();
    expect(await idsOf()).toEqual(expected(true, 50));
  });

  it('a table that another session keeps from being altered is waited for no longer than the lock timeout', async () => {
    await other.query('BEGIN; SELECT count(*) FROM t');
    const policy = { ...IN_PLACE, mode: 'new' } as const;
    await expect(apply({ lockTimeoutMs: 20, attempts: 2 }, policy)).rejects.toMatchObject({ code: 'locked' });
    await other.query('COMMIT');
    await apply({}, policy);
    expect(await idsOf(client, 'svc_id_v4')).toEqual(expected(true));
  });

  // MySQL limits the time of SELECT alone.
  it.runIf(engine.product !== 'MySQL')(
    'stops at a statement that takes too long, and finishes when it does not',
    async () => {
      await onRow45(words.sleep);
      await expect(apply({ statementTimeoutMs: 1000 })).rejects.toMatchObject({
        code: 'bad_input',
        facts: words.timeout,
      });
      await assertIntact(4);
      await client.query(words.dropTrigger);
      await assertDone(await apply());
    },
  );

  it.runIf(engine.kind === 'postgres')(
    'gives way in a real deadlock, so that the other goes on, and then does its own',
    async () => {
      // The batch goes on when the other waits for it; the next time it does at once.
      await onRow45(
        "IF nextval('faults') = 1 THEN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted) LOOP PERFORM pg_sleep(0.005); END LOOP; END IF;",
      );
      await other.query("BEGIN; UPDATE t SET note = 'other' WHERE k = 48");
      const written = apply();
      const isInTheMiddle =
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'svc-migrate' AND wait_event = 'PgSleep'";
      while ((await client.query(isInTheMiddle)).length === 0) await sleep(5);
      // Waits for row 41, which the batch holds; the batch will wait for row 48.
      await other.query("UPDATE t SET note = 'other' WHERE k = 41; COMMIT");
      await assertDone(await written);
      // On a slow machine it can meet the other once more.
      expect(retries).toBeGreaterThanOrEqual(1);
      expect(await client.query("SELECT k FROM t WHERE note = 'other' ORDER BY k")).toEqual([['41'], ['48']]);
    },
  );

  it(`killed ${KILLS} times by the server, its connection is made anew: nothing is lost or done twice`, {
    timeout: 3_600_000,
  }, async () => {
    await client.end();
    let kills = 0;
    for (let round = 0; kills < KILLS; round += 1) {
      const over = { isOver: false };
      const killer = killConnections(other, words, over, round);
      const { write, store } = open({ attempts: 100 });
      try {
        const run = `run-${round}`;
        const [written] = await write(run);
        expect(written).toMatchObject({ changed: 300, skippedCount: 0 });
        // Only the killer's own connection is never killed.
        expect(await idsOf(other)).toEqual(expected(true));
        await store.undo(run);
      } finally {
        over.isOver = true;
        kills += await killer;
      }
      expect(await idsOf(other)).toEqual(expected(false));
    }
    process.stderr.write(`${engine.product}: connections killed ${kills} times\n`);
  });
});

/** Kills every session but the test's own now and then, ever more rarely, so that slow machines get on; returns how many. */
async function killConnections(
  session: Session,
  words: Words,
  over: { readonly isOver: boolean },
  seed: number,
): Promise<number> {
  let kills = 0;
  for (let at = 0; !over.isOver; at += 1) {
    await sleep((15 + ((seed * 13 + at * 7) % 40)) * 1.05 ** at);
    for (const [id] of await session.query(words.sessions)) {
      try {
        await session.query(words.kill(id ?? ''));
        kills += 1;
      } catch {
        // It has ended by itself.
      }
    }
  }
  return kills;
}
