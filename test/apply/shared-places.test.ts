import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findBlocks } from '../../src/apply/judge-plan.js';
import { closeStores, openStores, survey } from '../../src/apply/stores.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { makeFolder } from './support/folder.js';
import { IN_PLACE, INVOICES, makeRemap, NEW, openContext, pairs, target } from './support/remap.js';

const folder = makeFolder();
const path = (name: string) => join(folder, name);
const remap = makeRemap(pairs([[5, 6]]));
mkdirSync(path('real'));
symlinkSync('real', path('link'));
for (const name of ['a.csv', 'b.csv', 'real/c.csv']) writeFileSync(path(name), 'id\n5\n');
symlinkSync('a.csv', path('a-link.csv'));
linkSync(path('a.csv'), path('a-hard.csv'));
const db = new Sqlite(path('shop.db'));
db.exec('CREATE TABLE t(k INTEGER PRIMARY KEY, i); INSERT INTO t VALUES (1, 5)');
db.close();
symlinkSync('shop.db', path('shop-link.db'));

/** A file, and an output after `>`; of SQLite its table `t`. */
function targetOf(text: string, at: number) {
  // A path as the configuration spells it.
  const [file, output] = text.split(' > ').map((name) => `${folder}/${name}`);
  const name = `t${at}`;
  if (text.endsWith('.db'))
    return target({ name, kind: 'sqlite', file, table: 't', ids: [{ column: 'i', model: INVOICES }] });
  return target({ name, kind: 'csv', file, output, ids: [{ column: 'id', model: INVOICES }] });
}

it.each([
  ['different files', NEW, 'a.csv', 'b.csv', ''],
  ['one output, spelled with ./', NEW, 'a.csv > x.csv', 'b.csv > ./x.csv', 'same_output'],
  ['one output, through a linked folder', NEW, 'a.csv > real/x.csv', 'b.csv > link/x.csv', 'same_output'],
  ['one output, once by default', NEW, 'a.csv', 'b.csv > real/../a.v4.csv', 'same_output'],
  ['one input, spelled with ..', NEW, 'a.csv > x.csv', 'real/../a.csv > y.csv', 'same_file'],
  ['one input, through a link', NEW, 'a.csv > x.csv', 'a-link.csv > y.csv', 'same_file'],
  ['one input, by a hard link', IN_PLACE, 'a.csv', 'a-hard.csv', 'same_file'],
  ['an output that is another input', NEW, 'a.csv', 'b.csv > link/../a.csv', 'output_exists same_output'],
  ['one column, through a link', IN_PLACE, 'shop.db', 'shop-link.db', 'named_twice named_twice'],
])('two targets never write or read the same: %s', async (_, policy, one, other, codes) => {
  const targets = [one, other].map(targetOf);
  const context = openContext(remap, policy);
  const stores = await openStores(context, targets);
  const plan = await survey(context, stores, targets);
  expect(
    findBlocks(plan)
      .map(({ note }) => note.code)
      .join(' '),
  ).toEqual(codes);
  await closeStores(stores);
  context.remap.close();
});
