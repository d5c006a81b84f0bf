import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { campaignCases } from '../support/campaign.js';
import { ITEMS, openJob } from './support/job.js';
import { rowsOf } from './support/scene.js';

const O = 'create table o(id primary key, item, name)';
const ROWS = "insert into o(id, item, name) values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')";

/** Python's SQLite takes double-quoted strings, collations and functions of the application. */
function makeOldFile(sql: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'old-app-')), 'shop.db');
  execFileSync('python3', [
    '-c',
    `import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.create_function('app_fn', 1, lambda x: x, deterministic=True)
db.create_collation('LOCALIZED', lambda a, b: (a > b) - (a < b))
db.executescript(sys.argv[2])`,
    file,
    sql,
  ]);
  return file;
}

/** What a file makes impossible: nothing, the switch, or the write. */
const CASES: readonly [
  name: string,
  sql: string,
  stops: 'nothing' | 'switch' | 'write',
  isDropped: boolean,
][] = [
  ['an untyped table', `${O}; ${ROWS}`, 'nothing', true],
  [
    'a trigger with a double-quoted string',
    `${O}; create table log(x); ${ROWS}; create trigger tr after update on o begin insert into log values ("changed"); end`,
    'write',
    true,
  ],
  [
    'a view with a double-quoted string',
    `${O}; ${ROWS}; create view v as select * from o where name = "open"`,
    'nothing',
    false,
  ],
  [
    'a check with double-quoted strings',
    `create table o(id primary key, item, name, check (name not in ("x", "y"))); ${ROWS}`,
    'nothing',
    false,
  ],
  [
    'an index on another column with a collation of the application',
    `create table o(id primary key, item, name text collate LOCALIZED); create index i on o(name); ${ROWS}`,
    'nothing',
    false,
  ],
  [
    'an index on the column with a collation of the application',
    `create table o(id primary key, item text collate LOCALIZED, name); create index i on o(item); ${ROWS}`,
    'switch',
    false,
  ],
  [
    'a generated column that calls a function of the application',
    `create table o(id primary key, item, name, g generated always as (app_fn(item)) stored); ${ROWS}`,
    'write',
    true,
  ],
  [
    'a broken view',
    `${O}; ${ROWS}; create table gone(a); create view v as select a from gone; drop table gone`,
    'nothing',
    false,
  ],
];

describe('files of older applications', () => {
  it.each(campaignCases(CASES, 3))('%s', async (_, sql, stops, isDropped) => {
    const file = makeOldFile(sql);
    const job = await openJob(ITEMS);
    const ids = ['--table', 'o', '--ids', 'item=payments/items'];
    const apply = async (action: string, ...flags: readonly string[]) => {
      const { code, stdout } = await job.run('apply', action, file, ...flags, '--json', '-');
      return { code, json: JSON.parse(stdout) };
    };
    const items = () => rowsOf(file, 'select item from o order by id').flat().map(Number);
    const plan = await apply('plan', ...ids);
    expect(plan.code).toBe(stops === 'write' ? 6 : 0);
    const noted: string[] = plan.json.targets[0].notes.map((note: { stops: string }) => note.stops);
    expect(noted.includes('switch')).toBe(stops === 'switch');
    expect((await apply('write', ...ids, '--yes')).code).toBe(stops === 'write' ? 6 : 0);
    if (stops !== 'write') {
      expect((await apply('check')).code).toBe(0);
      expect((await apply('switch', '--yes')).code).toBe(stops === 'switch' ? 6 : 0);
      expect(items()).toEqual(stops === 'switch' ? [1, 2, 3] : [38, 45, 52]);
    }
    const undo = await apply('undo', '--yes');
    expect(undo.code).toBe(0);
    expect(items()).toEqual([1, 2, 3]);
    expect(rowsOf(file, "select name from sqlite_schema where name like 'svc_migrate%'")).toEqual([]);
    const extra = rowsOf(file, "select name from pragma_table_info('o') where name like 'item_v%'").flat();
    expect(extra.length === 0).toBe(isDropped);
    for (const column of extra) expect(rowsOf(file, `select count(${String(column)}) from o`)).toEqual([[0]]);
    const named = (undo.json.undone ?? []).flatMap((column: { emptied: unknown[] }) => column.emptied);
    expect(named).toHaveLength(extra.length);
  });
});
