import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/apply/plan.js';
import { only } from '../support/databases.js';
import { makeFolder } from '../support/folder.js';
import { ledgerTables } from '../support/ledger.js';
import { IN_PLACE, NEW } from '../support/remap.js';
import { openScene } from '../support/scene.js';

const FILL = 'INSERT INTO t(k, i) VALUES (1, 5), (2, 8)';

type Case = [name: string, setUp: string, policy: Policy, finds: string[], more?: object];

/** Whatever stands in the way of a run is found before it begins; whatever is not found works. */
const CASES: readonly Case[] = [
  ['a plain table', `CREATE TABLE t(k INTEGER PRIMARY KEY, i); ${FILL}`, IN_PLACE, []],
  ['WITHOUT ROWID', `CREATE TABLE t(k PRIMARY KEY, i UNIQUE) WITHOUT ROWID; ${FILL}`, IN_PLACE, []],
  ['WITHOUT ROWID, new column', `CREATE TABLE t(k PRIMARY KEY, i) WITHOUT ROWID; ${FILL}`, NEW, []],
  ['STRICT', `CREATE TABLE t(k INTEGER PRIMARY KEY, i INT UNIQUE) STRICT; ${FILL}`, IN_PLACE, []],
  ['STRICT with TEXT', `CREATE TABLE t(k INTEGER PRIMARY KEY, i TEXT UNIQUE) STRICT; ${FILL}`, IN_PLACE, []],
  [
    'STRICT with REAL',
    `CREATE TABLE t(k INTEGER PRIMARY KEY, i REAL) STRICT; ${FILL}`,
    IN_PLACE,
    ['column_type', 'unknown'],
  ],
  [
    'a generated column',
    'CREATE TABLE t(k INTEGER PRIMARY KEY, i AS (k + 4))',
    IN_PLACE,
    ['generated_column'],
  ],
  [
    'a view',
    'CREATE TABLE b(k INTEGER PRIMARY KEY, i); CREATE VIEW t AS SELECT * FROM b',
    IN_PLACE,
    ['not_a_table'],
  ],
  ['no key', `CREATE TABLE t(k, i); ${FILL}`, IN_PLACE, ['no_key']],
  [
    'a key that is no column',
    `CREATE TABLE t(k INTEGER PRIMARY KEY, i); ${FILL}`,
    IN_PLACE,
    ['unknown_column', 'no_key'],
    { key: ['nope'] },
  ],
  [
    'a key that is no column, new column',
    `CREATE TABLE t(k INTEGER PRIMARY KEY, i); ${FILL}`,
    NEW,
    ['unknown_column'],
    { key: ['nope'] },
  ],
  [
    'a check that holds',
    `CREATE TABLE t(k INTEGER PRIMARY KEY, i UNIQUE CHECK (i > 0)); ${FILL}`,
    IN_PLACE,
    [],
  ],
  [
    'a check beside generated columns',
    `CREATE TABLE t(k INTEGER PRIMARY KEY, i CHECK (i > 0), g AS (i * 2)); ${FILL}`,
    IN_PLACE,
    [],
  ],
  ...ledgerTables('sqlite').flatMap((own): Case[] => [
    [
      `another table ${own}`,
      `CREATE TABLE t(k INTEGER PRIMARY KEY, i); CREATE TABLE ${own}(id); ${FILL}`,
      NEW,
      ['foreign_ledger'],
    ],
    [
      `a view ${own}`,
      `CREATE TABLE t(k INTEGER PRIMARY KEY, i); CREATE VIEW ${own} AS SELECT 1 AS unit; ${FILL}`,
      IN_PLACE,
      ['foreign_ledger'],
    ],
  ]),
];

describe.each(only('sqlite'))('the plan for $product', (engine) => {
  const { tableOf, sql, apply, undo, database } = openScene(engine);

  it.each(CASES)('finds what stands in the way: %s', async (_, setUp, policy, finds, more = {}) => {
    await sql(setUp);
    const tables = await sql("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'svc_%'");
    expect(await apply(policy, { targets: [tableOf(more)] })).toEqual(finds);
    if (finds.length > 0) {
      expect(await sql("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'svc_%'")).toEqual(tables);
      return;
    }
    const column = policy.mode === 'new' ? 'i_v4' : 'i';
    expect(await sql(`SELECT CAST(${column} AS INTEGER) FROM t ORDER BY k`)).toEqual([['6'], ['5']]);
    await undo('run-1');
    expect(await sql('SELECT CAST(i AS INTEGER) FROM t ORDER BY k')).toEqual([['5'], ['8']]);
  });

  it('finds a file or a folder that takes no writes', async () => {
    const folder = makeFolder();
    const file = join(folder, 'read', 'user.db');
    mkdirSync(join(folder, 'read'));
    await sql(`CREATE TABLE t(k INTEGER PRIMARY KEY, i); ${FILL}`);
    execFileSync('cp', [database().url, file]);
    chmodSync(file, 0o444);
    chmodSync(join(folder, 'read'), 0o555);
    chmodSync(folder, 0o755);
    const script = join(folder, 'access.mjs');
    const trial = new URL('../../../dist/apply/dialects/sqlite-dialect.js', import.meta.url);
    // Root may write everything: as somebody else, who need not be able to read the program.
    writeFileSync(
      script,
      `const { readOnlyNotes } = await import(${JSON.stringify(trial.href)});
       if (process.getuid() === 0) process.setuid(65534);
       console.log(readOnlyNotes(${JSON.stringify(file)}).map(({ code }) => code).join());`,
    );
    expect(execFileSync(process.execPath, [script], { encoding: 'utf8' })).toBe(
      'read_only_file,read_only_file\n',
    );
    chmodSync(join(folder, 'read'), 0o755);
  });
});
