import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/apply/plan.js';
import { ENGINES, type Engine } from '../support/databases.js';
import { newDatabase, openJob } from '../support/job.js';
import { IN_PLACE, INVOICES, makeRemap, NEW } from '../support/remap.js';

const BIG = 9_007_199_254_740_993n;
/** Mapped, swapped, beyond 2^53, negative, to itself, without a twin, deleted with a twin, a V4 id only. */
const REMAP = [
  { v3: 1, v4: 2, platformId: 'a' },
  { v3: 2, v4: 1, platformId: "42 é' \\n\t" },
  { v3: BIG, v4: BIG + 2n },
  { v3: BIG + 2n, v4: BIG },
  { v3: -5, v4: 5 },
  { v3: 7, v4: 7 },
  { v3: 8, platformId: '8' },
  { v3: 9, v4: 10, status: 'deleted', reason: 'deleted_in_v3' },
  { v3: null, v4: 11, status: 'v4_only' },
];
const IDS = ['1', '2', null, '1', String(BIG), String(BIG + 2n), '-5', '7', '8', '9', '11', '404', '8'];
const TEXTS = [...IDS, '', ' 1', '007', "it's; -- \\ ? é $x", '1.0'];
const CREATE = [
  'CREATE TABLE numbers(id integer PRIMARY KEY, svc_id bigint, other bigint)',
  'CREATE TABLE texts(id integer PRIMARY KEY, svc_id varchar(40), other integer)',
];

const remap = makeRemap(REMAP);
const quoted = (value: string | null) => (value === null ? 'NULL' : `'${value.replaceAll("'", "''")}'`);

const POLICIES: readonly (readonly [string, Policy])[] = [
  ['in place, keeping the rest', { ...IN_PLACE, missing: 'keep', unknown: 'keep' }],
  [
    'in place, emptying and with deleted ones',
    { ...IN_PLACE, missing: 'null', unknown: 'keep', mapDeleted: true },
  ],
  ['into new columns', { ...NEW, missing: 'keep', unknown: 'keep' }],
  ['into new columns, with the V3 ids', { ...NEW, missing: 'keep-v3', unknown: 'keep' }],
];

const TABLE = 'CREATE TABLE t(k integer PRIMARY KEY, i bigint); INSERT INTO t VALUES (1, 1), (2, 2), (3, 7)';
const [APPLY, TYPE] = ['apply write', 'ALTER TABLE t ALTER i TYPE numeric(30)'];
/** What happens between printing and running SQL, and what it says. */
const CHANGES: readonly (readonly [change: string, policy: Policy, problem: string])[] = [
  ['ALTER TABLE t ADD COLUMN i_v4 bigint', NEW, 'column i_v4 exists already'],
  ['ALTER TABLE t ADD COLUMN platform text', NEW, 'column platform exists already'],
  ['ALTER TABLE t ADD COLUMN platform text', IN_PLACE, 'column platform exists already'],
  [TYPE, IN_PLACE, 'column i is missing or is not bigint'],
  [APPLY, IN_PLACE, 'another run is in the ledger'],
];

/** A database with both tables. */
async function fill(engine: Engine, name: string, policy: Policy) {
  const database = await newDatabase(engine, name);
  const insert = (table: string, ids: readonly (string | null)[]) =>
    `INSERT INTO ${table} VALUES ${ids.map((id, at) => `(${at + 1}, ${quoted(id)}, ${at})`).join(', ')}`;
  const texts = engine.kind === 'mysql' ? TEXTS.map((id) => id?.replaceAll('\\', '\\\\') ?? null) : TEXTS;
  await database.run([...CREATE, insert('numbers', IDS), insert('texts', texts)].join(';'));
  const ids = [{ column: 'svc_id', model: INVOICES, platformIdColumn: 'platform' }];
  const targets = ['numbers', 'texts'].map((table) => database.target({ name: table, table, ids }));
  return { ...openJob(database, remap, policy, targets), database };
}

describe.each(ENGINES)('$product', (engine) => {
  it.each(POLICIES)('SQL does %s what apply does, to the ledger', async (_, policy) => {
    const [one, other] = [await fill(engine, 'by_apply', policy), await fill(engine, 'by_sql', policy)];
    const before = await other.database.dump();
    await one.write();
    const script = await other.emit();
    const session = await other.database.connect();
    // A session of the user's, whose mode says less.
    const [mode, ofSession] =
      engine.kind === 'mysql'
        ? ["SET sql_mode = '', sql_safe_updates = 1; ", 'SELECT @@sql_mode, @@sql_safe_updates']
        : ['', 'SELECT NULL, 1'];
    await session.query(`${mode}${script.upFile}`);
    expect(String(await session.query(ofSession))).toBe(',1');
    await session.end();
    expect(await other.database.dump()).not.toEqual(before);
    const seen = async ({ database }: typeof one) => [
      await database.dump(),
      await database.ledger.records(),
      await database.ledger.changes(),
    ];
    expect(await seen(other)).toEqual(await seen(one));
    expect(await other.database.query(script.verify)).toEqual([['0']]);
    await other.store.undo('run-1');
    expect(await other.database.dump()).toEqual(before);
  });

  it.skipIf(engine.kind === 'sqlite')(
    'SQL waits for whoever writes to a table, and changes nothing after an error',
    async () => {
      const database = await newDatabase(engine, 'waits');
      await database.run('CREATE TABLE t(k integer PRIMARY KEY, i bigint); INSERT INTO t VALUES (1, 1)');
      const targets = [database.target({ ids: [{ column: 'i', model: INVOICES }] })];
      const script = await openJob(database, remap, IN_PLACE, targets).emit();
      const writer = await database.connect();
      await writer.query('INSERT INTO t VALUES (3, 404)');
      for (const statement of [script.begin ?? 'DO 0', ...script.up, 'COMMIT'])
        await writer.query(statement).catch(() => {});
      expect(String(await writer.query('SELECT i FROM t ORDER BY k'))).toBe('1,404');
      await writer.query('DELETE FROM t WHERE k = 3; BEGIN; INSERT INTO t VALUES (2, 1)');
      const limit = engine.kind === 'mysql' ? 'innodb_lock_wait_timeout = 1' : 'lock_timeout = 100';
      await expect(database.run(`SET ${limit}; ${script.upFile}`)).rejects.toThrow(/lock (wait )?timeout/i);
      await writer.query('COMMIT');
      await writer.end();
      await database.run(script.upFile);
      expect(String(await database.query('SELECT i FROM t'))).toBe('2,2');
    },
  );

  it.each(engine.kind === 'sqlite' ? CHANGES.filter(([change]) => change !== TYPE) : CHANGES)(
    'SQL changes nothing after: %s',
    async (change, policy, problem) => {
      const database = await newDatabase(engine, 'changed');
      await database.run(TABLE);
      const stored = problem.includes('platform') ? { platformIdColumn: 'platform' } : {};
      const ids = [{ column: 'i', model: INVOICES, ...stored }];
      const job = openJob(database, remap, policy, [database.target({ ids })]);
      const script = await job.emit('sql-1');
      if (change === APPLY) await job.write();
      else
        await database.run(
          change === TYPE && engine.kind === 'mysql' ? TYPE.replace('ALTER i TYPE', 'MODIFY i') : change,
        );
      const before = await database.dump();
      await expect(database.run(script.upFile)).rejects.toThrow(problem);
      expect(await database.dump()).toBe(before);
    },
  );

  it.each([
    ["UPDATE t SET platform = 'mine' WHERE k = 3", 'other programs filled platform'],
    ['UPDATE t SET i = 7 WHERE k = 1', 'rows were changed since the run'],
    ['DELETE FROM t WHERE k = 1', 'rows were changed since the run'],
  ])('SQL is taken back only where others left its rows alone: %s', async (sql, problem) => {
    const database = await newDatabase(engine, 'left_alone');
    await database.run(TABLE);
    const ids = [{ column: 'i', model: INVOICES, platformIdColumn: 'platform' }];
    const script = await openJob(database, remap, IN_PLACE, [database.target({ ids })]).emit();
    await database.run(script.upFile);
    await database.run(sql);
    const before = await database.dump();
    await expect(database.run(script.downFile)).rejects.toThrow(problem);
    expect(await database.dump()).toBe(before);
  });

  // In MySQL and MariaDB, keys cannot be checked late, and nothing is printed.
  it.skipIf(engine.kind === 'mysql')('SQL undoes tables whose keys are checked late', async () => {
    const database = await newDatabase(engine, 'late_keys');
    const key = 'FOREIGN KEY (svc_id) REFERENCES t(svc_id) DEFERRABLE INITIALLY DEFERRED';
    await database.run(
      `CREATE TABLE t(k integer PRIMARY KEY, svc_id integer UNIQUE);
       CREATE TABLE c(k integer PRIMARY KEY, svc_id integer, ${key});
       INSERT INTO t VALUES (1, 1), (2, 2);
       INSERT INTO c VALUES (1, 1), (2, 2)`,
    );
    const ids = [{ column: 'svc_id', model: INVOICES, platformIdColumn: 'platform' }];
    const targets = ['t', 'c'].map((table) => database.target({ name: table, table, ids }));
    const before = await database.dump();
    const script = await openJob(database, remap, IN_PLACE, targets).emit();
    await database.run(script.upFile);
    expect(await database.dump()).not.toEqual(before);
    await database.run(script.downFile);
    expect(await database.dump()).toEqual(before);
  });
});
