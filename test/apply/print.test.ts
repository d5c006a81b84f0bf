import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { ITEMS, openJob } from './support/job.js';
import { dumpOf, execute, rowsOf } from './support/scene.js';

const SQL = `create table o(id integer primary key, item integer unique, name text);
  insert into o values (1, 31, 'a'), (2, 38, 'b'), (3, 45, 'c'), (4, null, 'd')`;
const IDS = ['--table', 'o', '--ids', 'item=payments/items'] as const;

async function openPrinted(sql: string, ...flags: readonly string[]) {
  const job = await openJob(ITEMS);
  const shop = job.file('shop.db');
  new Sqlite(shop).exec(sql).close();
  const printed = await job.run('apply', 'sql', 'sqlite', 'shop.db', ...IDS, '--output', 'sql', ...flags);
  const sqlite = (name: string) =>
    execFileSync('sqlite3', [shop], {
      input: readFileSync(job.file(`sql/${name}.sql`)),
      stdio: 'pipe',
    }).toString();
  return { ...job, shop, code: printed.code, sqlite };
}

describe('apply sql', () => {
  it('prints what the shell of SQLite runs from write to undo, and the commands understand it', async () => {
    const { shop, sqlite, run, code } = await openPrinted(SQL);
    expect(code).toBe(0);
    const before = dumpOf(shop);
    expect(() => sqlite('switch')).toThrow();
    sqlite('write');
    expect(rowsOf(shop, 'select item_v4 from o order by id').flat()).toEqual([48, 47, 46, null]);
    expect((await run('apply', 'check', 'shop.db')).code).toBe(0);
    expect(sqlite('check').split('\n').slice(0, 2)).toEqual(['mapped|3|0', 'null|1|0']);
    sqlite('switch');
    expect(() => sqlite('switch')).toThrow();
    expect(rowsOf(shop, 'select item from o order by id').flat()).toEqual([48, 47, 46, null]);
    expect((await run('apply', 'check', 'shop.db')).code).toBe(0);
    sqlite('undo');
    expect(dumpOf(shop)).toBe(before);
  });

  it('refuses to switch rows that came since, and leaves the data as they were', async () => {
    const { shop, sqlite } = await openPrinted(SQL);
    sqlite('write');
    execute(shop, 'insert into o(id, item) values (5, 7)');
    const before = dumpOf(shop);
    expect(() => sqlite('switch')).toThrow();
    expect(dumpOf(shop)).toBe(before);
  });

  it('changes nothing where a trigger keeps the ids', async () => {
    const freeze =
      'create trigger freeze after update on o when new.item <> old.item begin update o set item = old.item where id = new.id; end';
    const { shop, sqlite } = await openPrinted(`${SQL.replace(' unique', '')}; ${freeze}`);
    const before = dumpOf(shop);
    sqlite('write');
    const refuses = (name: string) => {
      const unchanged = dumpOf(shop);
      expect(() => sqlite(name)).toThrow();
      expect(dumpOf(shop)).toBe(unchanged);
    };
    refuses('switch');
    execute(shop, 'drop trigger freeze');
    sqlite('switch');
    execute(shop, freeze);
    refuses('undo');
    execute(shop, 'drop trigger freeze');
    sqlite('undo');
    execute(shop, freeze);
    expect(dumpOf(shop)).toBe(before);
  });

  it('refuses ids without a V4 id, and empties them on request', async () => {
    expect((await openPrinted(`${SQL}, (5, 60, 'e')`)).code).toBe(1);
    const kept = await openPrinted(`${SQL}, (5, 60, 'e')`, '--partial');
    kept.sqlite('write');
    expect(() => kept.sqlite('switch')).toThrow();
    const emptied = await openPrinted(`${SQL}, (5, 60, 'e')`, '--partial', '--empty');
    emptied.sqlite('write');
    emptied.sqlite('switch');
    expect(rowsOf(emptied.shop, 'select item, item_v3 from o where id = 5')).toEqual([[null, 60]]);
  });
});
