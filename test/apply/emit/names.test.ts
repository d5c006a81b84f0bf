import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeFolder } from '../support/folder.js';
import { fileOf, openPlaces } from '../support/places.js';
import { createRemap, IN_PLACE, INVOICES, NEW, openContext } from '../support/remap.js';

/** Everything that ends a name or a literal somewhere, and a backslash at the end. */
const NAMES = { table: 't\\\'"`;$1 é --\\', id: 'i\\\'"`;$1 é\\', key: 'k\\\'"`;$1 /* é\\' } as const;

const folder = makeFolder();
const remap = join(folder, 'remap.db');
createRemap(remap, [
  { v3: 1, v4: 2 },
  { v3: 2, v4: 1 },
]);
const CASES = (await openPlaces(folder)).flatMap(([product, open]) =>
  [NEW, IN_PLACE].map((policy) => ({ product, mode: policy.mode, open, policy })),
);

it.each(CASES)('$product: SQL takes any name of a table and its columns ($mode)', async (one) => {
  const { product, open, policy, mode } = one;
  const place = await open(`names_${product.toLowerCase()}_${mode}`);
  const [table, id, key] = [NAMES.table, NAMES.id, NAMES.key].map(place.quote);
  await place.run(
    `CREATE TABLE ${table}(${key} bigint PRIMARY KEY, ${id} bigint); INSERT INTO ${table} VALUES (1, 1), (2, 2), (3, NULL)`,
  );
  const context = openContext(remap, policy);
  const ids = [{ column: NAMES.id, model: INVOICES }];
  const store = place.open(context, { table: NAMES.table, ids });
  const run = { run: 'run-1', planSha256: 'p', isExact: true };
  const script = await store.emit?.(await store.survey(), run);
  if (script === undefined) throw new Error('no SQL');
  await place.run(fileOf(script, [...script.load, ...script.up]));
  const after = await place.rows(`SELECT * FROM ${table} ORDER BY ${key}`);
  expect(after).toBe(mode === 'new' ? '1,1,2,2,2,1,3,,' : '1,2,2,1,3,');
  expect(await place.rows(script.verify)).toBe('0');
  expect(await store.verify(null)).toMatchObject([{ wrongCount: 0, changedSinceCount: 0 }]);
  await place.run(fileOf(script, script.down));
  expect(await place.rows(`SELECT * FROM ${table} ORDER BY ${key}`)).toBe('1,1,2,2,3,');
  await store.close();
  await place.close();
  context.remap.close();
});
