import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/apply/db/database.js';
import {
  checkTargets,
  planTargets,
  switchTargets,
  undoTargets,
  writeTargets,
} from '../../src/apply/run-apply.js';
import { dropEmptyStates } from '../../src/apply/state.js';
import { campaignSize } from '../support/campaign.js';
import { listPlaces, openPlace } from './support/places.js';
import { CONNECTION, CYCLE, commandsOn, fakeRemap, id } from './support/scene.js';
import { type TestServer, testServer } from './support/servers.js';

const remap = fakeRemap(CYCLE);
const PLACES = listPlaces((name) => campaignSize({ small: null, full: testServer(name) }));
const ONE = 'create table o(id int primary key, item int); insert into o values (1, 20), (2, 30)';

/** Statements that make table p refuse every update, and take that back. */
function refuseUpdates(kind: Database['kind']): readonly [string, string] {
  if (kind === 'sqlite')
    return [
      "create trigger no_more before update on p begin select raise(abort, 'no more'); end",
      'drop trigger no_more',
    ];
  if (kind === 'mysql')
    return [
      "create trigger no_more before update on p for each row signal sqlstate '45000' set message_text = 'no more'",
      'drop trigger no_more',
    ];
  return [
    `create function no_more() returns trigger language plpgsql as $$ begin raise exception 'no more'; end $$;
     create trigger no_more before update on p for each row execute function no_more()`,
    'drop trigger no_more on p; drop function no_more',
  ];
}

async function openTables(server: TestServer | null, sql: string, columns: Readonly<Record<string, string>>) {
  const { shop, target, env } = await openPlace(server);
  await shop.run(sql);
  const context = { connection: { ...CONNECTION, lockTimeoutMs: 5000 }, env, onProgress: () => {} };
  const targets = Object.entries(columns).map(([table, column]) => target(table, [id({ column })]));
  const selections = targets.map((only) => ({ kind: 'target', target: only }) as const);
  return {
    shop,
    write: (isPartial = false) => writeTargets(targets, remap, { isPartial }, context),
    writeFirst: () => writeTargets(targets.slice(0, 1), remap, { isPartial: true }, context),
    plan: () => planTargets(targets, remap, context),
    check: () => checkTargets(selections, remap, context),
    switch: (isEmptying = false) => switchTargets(selections, { isEmptying }, context),
    undo: () => undoTargets(selections, context),
    read: async (column: string, table: string) =>
      (await shop.run(`select ${column} from ${table} order by id`)).flat(),
  };
}

describe.each(PLACES)('$name: several tables', ({ server, isThere }) => {
  const test = it.skipIf(!isThere);

  const LINKED = `create table parent(item int primary key);
    create table child(id int primary key, item int, constraint fk foreign key (item) references parent(item));
    insert into parent values (20), (50); insert into child values (1, 20), (2, 20), (3, 50)`;

  test('refuses a switch that a foreign key between two of them forbids, and leaves both as they were', async () => {
    const { shop, ...tables } = await openTables(server, LINKED, { parent: 'item', child: 'item' });
    const before = await shop.dump();
    await tables.write();
    await expect(tables.switch()).rejects.toMatchObject({
      code: 'bad_input',
      hint: expect.stringMatching(/constraint/),
    });
    expect(await shop.run('select item from parent order by item')).toEqual([['20'], ['50']]);
    expect(await tables.read('item', 'child')).toEqual(['20', '20', '50']);
    await tables.undo();
    expect(await shop.dump()).toBe(before);
  });

  // SQLite cannot drop a key.
  it.skipIf(!isThere || server === null)(
    'switches them once the foreign key is dropped, and it holds again after',
    async () => {
      const { shop, ...tables } = await openTables(server, LINKED, { parent: 'item', child: 'item' });
      await tables.write();
      await shop.run(`alter table child drop ${server?.kind === 'mysql' ? 'foreign key' : 'constraint'} fk`);
      await tables.switch();
      await shop.run('alter table child add constraint fk foreign key (item) references parent(item)');
      expect(await tables.read('item', 'child')).toEqual(['30', '30', '51']);
    },
  );

  test('ends with apply_stopped where the second table refuses the switch', async () => {
    const sql = `${ONE}; create table p(id int primary key, item int check (item < 35)); insert into p values (1, 30)`;
    const { shop, ...tables } = await openTables(server, sql, { o: 'item', p: 'item' });
    const before = await shop.dump();
    await tables.write();
    await expect(tables.switch()).rejects.toMatchObject({
      code: 'apply_stopped',
      exitCode: 7,
      message: expect.stringContaining('Done: o. Not done: p.'),
    });
    expect(await tables.read('item', 'o')).toEqual(['30', '40']);
    expect(await tables.read('item', 'p')).toEqual(['30']);
    await tables.undo();
    expect(await shop.dump()).toBe(before);
  });

  describe('where the second table has an id without a V4 id', () => {
    const twoTables = (type: string) =>
      `${ONE}; create table p(id int primary key, item ${type}); insert into p values (1, 20), (2, 60)`;
    const open = (type: string) => openTables(server, twoTables(type), { o: 'item', p: 'item' });

    test('switches neither', async () => {
      const { shop, ...tables } = await open('int');
      await tables.write(true);
      const written = await shop.dump();
      expect(await tables.switch()).toMatchObject({
        switched: [],
        refused: { target: 'p', unmapped: [{ name: 'unmatched/outside_backfill_window', rows: 1 }] },
      });
      expect(await shop.dump()).toBe(written);
    });

    test('empties neither if its column is NOT NULL, which the plan says', async () => {
      const { shop, ...tables } = await open('int not null');
      const notes = (await tables.plan()).map((plan) => plan.notes.map(({ code }) => code));
      expect(notes).toEqual([[], ['not_null']]);
      await tables.write(true);
      const written = await shop.dump();
      await expect(tables.switch(true)).rejects.toMatchObject({
        code: 'bad_input',
        message: expect.stringMatching(/p\.item is NOT NULL.*1 cell/),
      });
      expect(await shop.dump()).toBe(written);
      await shop.run('delete from p where id = 2');
      expect(await tables.switch(true)).toMatchObject({ refused: null });
      expect(await tables.read('item', 'p')).toEqual(['30']);
    });

    test('switches neither if it was not written', async () => {
      const { shop, ...tables } = await open('int');
      await tables.writeFirst();
      const written = await shop.dump();
      await expect(tables.switch(true)).rejects.toMatchObject({ code: 'incomplete' });
      expect(await shop.dump()).toBe(written);
    });
  });

  test('ends a write and an undo with apply_stopped where the second table refuses it', async () => {
    const { shop, ...tables } = await openTables(server, `${ONE}; ${ONE.replaceAll(' o', ' p')}`, {
      o: 'item',
      p: 'item',
    });
    const before = await shop.dump();
    await tables.write();
    await tables.switch();
    const [freeze, thaw] = refuseUpdates(shop.kind);
    await shop.run(freeze);
    const stopped = { code: 'apply_stopped', message: expect.stringContaining('Done: o. Not done: p.') };
    await expect(tables.undo()).rejects.toMatchObject(stopped);
    await shop.run(thaw);
    await tables.undo();
    expect(await shop.dump()).toBe(before);
    await shop.run(freeze);
    await expect(tables.write()).rejects.toMatchObject(stopped);
    await shop.run(thaw);
    await tables.undo();
    expect(await shop.dump()).toBe(before);
  });
});

describe.each(PLACES)('$name: several processes', ({ server, isThere }) => {
  const test = it.skipIf(!isThere);

  async function openShop() {
    const { shop } = await openPlace(server);
    await shop.run(ONE);
    return { shop, before: await shop.dump(), run: commandsOn(shop.open) };
  }

  test('an undo ends well where another one dropped the table of states first', async () => {
    const { shop, run, before } = await openShop();
    await run.write();
    await shop.run('delete from svc_migrate_state');
    const db = await shop.open();
    const racing = {
      ...db,
      transaction: async <T>(mode: 'read' | 'write', work: () => Promise<T>) => {
        await shop.run('drop table svc_migrate_state');
        return db.transaction(mode, work);
      },
    };
    await dropEmptyStates(racing);
    await db.close();
    expect(await shop.dump()).not.toContain('svc_migrate_state');
    expect(before).not.toContain('svc_migrate_state');
  });

  test('an undo finds nothing to do where another one drops the table of states before it is read', async () => {
    const { shop, run, before } = await openShop();
    await run.write();
    const racing = commandsOn(shop.open, {
      wrap: (db) => ({
        ...db,
        listTables: async () => {
          const tables = await db.listTables();
          if (tables.some(({ name }) => name === 'svc_migrate_state')) await run.undo();
          return tables;
        },
      }),
    });
    expect(await racing.undo()).toEqual([]);
    expect(await shop.dump()).toBe(before);
  });

  test('an undo of a dropped table passes over a table that is dropped meanwhile', async () => {
    const { shop, run } = await openShop();
    await run.write();
    await shop.run('drop table o; create table staging(id int)');
    const racing = commandsOn(shop.open, {
      wrap: (db) => ({
        ...db,
        introspect: async (table) => (table.endsWith('staging') ? null : db.introspect(table)),
      }),
    });
    expect(await racing.undo()).toMatchObject([{ tableGone: true }]);
  });

  test('a first write says locked where an undo drops the table of states before it is recorded', async () => {
    const { shop, run, before } = await openShop();
    let begun = 0;
    const racing = commandsOn(shop.open, {
      wrap: (db) => ({
        ...db,
        transaction: async (mode, work) => {
          begun += 1;
          if (begun === 2) await shop.run('drop table svc_migrate_state');
          return db.transaction(mode, work);
        },
      }),
    });
    await expect(racing.write()).rejects.toMatchObject({ code: 'locked' });
    await run.undo();
    expect(await shop.dump()).toBe(before);
  });
});
