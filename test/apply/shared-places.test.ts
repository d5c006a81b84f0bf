import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findBlocks } from '../../src/apply/judge-plan.js';
import type { Policy } from '../../src/apply/plan.js';
import { closeStores, openStores, survey } from '../../src/apply/stores.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { makeFolder } from './support/folder.js';
import { createRemap, IN_PLACE, INVOICES, NEW, openContext, pairs, target } from './support/remap.js';

const folder = makeFolder();
const path = (name: string) => join(folder, name);
createRemap(path('remap.db'), pairs([[5, 6]]));
mkdirSync(path('real'));
symlinkSync('real', path('link'));
for (const name of ['a.csv', 'b.csv', 'real/c.csv']) writeFileSync(path(name), 'id\n5\n');
symlinkSync('a.csv', path('a-link.csv'));
linkSync(path('a.csv'), path('a-hard.csv'));
const db = new Sqlite(path('shop.db'));
db.exec('CREATE TABLE t(k INTEGER PRIMARY KEY, i); INSERT INTO t VALUES (1, 5)');
db.close();
symlinkSync('shop.db', path('shop-link.db'));

/** Two targets of one plan, and what is said of the second. */
const CASES: readonly [string, Policy, object, object, string[]][] = [
  ['different files', NEW, { file: 'a.csv' }, { file: 'b.csv' }, []],
  [
    'one output, spelled with ./',
    NEW,
    { file: 'a.csv', output: 'x.csv' },
    { file: 'b.csv', output: './x.csv' },
    ['same_output'],
  ],
  [
    'one output, through a linked folder',
    NEW,
    { file: 'a.csv', output: 'real/x.csv' },
    { file: 'b.csv', output: 'link/x.csv' },
    ['same_output'],
  ],
  [
    'one output, once by default',
    NEW,
    { file: 'a.csv' },
    { file: 'b.csv', output: 'real/../a.v4.csv' },
    ['same_output'],
  ],
  [
    'one input, spelled with ..',
    NEW,
    { file: 'a.csv', output: 'x.csv' },
    { file: 'real/../a.csv', output: 'y.csv' },
    ['same_file'],
  ],
  [
    'one input, through a link',
    NEW,
    { file: 'a.csv', output: 'x.csv' },
    { file: 'a-link.csv', output: 'y.csv' },
    ['same_file'],
  ],
  ['one input, by a hard link', IN_PLACE, { file: 'a.csv' }, { file: 'a-hard.csv' }, ['same_file']],
  [
    'an output that is another input',
    NEW,
    { file: 'a.csv' },
    { file: 'b.csv', output: 'link/../a.csv' },
    ['output_exists', 'same_output'],
  ],
  [
    'one column of one database, through a link',
    IN_PLACE,
    { kind: 'sqlite', table: 't', file: 'shop.db' },
    { kind: 'sqlite', table: 't', file: 'shop-link.db' },
    ['named_twice', 'named_twice'],
  ],
];

describe('two targets', () => {
  it.each(CASES)('never write or read the same: %s', async (_, policy, one, other, codes) => {
    const targets = [one, other].map((given, at) => {
      const column = 'table' in given ? 'i' : 'id';
      const files = Object.entries(given).map(([key, value]) => [
        key,
        key === 'file' || key === 'output' ? `${folder}/${String(value)}` : value,
      ]);
      return target({
        kind: 'csv',
        ids: [{ column, model: INVOICES }],
        ...Object.fromEntries(files),
        name: `t${at}`,
      });
    });
    const context = openContext(path('remap.db'), policy);
    const stores = await openStores(context, targets);
    const plan = await survey(context, stores, targets);
    expect(findBlocks(plan).map(({ note }) => note.code)).toEqual(codes);
    await closeStores(stores);
    context.remap.close();
  });
});
