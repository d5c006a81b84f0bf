import { describe, expect, it } from 'vitest';
import { isRight } from '../../src/apply/plan-and-check.js';
import { dumpOf, execute, id, openScene, rowsOf } from './support/scene.js';

const PLAIN = `create table o(id integer primary key, item integer, name text);
  insert into o values (1, 20, 'a'), (2, 30, 'b'), (3, 40, 'c'), (4, 50, 'd'), (5, null, 'e'), (6, 20, 'f')`;

describe('the life of a column', () => {
  it('is written beside, checked, switched, and taken back without a trace', async () => {
    const scene = openScene({ sql: PLAIN });
    const before = dumpOf(scene.file);
    await scene.write();
    expect(rowsOf(scene.file, 'select item, item_v4 from o order by id')).toEqual([
      [20, 30],
      [30, 40],
      [40, 20],
      [50, 51],
      [null, null],
      [20, 30],
    ]);
    expect((await scene.check()).every(isRight)).toBe(true);
    await scene.write();
    await scene.switch();
    expect(rowsOf(scene.file, 'select item, item_v3, item_v4 from o order by id')).toEqual([
      [30, 20, 30],
      [40, 30, 40],
      [20, 40, 20],
      [51, 50, 51],
      [null, null, null],
      [30, 20, 30],
    ]);
    expect((await scene.check()).every(isRight)).toBe(true);
    await scene.undo();
    expect(dumpOf(scene.file)).toBe(before);
  });

  it('takes rows that came since, and refuses to switch before it did', async () => {
    const scene = openScene({ sql: PLAIN });
    await scene.write();
    execute(
      scene.file,
      `insert into o(id, item) values (7, 40); update o set item = 50 where id = 1;
      update o set item = null where id = 2`,
    );
    expect((await scene.check()).map(({ missing, wrongCount }) => [missing, wrongCount])).toEqual([[0, 3]]);
    await expect(scene.switch()).rejects.toMatchObject({ code: 'incomplete' });
    await scene.write();
    await scene.switch();
    expect(rowsOf(scene.file, 'select item from o order by id')).toEqual([
      [51],
      [null],
      [20],
      [51],
      [null],
      [30],
      [20],
    ]);
  });

  it('never takes V4 ids for V3 ids after a switch', async () => {
    const scene = openScene({ sql: PLAIN });
    await scene.write();
    await scene.switch();
    execute(scene.file, 'insert into o(id, item) values (7, 40)');
    const before = dumpOf(scene.file);
    await scene.write();
    await scene.switch();
    expect(dumpOf(scene.file)).toBe(before);
    expect((await scene.check())[0]).toMatchObject({ cameSince: 1, wrongCount: 0, changedSinceCount: 0 });
    expect((await scene.undo())[0]).toMatchObject({ restored: 5, changedSinceCount: 1, changedSince: ['7'] });
    expect(rowsOf(scene.file, 'select item from o order by id')).toEqual([
      [20],
      [30],
      [40],
      [50],
      [null],
      [20],
      [40],
    ]);
  });

  it('leaves cells without a V4 id out, refuses to switch them, and empties them on request', async () => {
    const scene = openScene({ sql: `${PLAIN}, (7, 60, 'g'), (8, 99, 'h')` });
    const before = dumpOf(scene.file);
    await scene.write();
    expect(rowsOf(scene.file, 'select item_v4 from o where id > 6')).toEqual([[null], [null]]);
    await expect(scene.switch()).rejects.toMatchObject({ name: 'RefusedSwitch' });
    expect(rowsOf(scene.file, 'select item from o where id > 6')).toEqual([[60], [99]]);
    await scene.switch(true);
    expect(rowsOf(scene.file, 'select item, item_v3 from o where id > 5 order by id')).toEqual([
      [30, 20],
      [null, 60],
      [null, 99],
    ]);
    expect((await scene.check()).every(isRight)).toBe(true);
    await scene.undo();
    expect(dumpOf(scene.file)).toBe(before);
  });

  it('lets rows that were changed since the switch stay, and names them', async () => {
    const scene = openScene({ sql: PLAIN });
    await scene.write();
    await scene.switch();
    execute(scene.file, 'update o set item = 999 where id = 3');
    expect((await scene.check())[0]).toMatchObject({ changedSinceCount: 1, changedSince: ['3'] });
    expect((await scene.undo())[0]).toMatchObject({ restored: 4, changedSinceCount: 1, changedSince: ['3'] });
    expect(rowsOf(scene.file)).toEqual([
      [1, 20, 'a'],
      [2, 30, 'b'],
      [3, 999, 'c'],
      [4, 50, 'd'],
      [5, null, 'e'],
      [6, 20, 'f'],
    ]);
  });

  it.each(['item integer unique', 'item integer', 'item', 'item int not null'])(
    'switches ids that swap: %s',
    async (column) => {
      const key = column === 'item integer' ? ', primary key (item)' : ', unique (item, id)';
      const scene = openScene({
        sql: `create table o(id integer, ${column}${key}); insert into o values (1, 20), (2, 30), (3, 40), (4, 50)`,
      });
      const before = dumpOf(scene.file);
      await scene.write();
      await scene.switch();
      expect(rowsOf(scene.file, 'select item from o order by id')).toEqual([[30], [40], [20], [51]]);
      await scene.undo();
      expect(dumpOf(scene.file)).toBe(before);
    },
  );

  it('swaps ids under a unique key beside negative numbers', async () => {
    const scene = openScene({
      sql: 'create table o(id integer primary key, item integer unique); insert into o values (1, -21), (2, -31), (3, 7)',
      map: { '-21': -31, '-31': -21, 7: 30 },
    });
    await scene.write();
    await scene.switch();
    expect(rowsOf(scene.file, 'select item from o order by id')).toEqual([[-31], [-21], [30]]);
  });

  it('tells values of different types apart', async () => {
    const scene = openScene({
      sql: `create table o(id integer primary key, item);
        insert into o values (1, 20), (2, '20'), (3, 20.0), (4, x'3230'), (5, '020'), (6, ''), (7, ' 20')`,
    });
    await scene.write();
    expect(rowsOf(scene.file, 'select item_v4, typeof(item_v4) from o order by id')).toEqual([
      [30, 'integer'],
      ['30', 'text'],
      [null, 'null'],
      [null, 'null'],
      [null, 'null'],
      [null, 'null'],
      [null, 'null'],
    ]);
    expect(
      rowsOf(
        scene.file,
        `select reason, count(*) from "${String(rowsOf(scene.file, 'select crosswalk from svc_migrate_state')[0]?.[0])}" group by 1`,
      ),
    ).toEqual([
      [null, 2],
      ['empty', 1],
      ['unknown/not_a_number', 4],
    ]);
  });

  it('keeps texts apart that a collation of the column takes for equal', async () => {
    const scene = openScene({
      sql: `create table o(id integer primary key, item text collate nocase); insert into o values (1, 'a'), (2, 'A'), (3, '20')`,
    });
    await scene.write();
    expect(rowsOf(scene.file, 'select item_v4 from o order by id')).toEqual([[null], [null], ['30']]);
    expect((await scene.check())[0]?.missing).toBe(0);
  });

  it('edits ids in JSON by place, and nothing else', async () => {
    const scene = openScene({
      sql: `create table o(id integer primary key, item json);
        insert into o values (1, '{"ref": {"ids": [20, "30" ], "n": 1.50}, "x":20}'), (2, '{"ref": null}'), (3, '{"ref":{"ids":[60]}}'), (4, 'no'), (5, null)`,
      ids: [id({ path: '$.ref.ids[*]' })],
    });
    await scene.write();
    expect(rowsOf(scene.file, 'select item_v4 from o order by id')).toEqual([
      ['{"ref": {"ids": [30, "40" ], "n": 1.50}, "x":20}'],
      [null],
      [null],
      [null],
      [null],
    ]);
    expect((await scene.check())[0]?.unmapped.map(({ name, rows }) => [name, rows])).toEqual([
      ['unknown/not_json', 1],
      ['unmatched/outside_backfill_window', 1],
    ]);
  });

  it('takes model and region from other columns, and leaves rows of something else alone', async () => {
    const scene = openScene({
      sql: `create table o(id integer primary key, item integer, kind text, region text);
        insert into o values (1, 20, 'a', 'eu'), (2, 20, 'b', 'eu'), (3, 20, 'x', 'eu'), (4, 20, 'a', 'us'), (5, 20, null, 'eu'), (6, 20, 'a', null)`,
      ids: [id({ modelColumn: 'kind', models: { a: 't/a', b: 't/b', x: null }, regionColumn: 'region' })],
      map: { 't/a eu 20': 1, 't/b eu 20': 2, 't/a us 20': 3 },
    });
    await scene.write();
    expect(rowsOf(scene.file, 'select item_v4 from o order by id')).toEqual([
      [1],
      [2],
      [null],
      [3],
      [null],
      [null],
    ]);
    await scene.switch(true);
    expect(rowsOf(scene.file, 'select item from o order by id')).toEqual([
      [1],
      [2],
      [20],
      [3],
      [null],
      [null],
    ]);
    expect((await scene.undo())[0]?.changedSinceCount).toBe(0);
  });

  it('gives a column one owner if three first writers come at once', async () => {
    const scene = openScene({ sql: PLAIN });
    const before = dumpOf(scene.file);
    const ends = await Promise.allSettled([scene.write(), scene.write(), scene.write()]);
    const codes = ends.map((end) => (end.status === 'fulfilled' ? 'written' : end.reason.code));
    expect(codes).toContain('written');
    expect(codes.every((code) => code === 'written' || code === 'locked')).toBe(true);
    expect(rowsOf(scene.file, 'select count(*) from svc_migrate_state')).toEqual([[1]]);
    expect((await scene.check()).every(isRight)).toBe(true);
    await scene.undo();
    expect(dumpOf(scene.file)).toBe(before);
  });

  it('does not drop what is beside V4 ids if another process switched while undo waited', async () => {
    const scene = openScene({ sql: PLAIN });
    const before = dumpOf(scene.file);
    await scene.write();
    let waits = true;
    const late = openScene({
      sql: '',
      file: scene.file,
      wrap: (db) => ({
        ...db,
        transaction: async (mode, work) => {
          if (waits) {
            waits = false;
            await scene.switch(true);
          }
          return db.transaction(mode, work);
        },
      }),
    });
    await expect(late.undo()).rejects.toMatchObject({ code: 'locked' });
    expect((await scene.check()).every(isRight)).toBe(true);
    await scene.undo();
    expect(dumpOf(scene.file)).toBe(before);
  });

  it.each([0, 1, 2, 3, 4, 5])(
    'leaves nothing without an owner if an undo comes before step %i of a write',
    async (step) => {
      const scene = openScene({ sql: PLAIN });
      const before = dumpOf(scene.file);
      await scene.write();
      const { code, isOvertaken } = await writeOvertaken(scene, step, () => scene.undo());
      expect(code).toBe(isOvertaken ? 'locked' : 'written');
      if (!isOvertaken) await scene.undo();
      expect(dumpOf(scene.file)).toBe(before);
    },
  );

  it.each([0, 1, 2, 3])(
    'takes no V4 ids for V3 ids if a switch comes before step %i of a write',
    async (step) => {
      const scene = openScene({ sql: PLAIN });
      const before = dumpOf(scene.file);
      await scene.write();
      const { code, isOvertaken } = await writeOvertaken(scene, step, () => scene.switch());
      expect(code).toBe(isOvertaken ? 'locked' : 'written');
      expect((await scene.check()).every(isRight)).toBe(true);
      await scene.undo();
      expect(dumpOf(scene.file)).toBe(before);
    },
  );

  it.each([1, 2])('refuses a write before step %i of an undo that has begun', async (step) => {
    const scene = openScene({ sql: PLAIN });
    const before = dumpOf(scene.file);
    await scene.write();
    let left = step;
    let code: unknown = null;
    const undoing = openScene({
      sql: '',
      file: scene.file,
      wrap: (db) => ({
        ...db,
        transaction: async (mode, work) => {
          left -= 1;
          if (left === -1) code = await scene.write().catch((error) => error.code);
          return db.transaction(mode, work);
        },
      }),
    });
    await undoing.undo();
    expect([left < 0, ['locked', 'incomplete', 'bad_input'].includes(String(code))]).toEqual([true, true]);
    expect(dumpOf(scene.file)).toBe(before);
  });

  it('does not call a column switched or restored whose trigger keeps the ids', async () => {
    const scene = openScene({
      sql: 'create table o(id integer primary key, item integer); insert into o values (1, 20), (2, 30)',
    });
    const before = dumpOf(scene.file);
    const freeze = () =>
      execute(
        scene.file,
        'create trigger freeze after update on o when new.item <> old.item begin update o set item = old.item where id = new.id; end',
      );
    const thaw = () => execute(scene.file, 'drop trigger freeze');
    freeze();
    await scene.write();
    await expect(scene.switch()).rejects.toMatchObject({ code: 'bad_input' });
    thaw();
    await scene.switch();
    freeze();
    await expect(scene.undo()).rejects.toMatchObject({ code: 'bad_input' });
    expect(rowsOf(scene.file, 'select item, item_v3 from o order by id')).toEqual([
      [30, 20],
      [40, 30],
    ]);
    thaw();
    await scene.undo();
    expect(dumpOf(scene.file)).toBe(before);
  });

  it('refuses a column of the user that has the name of a new one', async () => {
    const scene = openScene({
      sql: 'create table o(id integer primary key, item integer, item_v3 integer); insert into o values (1, 20, 3)',
    });
    await scene.write();
    await expect(scene.switch()).rejects.toMatchObject({ code: 'bad_input' });
    await scene.undo();
    expect(rowsOf(scene.file)).toEqual([[1, 20, 3]]);
  });
});

/** Writes, while another process does something before the transaction with this number, if there are as many. */
async function writeOvertaken(
  { file }: ReturnType<typeof openScene>,
  step: number,
  overtake: () => Promise<unknown>,
): Promise<{ readonly code: string; readonly isOvertaken: boolean }> {
  let left = step;
  const late = openScene({
    sql: '',
    file,
    wrap: (db) => ({
      ...db,
      transaction: async (mode, work) => {
        left -= 1;
        if (left === -1) await overtake();
        return db.transaction(mode, work);
      },
    }),
  });
  const code = await late.write().then(
    () => 'written',
    (error) => error.code,
  );
  return { code, isOvertaken: left < 0 };
}
