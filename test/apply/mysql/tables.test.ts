import { describe, expect, it } from 'vitest';
import { only } from '../support/databases.js';
import { MYSQL_PRODUCT } from '../support/mysql.js';
import { IN_PLACE, INVOICES, pairs } from '../support/remap.js';
import { openScene } from '../support/scene.js';

describe.each(only('mysql'))('tables tied by foreign keys in $product', (engine) => {
  // A swap, a chain and a cycle; 9 has no twin.
  const ids = pairs([
    [1, 2],
    [2, 1],
    [3, 4],
    [4, 5],
    [6, 7],
    [7, 8],
    [8, 6],
  ]);
  const { sql, apply, undo, tableOf, database } = openScene(engine, [...ids, { v3: 9 }]);

  const targets = [
    tableOf({ name: 'invoices', table: 'invoices', ids: [{ column: 'id', model: INVOICES }] }),
    tableOf({ name: 'items', table: 'items', ids: [{ column: 'invoice_id', model: INVOICES }] }),
  ];

  async function create(onUpdate = ''): Promise<void> {
    await sql('CREATE TABLE invoices(id bigint PRIMARY KEY, parent bigint, note text)');
    await sql(
      `CREATE TABLE items(k int PRIMARY KEY, invoice_id bigint, FOREIGN KEY (invoice_id) REFERENCES invoices(id) ${onUpdate})`,
    );
    for (const id of [1, 2, 3, 4, 6, 7, 8]) {
      await sql(`INSERT INTO invoices VALUES (${id}, NULL, 'was ${id}')`);
      await sql(`INSERT INTO items VALUES (${id * 10}, ${id}), (${id * 10 + 1}, ${id})`);
    }
    await sql('INSERT INTO items VALUES (99, NULL)');
  }

  const read = () =>
    sql('SELECT k, invoice_id, note FROM items LEFT JOIN invoices ON id = invoice_id ORDER BY k');

  it('swap unique ids while others are emptied', async () => {
    await sql('CREATE TABLE t(k int PRIMARY KEY, i bigint UNIQUE)');
    await sql('INSERT INTO t VALUES (1, 1), (2, 2), (3, 9)');
    expect(await apply({ ...IN_PLACE, missing: 'null' })).toEqual([]);
    expect(await sql('SELECT k, i FROM t ORDER BY k')).toEqual([
      ['1', '2'],
      ['2', '1'],
      ['3', null],
    ]);
    await undo('run-1');
    expect(await sql('SELECT i FROM t ORDER BY k')).toEqual([['1'], ['2'], ['9']]);
  });

  it('are left as they were if a row would refer to an id that is not there', async () => {
    await create();
    // The server does not check what is there already.
    await database().run('SET foreign_key_checks = 0; INSERT INTO items VALUES (100, 5)');
    const before = await read();
    const policy = { ...IN_PLACE, unknown: 'keep' } as const;
    await expect(apply(policy, { targets })).rejects.toMatchObject({ code: 'bad_input' });
    expect(await read()).toEqual(before);
  });

  it('are refused where one of the keys would have to cascade', async () => {
    await create();
    await sql('CREATE TABLE log(id bigint, FOREIGN KEY (id) REFERENCES invoices(id) ON UPDATE CASCADE)');
    const before = await read();
    expect(await apply(IN_PLACE, { targets })).toEqual(['foreign_key']);
    expect(await read()).toEqual(before);
    expect(await database().ledger.states()).toEqual([]);
  });

  it('change, and back, where keys on other columns cascade', async () => {
    const unique = 'bigint UNIQUE';
    await sql(`CREATE TABLE invoices(k int PRIMARY KEY, id ${unique})`);
    await sql(
      `CREATE TABLE items(k int PRIMARY KEY, invoice_id ${unique}, FOREIGN KEY (k) REFERENCES invoices(k) ON UPDATE CASCADE)`,
    );
    await sql('INSERT INTO invoices VALUES (1, 1), (2, 2); INSERT INTO items VALUES (1, 2), (2, 1)');
    expect(await apply(IN_PLACE, { targets })).toEqual([]);
    expect(await sql('SELECT invoice_id, id FROM items JOIN invoices USING (k) ORDER BY k')).toEqual([
      ['1', '2'],
      ['2', '1'],
    ]);
    await undo('run-1', { targets });
    expect(await sql('SELECT id FROM invoices ORDER BY k')).toEqual([['1'], ['2']]);
  });

  it('do not include one that is rewritten in batches: keys are checked at once', async () => {
    await sql('CREATE TABLE parents(id bigint PRIMARY KEY)');
    await sql(
      'CREATE TABLE invoices(k int PRIMARY KEY, id bigint UNIQUE, FOREIGN KEY (id) REFERENCES parents(id))',
    );
    await sql(
      'CREATE TABLE items(k int PRIMARY KEY, invoice_id bigint, FOREIGN KEY (k) REFERENCES invoices(k))',
    );
    await sql('INSERT INTO parents VALUES (1), (2); INSERT INTO invoices VALUES (1, 1), (2, 2)');
    expect(await apply(IN_PLACE, { targets })).toEqual(['foreign_key']);
  });

  it('change together, and back, where one of them refers to a table of another database', async () => {
    await create();
    const [[own = ''] = []] = await sql('SELECT DATABASE()');
    await sql(`CREATE DATABASE ${own}_other`);
    await sql(`CREATE TABLE ${own}_other.kinds(id int PRIMARY KEY)`);
    await sql(`INSERT INTO ${own}_other.kinds VALUES (1)`);
    await sql(
      `ALTER TABLE items ADD COLUMN kind int DEFAULT 1, ADD FOREIGN KEY (kind) REFERENCES ${own}_other.kinds(id)`,
    );
    const before = await read();
    expect(await apply(IN_PLACE, { targets })).toEqual([]);
    const after = await read();
    expect(after.map(([k, , note]) => [k, note])).toEqual(before.map(([k, , note]) => [k, note]));
    expect(after.slice(0, 4).map(([, id]) => id)).toEqual(['2', '2', '1', '1']);
    expect(await sql('SELECT @@foreign_key_checks')).toEqual([['1']]);
    await undo('run-1', { targets });
    expect(await read()).toEqual(before);
    // A key from there to ids that change is found too.
    await sql(`CREATE TABLE ${own}_other.notes(id bigint, FOREIGN KEY (id) REFERENCES ${own}.invoices(id))`);
    expect(await apply(IN_PLACE, { targets, run: 'run-2' })).toEqual(['foreign_key']);
    await sql(`DROP TABLE items; DROP DATABASE ${own}_other`);
  });

  it('keep others from writing until both are done', async () => {
    await create();
    const other = await database().connect();
    await other.query(
      "SET innodb_lock_wait_timeout = 1; BEGIN; UPDATE invoices SET note = 'held' WHERE id = 1",
    );
    await expect(
      apply(IN_PLACE, { targets, tuning: { lockTimeoutMs: 1000, attempts: 2 } }),
    ).rejects.toMatchObject({
      code: 'locked',
    });
    await other.query('COMMIT');
    expect(await database().ledger.states()).toEqual([]);
    await other.end();
    expect(await apply(IN_PLACE, { targets })).toEqual([]);
  });
});

/** A collation that compares texts by their bytes, trailing spaces included. */
const EXACT_COLLATION = MYSQL_PRODUCT === 'MariaDB' ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin';

describe.each(only('mysql'))('ids in $product', (engine) => {
  const { sql, apply, undo } = openScene(engine);

  it.each(['utf8mb4_general_ci', 'utf8mb4_unicode_ci', 'utf8mb4_bin', EXACT_COLLATION])(
    'are told from texts that %s takes for equal, in cells and in keys',
    async (collation) => {
      const isExact = collation === EXACT_COLLATION;
      await sql(
        `CREATE TABLE t(k varchar(9) COLLATE ${collation} PRIMARY KEY, i varchar(20) COLLATE ${collation})`,
      );
      const keys = isExact ? ['a', 'A', 'a ', 'á'] : ['a', 'b', 'c', 'd'];
      const cells = ['5', '5 ', ' 5', '５'];
      await sql(`INSERT INTO t VALUES ${keys.map((key, at) => `('${key}', '${cells[at]}')`).join(', ')}`);
      const read = async () => (await sql('SELECT k, i FROM t')).map((row) => JSON.stringify(row)).sort();
      const before = await read();
      expect(await apply({ ...IN_PLACE, unknown: 'keep' })).toEqual([]);
      const after = keys.map((key, at) => JSON.stringify([key, at === 0 ? '6' : cells[at]]));
      expect(await read()).toEqual(after.sort());
      await undo();
      expect(await read()).toEqual(before);
    },
  );
});

describe.each(only('mysql'))('more values in $product', (engine) => {
  const count = 10_001;
  const ids = Array.from({ length: count }, (_, at) => [at + 1, ((at + 1) % count) + 1] as const);
  const { sql, apply, undo } = openScene(engine, pairs(ids));

  it('than are read, and longer statements than are sent at once, are rewritten', async () => {
    const [[packet] = []] = await sql('SELECT @@GLOBAL.max_allowed_packet');
    await sql('SET GLOBAL max_allowed_packet = 65536');
    await sql('CREATE TABLE t(k int PRIMARY KEY, i varchar(20))');
    await sql(`INSERT INTO t VALUES ${ids.map(([id]) => `(${id}, ${id})`).join(', ')}`);
    expect(await apply(IN_PLACE, { tuning: { batchRows: count } })).toEqual([]);
    expect(await sql(`SELECT count(*) FROM t WHERE i = k % ${count} + 1`)).toEqual([[String(count)]]);
    await undo('run-1', { tuning: { batchRows: count } });
    expect(await sql('SELECT count(*) FROM t WHERE i = k')).toEqual([[String(count)]]);
    await sql(`SET GLOBAL max_allowed_packet = ${packet}`);
  });
});
