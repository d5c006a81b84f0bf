import { describe, expect, it } from 'vitest';
import { runFile } from '../support/client-programs.js';
import { ENGINES } from '../support/databases.js';
import { newDatabase, openJob } from '../support/job.js';
import { IN_PLACE, INVOICES, makeRemap, NEW, pairs } from '../support/remap.js';

/** As many bytes as a name may have, with letters of two bytes. */
const longName = (letter: string, bytes = 63) => `${letter}${'é'.repeat(31)}`.slice(0, (bytes + 1) / 2);

const NAMES = {
  // Everything that ends a name or a literal somewhere, and a backslash at the end.
  hostile: { table: 't\\\'"`;$1 é --\\', id: 'i\\\'"`;$1 é\\', key: 'k\\\'"`;$1 /* é\\' },
  // The new column's name ends with `_v4`.
  'of 63 bytes': { table: longName('t'), id: longName('i', 59), key: longName('k') },
};

const remap = makeRemap(
  pairs([
    [1, 2],
    [2, 1],
  ]),
);

describe.each(ENGINES)('$product', (engine) => {
  const cases = Object.entries(NAMES).flatMap(([what, names]) =>
    [NEW, IN_PLACE].map((policy) => ({ what, names, policy })),
  );

  it.each(cases)('SQL and apply take names of a table and its columns $what ($policy.mode)', async (one) => {
    const { names, policy } = one;
    const database = await newDatabase(engine, 'names');
    const [table, id, key] = [names.table, names.id, names.key].map(engine.quote);
    await database.query(`CREATE TABLE ${table}(${key} bigint PRIMARY KEY, ${id} bigint)`);
    await database.query(`INSERT INTO ${table} VALUES (1, 1), (2, 2), (3, NULL)`);
    const read = async () => String(await database.query(`SELECT * FROM ${table} ORDER BY ${key}`));
    const [before, after] = ['1,1,2,2,3,', policy.mode === 'new' ? '1,1,2,2,2,1,3,,' : '1,2,2,1,3,'];
    const ids = [{ column: names.id, model: INVOICES }];
    const job = openJob(database, remap, policy, [database.target({ table: names.table, ids })]);
    const script = await job.emit();
    await runFile(database, script.upFile);
    expect([await read(), await database.query(script.verify)]).toEqual([after, [['0']]]);
    expect(await job.store.verify(null)).toMatchObject([{ wrongCount: 0, changedSinceCount: 0 }]);
    await runFile(database, script.downFile);
    expect(await read()).toBe(before);
    await job.write('run-2');
    expect(await read()).toBe(after);
    await job.store.undo('run-2');
    expect(await read()).toBe(before);
  });
});
