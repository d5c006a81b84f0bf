import { describe, expect, it } from 'vitest';
import type { RemapIds } from '../../src/apply/remap-ids.js';
import {
  checkTargets,
  planTargets,
  switchTargets,
  undoTargets,
  writeTargets,
} from '../../src/apply/run-apply.js';
import type { IdColumn } from '../../src/config/apply-targets.js';
import { SvcError } from '../../src/errors.js';
import { campaignSize } from '../support/campaign.js';
import { listPlaces, openPlace } from './support/places.js';
import { CONNECTION, CYCLE, fakeRemap, id } from './support/scene.js';
import { type TestServer, testServer } from './support/servers.js';

const SQL = 'create table o(id int primary key, item int); insert into o values (1, 20), (2, 30), (3, 40)';
const remap = fakeRemap(CYCLE);
const PLACES = listPlaces((name) => campaignSize({ small: null, full: testServer(name) }));

async function openGone(server: TestServer | null, used: RemapIds = remap) {
  const { shop, target, env } = await openPlace(server);
  await shop.run(SQL);
  const context = { connection: { ...CONNECTION, lockTimeoutMs: 5000 }, env, onProgress: () => {} };
  const on = (table = 'o', ids: readonly IdColumn[] = [id()]) => {
    const only = target(table, ids);
    const selections = [{ kind: 'target', target: only }] as const;
    return {
      plan: () => planTargets([only], used, context),
      write: () => writeTargets([only], used, { isPartial: false }, context),
      check: () => checkTargets(selections, remap, context),
      switch: () => switchTargets(selections, { isEmptying: false }, context),
      undo: () => undoTargets(selections, context),
    };
  };
  const read = (columns: string, table = 'o') => shop.run(`select ${columns} from ${table} order by id`);
  const states = async () => (await shop.run('select state from svc_migrate_state')).flat();
  const crosswalk = async () => String((await shop.run('select crosswalk from svc_migrate_state'))[0]?.[0]);
  return { shop, on, read, states, crosswalk };
}

const V3 = [['20'], ['30'], ['40']];
const V4 = [['30'], ['40'], ['20']];

describe.each(PLACES)('$name: what a user dropped or renamed', ({ server, isThere }) => {
  const test = it.skipIf(!isThere);

  async function switched() {
    const gone = await openGone(server);
    const before = await gone.shop.dump();
    await gone.on().write();
    await gone.on().switch();
    return { ...gone, before };
  }

  test('leaves nothing behind where a write fails while it loads', async () => {
    const { shop, on } = await openGone(server, {
      ...remap,
      judge: (model, region, value) => {
        if (model === 'payments/fees') throw new SvcError('corrupt_database', 'The remap cannot be read.');
        return remap.judge(model, region, value);
      },
    });
    await shop.run('alter table o add fee int');
    await shop.run('update o set fee = 20');
    const before = await shop.dump();
    const ids = [id(), id({ column: 'fee', model: 'payments/fees' })];
    await expect(on('o', ids).write()).rejects.toMatchObject({ code: 'corrupt_database' });
    expect(await shop.dump()).toBe(before);
  });

  test('takes a switch back by the crosswalk where COLUMN_v4 is gone', async () => {
    const { shop, on, before } = await switched();
    await shop.run('alter table o drop column item_v4');
    await expect(on().check()).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringMatching(/item_v4 .*gone/),
    });
    expect(await on().undo()).toMatchObject({ undone: [{ restored: 3, changedSinceCount: 0 }] });
    expect(await shop.dump()).toBe(before);
  });

  test('takes a switch back by the crosswalk where COLUMN_v4 was changed', async () => {
    const { shop, on, before } = await switched();
    await shop.run('update o set item_v4 = null');
    expect(await on().undo()).toMatchObject({ undone: [{ restored: 3, changedSinceCount: 0 }] });
    expect(await shop.dump()).toBe(before);
  });

  test('names rows that stay where the crosswalk is gone', async () => {
    const { shop, on, crosswalk, read } = await switched();
    await shop.run(`drop table ${await crosswalk()}`);
    await shop.run('insert into o(id, item) values (4, 30)');
    await shop.run('update o set item = 51 where id = 1');
    await expect(on().check()).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringMatching(/crosswalk .*gone/),
    });
    expect(await on().undo()).toMatchObject({
      undone: [{ restored: 2, changedSinceCount: 2, changedSince: ['1', '4'] }],
    });
    expect(await read('item')).toEqual([['51'], ['30'], ['40'], ['30']]);
  });

  test.each([
    ['the column', ['alter table o rename column item to item2']],
    ['COLUMN_v3', ['alter table o drop column item_v3']],
    ['both companions', ['alter table o drop column item_v3', 'alter table o drop column item_v4']],
  ])('refuses to take a switch back without %s', async (_, statements) => {
    const { shop, on, states } = await switched();
    for (const statement of statements) await shop.run(statement);
    const before = await shop.dump();
    await expect(on().undo()).rejects.toMatchObject({
      code: 'bad_input',
      hint: expect.stringMatching(/delete from/),
    });
    expect(await shop.dump()).toBe(before);
    expect(await states()).toEqual(['switched']);
  });

  test('refuses to take a switch back without COLUMN_v4 and the crosswalk', async () => {
    const { shop, on, crosswalk } = await switched();
    await shop.run(`drop table ${await crosswalk()}`);
    await shop.run('alter table o drop column item_v4');
    const before = await shop.dump();
    await expect(on().undo()).rejects.toMatchObject({ code: 'bad_input' });
    expect(await shop.dump()).toBe(before);
  });

  test('refuses to write or take back a table that was renamed, and goes on when it has its name again', async () => {
    const { shop, on, read, states } = await switched();
    await shop.run('alter table o rename to o2');
    const renamed = await shop.dump();
    await expect(on().undo()).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringMatching(/o2/),
    });
    await expect(on('o2').write()).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringMatching(/renamed/),
    });
    expect(await shop.dump()).toBe(renamed);
    await shop.run('alter table o2 rename to o');
    expect(await states()).toEqual(['switched']);
    await on().undo();
    expect(await read('*')).toEqual([
      ['1', '20'],
      ['2', '30'],
      ['3', '40'],
    ]);
  });

  test('forgets a table that was dropped, and says so', async () => {
    const { shop, on } = await switched();
    await shop.run('drop table o');
    expect(await on().undo()).toMatchObject({ undone: [{ tableGone: true, restored: 0 }] });
    expect(JSON.parse(await shop.dump())[0]).toEqual([]);
  });

  test.each(['item_v3', 'item_v4'])('refuses ids in %s, which it added itself', async (column) => {
    const { shop, on } = await switched();
    const before = await shop.dump();
    const [plan] = await on('o', [id({ column })]).plan();
    expect(plan?.notes.map(({ stops, code }) => [stops, code])).toContainEqual(['write', 'own_column']);
    await expect(on('o', [id({ column })]).write()).rejects.toMatchObject({ code: 'bad_input' });
    expect(await shop.dump()).toBe(before);
  });

  test('refuses a column that may be the renamed one', async () => {
    const { shop, on } = await switched();
    await shop.run('alter table o rename column item to item2');
    const before = await shop.dump();
    await expect(on('o', [id({ column: 'item2' })]).write()).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringMatching(/item .*gone/),
    });
    expect(await shop.dump()).toBe(before);
    await shop.run('alter table o rename column item2 to item');
    expect(await on().undo()).toMatchObject({ undone: [{ restored: 3 }] });
  });

  test('says what is gone before the switch, and write repairs it', async () => {
    const { shop, on, crosswalk, read } = await openGone(server);
    await on().write();
    await shop.run('alter table o drop column item_v4');
    for (const run of [on().check, on().switch])
      await expect(run()).rejects.toMatchObject({
        code: 'bad_input',
        hint: expect.stringMatching(/apply write/),
      });
    await on().write();
    await shop.run(`drop table ${await crosswalk()}`);
    for (const run of [on().check, on().switch])
      await expect(run()).rejects.toMatchObject({
        code: 'bad_input',
        hint: expect.stringMatching(/apply write/),
      });
    expect(await read('item')).toEqual(V3);
    await on().write();
    await on().switch();
    expect(await read('item')).toEqual(V4);
  });
});
