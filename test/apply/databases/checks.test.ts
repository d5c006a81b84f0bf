import { describe, expect, it } from 'vitest';
import { ENGINES, type Kind, only } from '../support/databases.js';
import { newDatabase, openJob } from '../support/job.js';
import { IN_PLACE, INVOICES, makeRemap, NEW } from '../support/remap.js';
import { openScene } from '../support/scene.js';

type Case = readonly [what: string, ...setUp: readonly string[]];

const KEYED = 'CREATE TABLE t(id integer PRIMARY KEY, i bigint';
const PARTITIONED = 'CREATE TABLE t(id integer, i bigint, PRIMARY KEY (id, i)) PARTITION BY RANGE';

/** Tables that refuse the new id of row 3, or the values that rows hold while ids swap. */
const REFUSING: readonly Case[] = [
  ['a check', `${KEYED} CHECK (i <> 8))`],
  ['a check on two columns', `${KEYED}, CHECK (i <> 8 OR id < 3))`],
  ['a check of swapping values', `${KEYED} UNIQUE CHECK (i BETWEEN 1 AND 8))`],
];
const OWN: Readonly<Record<Kind, readonly Case[]>> = {
  sqlite: [],
  mysql: [],
  postgres: [
    ['a check that is not validated', `${KEYED})`, 'ALTER TABLE t ADD CHECK (i <> 8) NOT VALID'],
    [
      'a check of whole rows',
      `${KEYED})`,
      "ALTER TABLE t ADD CHECK (t.* IS NULL OR (t.*)::text NOT LIKE '%8)')",
    ],
    [
      'a domain',
      'DROP DOMAIN IF EXISTS d; CREATE DOMAIN d AS bigint CHECK (VALUE <> 8)',
      'CREATE TABLE t(id integer PRIMARY KEY, i d)',
    ],
    ['partitions by id', `${PARTITIONED} (i)`, 'CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (8)'],
    [
      'a partition by an expression',
      'CREATE TABLE p(id integer, i bigint) PARTITION BY RANGE ((i + 0))',
      'CREATE TABLE t PARTITION OF p(PRIMARY KEY (id)) FOR VALUES FROM (0) TO (8)',
    ],
    [
      'a check of one partition',
      'CREATE TABLE t(id integer PRIMARY KEY, i bigint) PARTITION BY RANGE (id)',
      'CREATE TABLE t1 PARTITION OF t DEFAULT',
      'ALTER TABLE t1 ADD CHECK (i <> 8)',
    ],
  ],
};

describe.each(ENGINES)('$product', (engine) => {
  const { sql, apply, database } = openScene(engine);
  const rows = () => sql('SELECT id, i FROM t ORDER BY id');

  it.each([...REFUSING, ...OWN[engine.kind]])(
    'writes nothing where %s refuses one row',
    async (_, ...setUp) => {
      for (const statement of setUp) await sql(statement);
      // Only ids of all four rows swap in a circle.
      const isSwap = setUp.join().includes('BETWEEN');
      await sql(`INSERT INTO t(id, i) VALUES (1, 5), (2, 6), (3, 7)${isSwap ? ', (4, 8)' : ''}`);
      const before = await rows();
      await expect(apply(IN_PLACE, { tuning: { batchRows: 1 } })).rejects.toMatchObject({
        code: 'bad_input',
      });
      expect(await rows()).toEqual(before);
      expect(await database().ledger.states()).toEqual([]);
    },
  );
});

/** Tables that refuse the values that rows would hold while ids swap. */
const NO_SWAP: readonly Case[] = [
  ['a check', `${KEYED} UNIQUE CHECK (i < 9))`],
  [
    'a foreign key',
    'CREATE TABLE p(id bigint PRIMARY KEY)',
    'INSERT INTO p VALUES (5), (6), (7), (8)',
    `${KEYED} UNIQUE, FOREIGN KEY (i) REFERENCES p (id))`,
  ],
];

describe.each(ENGINES)('$product', (engine) => {
  const { sql, apply, undo } = openScene(engine);
  const rows = () => sql('SELECT id, i FROM t ORDER BY id');

  it.each(NO_SWAP)('moves unique ids that do not swap at once, under %s', async (_, ...setUp) => {
    for (const statement of setUp) await sql(statement);
    await sql('INSERT INTO t(id, i) VALUES (1, 5), (3, 7)');
    const before = await rows();
    expect(await apply(IN_PLACE)).toEqual([]);
    expect(await rows()).toEqual([
      ['1', '6'],
      ['3', '8'],
    ]);
    await undo();
    expect(await rows()).toEqual(before);
  });
});

/** In a key with the id, a column of a type, its values in a row whose new id is 5 and in one that keeps 5, and how many collide. */
const KEYS: readonly (readonly [
  what: string,
  column: string,
  one: string,
  other: string,
  collide: number,
])[] = [
  ['equal', 'shop varchar(9), UNIQUE (shop, ref)', "'a'", "'a'", 1],
  ['equal, where the id is unique without it', 'shop int, UNIQUE (shop, ref), UNIQUE (ref)', '1', '1', 1],
  ['not equal', 'shop varchar(9), UNIQUE (shop, ref)', "'a'", "'b'", 0],
  ['NULL', 'shop varchar(9), UNIQUE (shop, ref)', 'NULL', 'NULL', 0],
  ['bytes that are no text', 'shop BYTES, UNIQUE (shop, ref)', "BYTES'00ff'", "BYTES'00fe'", 0],
  ['numbers with more digits than shown', 'shop float, UNIQUE (shop, ref)', '16777215', '16777214', 0],
];

describe.each(ENGINES)('keys of several columns in $product', (engine) => {
  const bytes = engine.kind === 'postgres' ? ['bytea', "'\\x"] : ['varbinary(9)', "x'"];
  const remap = makeRemap([{ v3: 3, v4: 5 }, { v3: 5 }]);

  it.each(KEYS)('refuse a new id beside %s only', async (_, column, one, other, collide) => {
    const database = await newDatabase(engine, 'unique_keys');
    await database.run(
      `CREATE TABLE t(k int PRIMARY KEY, ref bigint, ${column});
      INSERT INTO t VALUES (1, 3, ${one}), (2, 5, ${other})`
        .replaceAll("BYTES'", bytes[1] ?? '')
        .replace('BYTES', bytes[0] ?? ''),
    );
    const target = database.target({ ids: [{ column: 'ref', model: INVOICES }] });
    const { store } = openJob(database, remap, { ...IN_PLACE, missing: 'keep' }, [target]);
    const plans = await store.survey();
    const text =
      'ref: 1 value would occur twice, but must be unique (5). A new column (without --in-place) may hold both.';
    expect(plans.flatMap(({ notes }) => notes)).toEqual(
      Array(collide).fill({ level: 'blocks', code: 'collision', text }),
    );
    const writing = store.write(plans, { run: 'run-1', planSha256: 'p', isExact: true });
    if (collide === 0) expect(await writing).toMatchObject([{ changed: 1 }]);
    else await expect(writing).rejects.toMatchObject({ code: 'bad_input', hint: expect.any(String) });
    expect(await database.query('SELECT ref FROM t ORDER BY k')).toEqual([
      [collide === 0 ? '5' : '3'],
      ['5'],
    ]);
  });
});

describe.each(ENGINES)('a key with the model in $product', (engine) => {
  it('refuses new ids that equal those of the same model', async () => {
    const database = await newDatabase(engine, 'model_key');
    await database.run(`CREATE TABLE t(k int PRIMARY KEY, kind varchar(9), ref bigint, UNIQUE (kind, ref));
      INSERT INTO t VALUES (1, 'inv', 3), (2, 'note', 5)`);
    const models = { inv: INVOICES, note: null };
    const target = database.target({ ids: [{ column: 'ref', modelColumn: 'kind', models }] });
    const remap = makeRemap([{ v3: 3, v4: 5 }, { v3: 5 }]);
    const { store } = openJob(database, remap, { ...IN_PLACE, missing: 'keep' }, [target]);
    const codes = async () => (await store.survey()).flatMap(({ notes }) => notes.map(({ code }) => code));
    expect(await codes()).toEqual([]);
    await database.run("INSERT INTO t VALUES (3, 'inv', 5)");
    expect(await codes()).toEqual(['collision']);
  });
});

describe.each(only('postgres'))('a domain in $product', (engine) => {
  const { sql, apply, database } = openScene(engine);

  it('limits the column it is of, and no new column', async () => {
    await sql('DROP DOMAIN IF EXISTS d; CREATE DOMAIN d AS bigint CHECK (VALUE <> 8)');
    await sql('CREATE TABLE t(id integer PRIMARY KEY, i d)');
    await sql('INSERT INTO t(id, i) VALUES (1, 5), (2, 6), (3, 7)');
    expect(await apply(NEW)).toEqual([]);
    expect(await sql('SELECT i_v4, pg_typeof(i_v4) FROM t ORDER BY id')).toEqual([
      ['6', 'bigint'],
      ['7', 'bigint'],
      ['8', 'bigint'],
    ]);
    expect(await database().ledger.states()).toEqual(['run-1 done']);
  });
});
