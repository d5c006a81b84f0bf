import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { must } from '../../src/text/at.js';
import { campaignSize } from '../support/campaign.js';
import { type IdRow, ITEMS, openJob } from './support/job.js';
import { makeFile, type Shop, sqliteShop } from './support/scene.js';
import { serverShop, testServer } from './support/servers.js';

const SQL = `create table o(id int primary key, item int, name varchar(20), unique (item));
  insert into o values (1, 31, 'a'), (2, 38, 'b'), (3, 45, 'c'), (4, null, 'd')`;

/** A user's database, and its own client, which runs a script. */
interface Place {
  readonly shop: Shop;
  readonly address: string;
  readonly env: Readonly<Record<string, string>>;
  readonly runScript: (script: string) => string;
}

function openSqlitePlace(): Place {
  const file = makeFile('');
  const runScript = (input: string) => execFileSync('sqlite3', [file], { input, stdio: 'pipe' }).toString();
  return { shop: sqliteShop(file), address: file, env: {}, runScript };
}

const CLIENTS = [
  ['sqlite3', 'sqlite', null],
  ['psql', 'postgres', campaignSize({ small: null, full: testServer('PostgreSQL') })],
  ['mariadb', 'mysql', campaignSize({ small: null, full: testServer('MariaDB') })],
  ['mysql', 'mysql', campaignSize({ small: null, full: testServer('MySQL') })],
] as const;

const FREEZE = {
  sqlite: [
    'create trigger keep_ids after update on o when new.item <> old.item begin update o set item = old.item where id = new.id; end',
    'drop trigger keep_ids',
  ],
  postgres: [
    `create function keep() returns trigger language plpgsql as $$ begin new.item := old.item; return new; end $$;
     create trigger keep_ids before update on o for each row execute function keep()`,
    'drop trigger keep_ids on o; drop function keep',
  ],
  mysql: [
    'create trigger keep_ids before update on o for each row set new.item = old.item',
    'drop trigger keep_ids',
  ],
} as const;

describe.each(CLIENTS)('apply sql for %s', (client, dialect, server) => {
  const isMissing = client !== 'sqlite3' && server === null;
  const test = it.skipIf(isMissing);

  async function openPlace(): Promise<Place> {
    if (client === 'sqlite3') return openSqlitePlace();
    const found = must(server, 'server');
    const url = await found.createDatabase();
    const runScript = (script: string) => found.client(url, script);
    return { shop: serverShop(found, url), address: 'SHOP', env: { SHOP: url }, runScript };
  }

  const openPrinted = (sql: string, ...flags: readonly string[]) => printFrom(ITEMS, sql, ...flags);

  async function printFrom(rows: readonly IdRow[], sql: string, ...flags: readonly string[]) {
    const { shop, address, env, runScript } = await openPlace();
    await shop.run(sql);
    const job = await openJob(rows, {}, env);
    const ids = ['--table', 'o', '--ids', 'item=payments/items'];
    const { code } = await job.run('apply', 'sql', dialect, address, ...ids, '--output', 'sql', ...flags);
    const script = (name: string) => runScript(readFileSync(job.file(`sql/${name}.sql`), 'utf8'));
    /** The client stops at an error, and nothing has changed. */
    const refuse = async (name: string) => {
      const unchanged = await shop.dump();
      expect(() => script(name), name).toThrow();
      expect(await shop.dump(), name).toBe(unchanged);
    };
    const counts = () =>
      script('check')
        .trim()
        .split('\n')
        .filter((line) => line.includes('item'))
        .map((line) => line.split(/[|\t]/).join(' '))
        .sort();
    const check = async () => (await job.run('apply', 'check', address)).code;
    const items = async () => (await shop.run('select item from o order by id')).flat();
    /** Runs the first statements of a script, as far as they go. */
    const cut = (name: string, count: number) => {
      const statements = readFileSync(job.file(`sql/${name}.sql`), 'utf8').split(';\n');
      if (count >= statements.length - 1) return false;
      runScript(`${statements.slice(0, count).join(';\n')};\n`);
      return true;
    };
    const read = (name: string) => readFileSync(job.file(`sql/${name}.sql`), 'utf8');
    const undo = () => job.run('apply', 'undo', address, '--yes');
    return { shop, code, script, refuse, counts, check, items, cut, read, undo };
  }

  test('runs from write to undo with ids that swap, and the commands understand it', async () => {
    const { shop, code, script, refuse, counts, check, items } = await openPrinted(SQL);
    expect(code).toBe(0);
    const before = await shop.dump();
    await refuse('switch');
    script('write');
    expect((await shop.run('select item_v4 from o order by id')).flat()).toEqual(['48', '47', '46', null]);
    expect(await check()).toBe(0);
    const item = shop.kind === 'postgres' ? 'public.o.item' : 'o.item';
    expect(counts()).toEqual([`${item} after write mapped 3`, `${item} after write null 1`]);
    await refuse('write');
    script('switch');
    expect(counts()).toEqual([`${item} after switch mapped 3`, `${item} after switch null 1`]);
    await refuse('switch');
    await refuse('write');
    expect(await items()).toEqual(['48', '47', '46', null]);
    expect(await check()).toBe(0);
    script('undo');
    expect(await shop.dump()).toBe(before);
    await refuse('undo');
    script('write');
    script('undo');
    expect(await shop.dump()).toBe(before);
  });

  it.skipIf(isMissing || dialect === 'mysql')('leaves nothing where a script is cut', async () => {
    const { shop, script, cut } = await openPrinted(
      'create table o(id int primary key, item int unique, more int); insert into o values (1, 31, 2), (2, 38, 2)',
      '--ids',
      'more=payments/items',
    );
    for (const name of ['write', 'switch', 'undo']) {
      const before = await shop.dump();
      for (let count = 1; cut(name, count); count += 1)
        expect(await shop.dump(), `${name} ${count}`).toBe(before);
      script(name);
      expect(await shop.dump(), name).not.toBe(before);
    }
  });

  it.skipIf(isMissing || dialect !== 'mysql')(
    'leaves what apply undo takes back where a script is cut',
    async () => {
      const { shop, script, cut, undo } = await openPrinted(SQL);
      const before = await shop.dump();
      for (let count = 1; cut('write', count); count += 1) {
        expect((await undo()).code).toBe(0);
        expect(await shop.dump(), `write ${count}`).toBe(before);
      }
      script('write');
      for (let count = 1; cut('undo', count); count += 1) {
        expect((await undo()).code).toBe(0);
        expect(await shop.dump(), `undo ${count}`).toBe(before);
        script('write');
        script('switch');
      }
    },
  );

  test('says in switch.sql that texts cannot swap under a unique key, and in MySQL what follows a cut', async () => {
    const { read } = await openPrinted(
      "create table o(id int primary key, item varchar(20) unique); insert into o values (1, '2')",
    );
    expect(read('switch')).toMatch(/^-- .*o\.item holds text under a unique key/m);
    const says = dialect === 'mysql' ? /^-- .*svc-migrate apply undo/m : /^(?:begin|\.bail|\\set)/m;
    for (const name of ['write', 'undo']) expect(read(name)).toMatch(says);
  });

  test.each([
    ['changed', 'update o set item_v4 = null where id = 1'],
    ['gone', 'alter table o drop column item_v4'],
  ])('drops no V3 id where COLUMN_v4 is %s', async (_, statement) => {
    const { shop, script, refuse } = await openPrinted(SQL);
    script('write');
    script('switch');
    await shop.run(statement);
    await refuse('undo');
  });

  test('swaps ids under the unique key', async () => {
    // 2 becomes 45, and 45 becomes 46.
    const { script, items } = await openPrinted(
      'create table o(id int primary key, item int unique); insert into o values (1, 2), (2, 45), (3, 46)',
    );
    script('write');
    script('switch');
    expect(await items()).toEqual(['45', '46', '53']);
    script('undo');
    expect(await items()).toEqual(['2', '45', '46']);
  });

  test('swaps ids under the unique key beside new ids below zero', async () => {
    // 1 becomes -2, where -1 - 1 would park it.
    const { script, items } = await printFrom(
      [
        { v3: 1, v4: -2 },
        { v3: 2, v4: 1 },
        { v3: 3, v4: 2 },
      ],
      'create table o(id int primary key, item int unique); insert into o values (1, 1), (2, 2), (3, 3)',
    );
    script('write');
    script('switch');
    expect(await items()).toEqual(['-2', '1', '2']);
    script('undo');
    expect(await items()).toEqual(['1', '2', '3']);
  });

  test('refuses to switch rows that came since', async () => {
    const { shop, script, refuse } = await openPrinted(SQL);
    script('write');
    await shop.run('insert into o(id, item) values (5, 7)');
    await refuse('switch');
  });

  test('changes nothing where a trigger keeps the ids', async () => {
    const [freeze, thaw] = FREEZE[dialect];
    const { shop, script, refuse, items } = await openPrinted(
      `${SQL.replace(', unique (item)', '')}; ${freeze}`,
    );
    script('write');
    await refuse('switch');
    await shop.run(thaw);
    script('switch');
    await shop.run(freeze);
    await refuse('undo');
    await shop.run(thaw);
    script('undo');
    expect(await items()).toEqual(['31', '38', '45', null]);
  });

  test('refuses ids without a V4 id, and empties them on request', async () => {
    const more = `${SQL}, (5, 60, 'e')`;
    expect((await openPrinted(more)).code).toBe(1);
    const kept = await openPrinted(more, '--partial');
    kept.script('write');
    await kept.refuse('switch');
    const emptied = await openPrinted(more, '--partial', '--empty');
    const before = await emptied.shop.dump();
    emptied.script('write');
    emptied.script('switch');
    expect(await emptied.shop.run('select item, item_v3 from o where id = 5')).toEqual([[null, '60']]);
    emptied.script('undo');
    expect(await emptied.shop.dump()).toBe(before);
  });

  test('takes texts with quotes, backslashes and control characters', async () => {
    const text = (bytes: string) =>
      dialect === 'postgres'
        ? `convert_from('\\x${bytes}', 'UTF8')`
        : `cast(x'${bytes}' as ${dialect === 'mysql' ? 'char' : 'text'})`;
    const texts = ['27612762', '5c', '5c27', '610a62', '090d', '2d2d20', '2573', '3b', 'c3a9', '24245c245c'];
    const { shop, script, counts } = await openPrinted(
      `create table o(id int primary key, item varchar(40));
       insert into o values (0, '31'), ${texts.map((bytes, at) => `(${at + 1}, ${text(bytes)})`).join(', ')}`,
      '--partial',
    );
    const before = await shop.dump();
    script('write');
    expect(counts()).toEqual([
      expect.stringMatching(/mapped 1$/),
      expect.stringContaining(`unknown/not_a_number ${texts.length}`),
    ]);
    script('undo');
    expect(await shop.dump()).toBe(before);
  });
});

it('refuses targets of two databases: a script runs in one', async () => {
  const sql = 'create table o(id integer primary key, item integer); insert into o values (1, 20)';
  const targets = ['a', 'b'].map((name) => ({
    name,
    kind: 'sqlite',
    file: makeFile(sql),
    table: 'o',
    ids: [{ column: 'item', model: 'payments/items' }],
  }));
  const { run } = await openJob(ITEMS, { apply: { targets } });
  expect(await run('apply', 'sql', 'sqlite', '--output', 'sql')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('2 databases'),
  });
  expect((await run('apply', 'sql', 'sqlite', 'a', '--output', 'sql')).code).toBe(0);
});
