import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runFile } from '../support/client-programs.js';
import { ENGINES, fileOf } from '../support/databases.js';
import { makeFolder } from '../support/folder.js';
import { createRemap, IN_PLACE, INVOICES, NEW, openContext } from '../support/remap.js';

/** As many bytes as a name may have, with letters of two bytes. */
const longName = (letter: string, bytes = 63) => `${letter}${'é'.repeat(31)}`.slice(0, (bytes + 1) / 2);

const NAMES = {
  // Everything that ends a name or a literal somewhere, and a backslash at the end.
  hostile: { table: 't\\\'"`;$1 é --\\', id: 'i\\\'"`;$1 é\\', key: 'k\\\'"`;$1 /* é\\' },
  // The new column's name ends with `_v4`.
  'of 63 bytes': { table: longName('t'), id: longName('i', 59), key: longName('k') },
};

const remap = join(makeFolder(), 'remap.db');
createRemap(remap, [
  { v3: 1, v4: 2 },
  { v3: 2, v4: 1 },
]);

describe.each(ENGINES)('$product', (engine) => {
  const cases = Object.entries(NAMES).flatMap(([what, names]) =>
    [NEW, IN_PLACE].map((policy) => ({ what, names, policy })),
  );

  it.each(cases)('SQL and apply take names of a table and its columns $what ($policy.mode)', async (one) => {
    const { names, policy } = one;
    const database = await engine.createDatabase('names');
    const [table, id, key] = [names.table, names.id, names.key].map(engine.quote);
    await database.query(`CREATE TABLE ${table}(${key} bigint PRIMARY KEY, ${id} bigint)`);
    await database.query(`INSERT INTO ${table} VALUES (1, 1), (2, 2), (3, NULL)`);
    const read = async () => String(await database.query(`SELECT * FROM ${table} ORDER BY ${key}`));
    const context = openContext(remap, policy);
    const ids = [{ column: names.id, model: INVOICES }];
    const store = database.openStore(context, [database.target({ table: names.table, ids })]);
    const run = { run: 'run-1', planSha256: 'p', isExact: true };
    const script = await store.emit?.(await store.survey(), run);
    if (script === undefined) throw new Error('no SQL');
    const after = policy.mode === 'new' ? '1,1,2,2,2,1,3,,' : '1,2,2,1,3,';
    await runFile(database, fileOf(script, [...script.load, ...script.up]));
    expect(await read()).toBe(after);
    expect(await database.query(script.verify)).toEqual([['0']]);
    expect(await store.verify(null)).toMatchObject([{ wrongCount: 0, changedSinceCount: 0 }]);
    await runFile(database, fileOf(script, script.down));
    expect(await read()).toBe('1,1,2,2,3,');
    await store.write(await store.survey(), { ...run, run: 'run-2' });
    expect(await read()).toBe(after);
    await store.undo('run-2');
    expect(await read()).toBe('1,1,2,2,3,');
    await store.close();
    await database.close();
    context.remap.close();
  });
});
