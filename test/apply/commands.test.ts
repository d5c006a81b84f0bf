import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { digestRemap } from '../../src/store/integrity.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { runCli } from '../support/run-cli.js';
import { ITEMS, openJob, saveRemap } from './support/job.js';
import { dumpOf, execute, rowsOf } from './support/scene.js';

const SHOP =
  "create table o(id integer primary key, item integer, name text); insert into o values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')";
const TARGETS = {
  apply: {
    targets: [
      {
        name: 'orders',
        kind: 'sqlite',
        file: 'shop.db',
        table: 'o',
        ids: [{ column: 'item', model: 'payments/items' }],
      },
    ],
  },
};
const ITEM_IN_UE = '{"column":"item","model":"payments/items","region":"ue"}';
const ADHOC = ['shop.db', '--table', 'o', '--ids', 'item=payments/items'] as const;

async function openShop(sql = SHOP, config: object = TARGETS) {
  const job = await openJob(ITEMS, config);
  new Sqlite(job.file('shop.db')).exec(sql).close();
  const items = () => rowsOf(job.file('shop.db'), 'select item from o order by id').flat();
  const json = async (...words: readonly string[]) => {
    const { code, stdout, stderr } = await job.run(...words, '--json', '-');
    return { code, json: stdout === '' ? null : JSON.parse(stdout), stderr };
  };
  return { ...job, shop: job.file('shop.db'), items, json };
}

describe('apply on a terminal', () => {
  it('asks before each step that changes data, and changes nothing unless the answer is yes', async () => {
    const { cwd, shop, items } = await openShop();
    const answer = (step: string, input: string) =>
      runCli(['apply', step, '--quiet'], { cwd, input, columns: 80 });
    for (const [step, before, after] of [
      ['write', [1, 2, 3], [1, 2, 3]],
      ['switch', [1, 2, 3], [38, 45, 52]],
      ['undo', [38, 45, 52], [1, 2, 3]],
    ] as const) {
      const untouched = dumpOf(shop);
      for (const no of ['\n', 'n\n', 'yess\n', '']) {
        const { code, stdout, stderr } = await answer(step, no);
        expect([code, stderr]).toEqual([0, expect.stringContaining('[y/N]')]);
        expect(stdout).toMatch(/^Nothing was /);
        expect(dumpOf(shop)).toBe(untouched);
      }
      expect(items()).toEqual(before);
      expect((await answer(step, 'y\n')).code).toBe(0);
      expect(items()).toEqual(after);
    }
  });

  it('refuses them without a terminal and without --yes', async () => {
    const { run, shop } = await openShop();
    const before = dumpOf(shop);
    for (const step of ['write', 'switch', 'undo'])
      expect(await run('apply', step)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
    expect(dumpOf(shop)).toBe(before);
  });
});

describe('apply', () => {
  it('goes from plan to undo', async () => {
    const { run, json, shop, items } = await openShop();
    const before = dumpOf(shop);
    expect(await json('apply', 'plan')).toMatchObject({
      code: 0,
      json: { action: 'plan', ids: { stored: 3, mapped: 3, missing: 0, unknown: 0 }, blocks: [] },
    });
    expect(dumpOf(shop)).toBe(before);
    expect((await run('apply', 'write')).code).toBe(2);
    expect(await json('apply', 'write', '--yes')).toMatchObject({
      code: 0,
      json: { written: [{ changed: 3 }] },
    });
    expect(await json('apply', 'check')).toMatchObject({ code: 0, json: { checked: [{ checked: 3 }] } });
    expect(await json('apply', 'switch', '--yes')).toMatchObject({
      code: 0,
      json: { switched: [{ switched: 3 }] },
    });
    expect(items()).toEqual([38, 45, 52]);
    expect((await run('apply', 'check')).code).toBe(0);
    expect((await run('apply', 'write', '--yes')).code).toBe(6);
    expect((await run('apply', 'switch', '--yes')).code).toBe(6);
    expect(await json('apply', 'undo', '--yes')).toMatchObject({
      code: 0,
      json: { undone: [{ restored: 3 }] },
    });
    expect(dumpOf(shop)).toBe(before);
  });

  it('finds what was written at a place, however it is named and whatever the configuration says', async () => {
    const { run, shop, items, cwd } = await openShop(SHOP, {});
    const before = dumpOf(shop);
    expect((await run('apply', 'plan', ...ADHOC)).code).toBe(0);
    expect((await run('apply', 'write', ...ADHOC, '--yes')).code).toBe(0);
    expect((await run('apply', 'check', 'shop.db')).code).toBe(0);
    expect((await run('apply', 'switch', 'shop.db', '--table', 'o', '--yes')).code).toBe(0);
    expect(items()).toEqual([38, 45, 52]);
    expect((await run('apply', 'write', ...ADHOC, '--yes')).code).toBe(6);
    expect((await run('apply', 'undo', 'shop.db', '--yes', '--config', `${cwd}/none.json`)).code).toBe(0);
    expect(dumpOf(shop)).toBe(before);
    expect((await run('apply', 'undo', 'shop.db', '--yes')).code).toBe(0);
  });

  it('refuses ids without a V4 id, leaves nothing behind, and goes on with --partial and --empty', async () => {
    const { run, json, shop, items } = await openShop(`${SHOP}, (4, 60, 'd'), (5, 61, 'e'), (6, 999, 'f')`);
    const before = dumpOf(shop);
    const plan = await json('apply', 'plan');
    expect(plan).toMatchObject({ code: 1, json: { ids: { mapped: 3, missing: 2, unknown: 1 } } });
    const counts: { name: string; isAccepted: boolean }[] = plan.json.targets[0].columns[0].counts;
    expect(Object.fromEntries(counts.map(({ name, isAccepted }) => [name, isAccepted]))).toEqual({
      mapped: true,
      'unmatched/outside_backfill_window': false,
      'deleted/deleted_not_in_v4': true,
      'unknown/not_in_remap': false,
    });
    expect((await json('apply', 'write', '--yes')).code).toBe(1);
    expect(dumpOf(shop)).toBe(before);
    expect((await run('apply', 'write', '--yes', '--partial')).code).toBe(0);
    expect((await run('apply', 'check')).code).toBe(1);
    expect(await json('apply', 'switch', '--yes')).toMatchObject({
      code: 1,
      json: { refused: { column: 'o.item' } },
    });
    expect(items()).toEqual([1, 2, 3, 60, 61, 999]);
    expect((await run('apply', 'switch', '--yes', '--empty')).code).toBe(0);
    expect(items()).toEqual([38, 45, 52, null, null, null]);
    expect((await run('apply', 'check')).code).toBe(0);
    expect((await run('apply', 'undo', '--yes')).code).toBe(0);
    expect(dumpOf(shop)).toBe(before);
  });

  it('passes ids without a V4 id that the limits accept, and names --partial and --empty where they are needed', async () => {
    const { json, shop } = await openShop(`${SHOP}, (4, 61, 'd')`);
    const next = async (code: number, ...words: readonly string[]) => {
      const ended = await json('apply', ...words);
      expect(ended.code).toBe(code);
      return String(ended.json.next);
    };
    expect(await next(0, 'plan')).toBe('svc-migrate apply write --partial');
    expect(await next(1, 'write', '--yes')).toBe(
      'leave their new cells empty: svc-migrate apply write --partial',
    );
    expect(await next(0, 'write', '--yes', '--partial')).toBe('svc-migrate apply check');
    expect(await next(0, 'check')).toBe('svc-migrate apply switch --empty');
    expect(await next(1, 'switch', '--yes')).toMatch(/^set these cells to NULL: .* --empty, or give/);
    expect(await next(0, 'switch', '--yes', '--empty')).toBe('svc-migrate apply check');
    expect(await next(0, 'check')).not.toContain('--empty');
    await json('apply', 'undo', '--yes');
    execute(shop, 'insert into o(item) values (60)');
    expect(await next(1, 'plan')).toBe(
      'give the ids that no limit accepts a V4 id or a decision, or leave new cells empty: svc-migrate apply write --partial',
    );
    expect(await next(1, 'write', '--yes')).toMatch(/^give the ids that no limit accepts/);
  });

  it('says how to drop a unique key of SQLite, which stops the switch of texts', async () => {
    const { run, file } = await openShop();
    execute(file('shop.db'), "create table p(code text unique); insert into p values ('1'), ('2')");
    const { stdout } = await run('apply', 'plan', 'shop.db', '--table', 'p', '--ids', 'code=payments/items');
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(/unique key.*rebuild the table/);
  });

  it('warns of a target that is the key of its own table', async () => {
    const { run, file } = await openShop();
    execute(file('shop.db'), 'create table p(id integer primary key); insert into p values (1), (2)');
    const ids = (column: string) => ['--table', 'p', '--ids', `${column}=payments/items`];
    const { code, stdout } = await run('apply', 'plan', 'shop.db', ...ids('id'));
    expect(code).toBe(0);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('p.id is the primary key of p');
    expect((await run('apply', 'plan')).stdout).not.toContain('primary key');
  });

  it('names the region, not --partial, where two regions use an id for different records', async () => {
    const job = await openShop();
    await saveRemap(
      job.cwd,
      ['eu', 'us'].flatMap((region, at) => ITEMS.slice(0, 3).map(({ v3 }) => ({ v3, v4: 100 + at, region }))),
    );
    for (const command of [['plan'], ['write', '--yes']]) {
      const { code, json } = await job.json('apply', ...command);
      expect([code, /"region"/.test(json.next), /--partial/.test(json.next)]).toEqual([1, true, false]);
    }
  });

  it('checks and takes back without the database of svc-migrate', async () => {
    const { run, shop, cwd, file } = await openShop();
    const before = dumpOf(shop);
    await run('apply', 'write', '--yes');
    const { rmSync } = await import('node:fs');
    for (const name of ['svc-migrate.db', 'svc-migrate.db-wal', 'svc-migrate.db-shm'])
      rmSync(file(name), { force: true });
    expect(existsSync(`${cwd}/svc-migrate.db`)).toBe(false);
    expect((await run('apply', 'check')).code).toBe(0);
    execute(shop, 'update o set item_v4 = 1 where id = 1');
    expect((await run('apply', 'check')).code).toBe(1);
    expect((await run('apply', 'undo', '--yes')).code).toBe(0);
    expect(dumpOf(shop)).toBe(before);
  });

  it('tells a crosswalk that the remap contradicts, and repairs it by another write', async () => {
    const { run, json, cwd, items } = await openShop();
    await run('apply', 'write', '--yes');
    await saveRemap(cwd, [{ v3: 1, v4: 7 }, ...ITEMS.slice(1)]);
    expect(await json('apply', 'check')).toMatchObject({ code: 1, json: { checked: [{ differs: 1 }] } });
    expect((await run('apply', 'write', '--yes')).code).toBe(0);
    expect((await run('apply', 'check')).code).toBe(0);
    await run('apply', 'switch', '--yes');
    expect(items()).toEqual([7, 45, 52]);
  });

  it('refuses a remap that was altered or is incomplete', async () => {
    const { run, file } = await openShop();
    const db = new Sqlite(file('svc-migrate.db')).defaultSafeIntegers();
    db.exec('update remap_run set complete = 0');
    db.prepare('update remap_run set sha256 = ?').run(digestRemap(db));
    expect((await run('apply', 'plan')).code).toBe(4);
    expect((await run('apply', 'plan', '--allow-incomplete')).code).toBe(0);
    db.exec('update remap_run set complete = 1; update remap_row set v4_svc_id = 5 where id = 1');
    expect((await run('apply', 'plan')).code).toBe(6);
    db.close();
  });

  it.each([
    [['apply', 'plan', 'nothing'], 2],
    [['apply', 'plan', 'shop.db'], 2],
    [['apply', 'plan', 'shop.db', '--table', 'o', '--ids', 'item'], 2],
    [['apply', 'plan', 'shop.db', '--table', 'o', '--ids', 'item=payments/itms'], 2],
    [['apply', 'plan', 'shop.db', '--table', 'o', '--ids', 'item=payments/items#lines'], 2],
    [['apply', 'plan', 'shop.db', '--table', 'o', '--ids', ITEM_IN_UE], 2],
    [['apply', 'write', 'shop.db', '--yes', '--table', 'o', '--ids', 'item=payments/itms'], 2],
    [['apply', 'plan', 'shop.db', '--table', 'nix', '--ids', 'item=payments/items'], 6],
    [['apply', 'plan', 'shop.db', '--table', 'o', '--ids', 'nix=payments/items'], 6],
    [['apply', 'plan', 'svc-migrate.db', '--table', 'stream', '--ids', 'id=payments/items'], 6],
    [['apply', 'switch', '--yes'], 4],
    [['apply', 'undo'], 2],
    [['apply', 'check'], 1],
  ])('%j exits with %d', async (words, code) => {
    const { run } = await openShop();
    expect((await run(...words)).code).toBe(code);
  });
});
