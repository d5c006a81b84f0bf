import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/apply/plan.js';
import type { TableTarget } from '../../../src/config/apply-targets.js';
import { campaignCases } from '../../support/campaign.js';
import { ENGINES } from '../support/databases.js';
import { IN_PLACE, INVOICES, NEW } from '../support/remap.js';
import { ID_TYPES, openScene } from '../support/scene.js';

const REMAP = [
  { v3: 5, v4: 6, platformId: 'p5' },
  { v3: 6, v4: 5, platformId: 'p6' },
  { v3: 7, v4: 70, platformId: '007' },
  { v3: 8, platformId: 'p8' },
  { v3: 9, v4: 10, status: 'deleted', reason: 'deleted_in_v3', platformId: 'p9' },
  { v3: 12, v4: 31, region: 'eu', platformId: 'p12' },
  { v3: 12, v4: 32, region: 'us', platformId: 'p12' },
  { v3: 13, v4: 33, region: 'eu', platformId: 'p13' },
  { v3: 13, v4: 34, region: 'us', platformId: 'q13' },
  { v3: 14, v4: 7 },
  { v3: 17, v4: 71, platformId: 'p17' },
  { v3: 16, status: 'ambiguous', reason: 'duplicate_in_v4', platformId: 'p16' },
  { v3: null, v4: 20, status: 'v4_only', platformId: 'p20' },
];

const KEEP = { ...IN_PLACE, missing: 'keep', unknown: 'keep' } as const;
const AGAIN = { ...KEEP, again: true } as const;
const ID = { column: 'i', model: INVOICES, platformIdColumn: 'platform' };
/** Each value, what it becomes in place, and the platform_id beside it. */
const CELLS: readonly (readonly [
  what: string,
  cell: string | null,
  v4: string | null,
  platformId: string | null,
])[] = [
  ['mapped', '5', '6', 'p5'],
  ['mapped the other way round', '6', '5', 'p6'],
  ['mapped, with a platform_id that looks like a number', '7', '70', '007'],
  ['a V3 record without a twin', '8', '8', 'p8'],
  ['a deleted record', '9', '9', 'p9'],
  ['of two regions, with one platform_id', '12', '12', 'p12'],
  ['of two regions, with two platform_ids', '13', '13', null],
  ['mapped, without a platform_id', '14', '7', null],
  ['ambiguous in V4', '16', '16', 'p16'],
  ['a V4 id only', '20', '20', null],
  ['in no remap', '404', '404', null],
  ['no id', 'x', 'x', null],
  ['empty', '', '', null],
  ['NULL', null, null, null],
];

describe.each(ENGINES)('$product', (engine) => {
  const { tableOf, sql, apply, check, verify, undo, database } = openScene(engine, REMAP);
  const targetOf = (...ids: readonly object[]): TableTarget =>
    tableOf({ ids: ids.length === 0 ? [ID] : ids.map((one) => ({ ...ID, ...one })) });
  /** PostgreSQL alone tells names by their case. */
  const sameName = (name: string) => (engine.kind === 'postgres' ? name.toLowerCase() : name);
  const rows = (columns = 'i, platform') => sql(`SELECT ${columns} FROM t ORDER BY k`);

  async function createTable(type = 'varchar(20)', cells = CELLS.map(([, cell]) => cell)): Promise<void> {
    const values = cells.map((cell, at) => `(${at + 1}, ${cell === null ? 'NULL' : `'${cell}'`})`);
    await sql(`CREATE TABLE t(k integer PRIMARY KEY, i ${type})`);
    await sql(`INSERT INTO t VALUES ${values.join(', ')}`);
  }

  const types = campaignCases(ID_TYPES[engine.kind], engine.kind === 'sqlite' ? 2 : 1);
  const stored = { targets: [targetOf()] };
  const pair =
    "CREATE TABLE t(k integer PRIMARY KEY, i varchar(20), j varchar(20)); INSERT INTO t VALUES (1, '5', NULL), (2, NULL, '6')";

  it.each(['varchar(20)', 'varchar(20) UNIQUE'])(
    'stores the platform_id of every V3 record, in place (%s)',
    async (type) => {
      await createTable(type);
      const before = await database().dump();
      for (const run of ['run-1', 'run-2']) {
        expect(await apply(KEEP, { ...stored, run })).toEqual([]);
        expect(await rows()).toEqual(CELLS.map(([, , v4, platformId]) => [v4, platformId]));
      }
      expect(await verify()).toMatchObject([{ checked: 11, wrongCount: 0, changedSinceCount: 0 }]);
      const { blocks } = await check([targetOf()]);
      expect(blocks.filter(({ note }) => note.code === 'changed_since')).toEqual([]);
      expect(await undo('run-1')).toMatchObject([{ restored: 11, changedSinceCount: 0 }]);
      expect(await database().dump()).toBe(before);
    },
  );

  it('stores them beside the new column', async () => {
    await createTable();
    const before = await database().dump();
    const policy = { ...KEEP, mode: 'new' } as const;
    expect(await apply(policy, stored)).toEqual([]);
    expect(await rows()).toEqual(CELLS.map(([, cell, , platformId]) => [cell, platformId]));
    await sql("INSERT INTO t(k, i) VALUES (15, '7')");
    expect(await apply(policy, { ...stored, run: 'run-2' })).toEqual([]);
    expect(await sql('SELECT i_v4, platform FROM t WHERE k > 14')).toEqual([['70', '007']]);
    await sql("UPDATE t SET platform = 'mine' WHERE k = 1");
    expect(await verify()).toMatchObject([{ wrong: ['i 5: platform holds mine'] }]);
    expect(await undo('run-1')).toMatchObject([{ changedSince: ['i 5: platform holds mine'] }]);
    await sql("UPDATE t SET platform = 'p5' WHERE k = 1");
    await sql('DELETE FROM t WHERE k > 14');
    await undo('run-1');
    expect(await database().dump()).toBe(before);
  });

  it.each(types)('stores them for rows that came since, and changes none (%s)', async (type) => {
    await createTable(type, ['5', '14']);
    expect(await apply(KEEP, stored)).toEqual([]);
    await sql("INSERT INTO t VALUES (3, 17, NULL), (4, 8, 'mine')");
    const rest = [
      ['17', null],
      ['8', 'mine'],
    ];
    const written = [
      ['6', 'p5'],
      ['7', null],
    ];
    expect(await apply(KEEP, { ...stored, run: 'run-2' })).toEqual([]);
    expect(await rows()).toEqual([...written, ...rest]);
    expect(await apply(AGAIN, { ...stored, run: 'run-3' })).toEqual([]);
    // The ids of rows 1 and 2 are V4 ids now and are never looked up.
    expect(await rows()).toEqual([...written, ['71', 'p17'], ['8', 'mine']]);
    expect((await verify()).map(({ wrongCount }) => wrongCount)).toEqual([0, 0]);
    await undo('run-3');
    expect(await rows()).toEqual([...written, ...rest]);
    const changedSince = ['column platform stays: other programs filled it'];
    expect(await undo('run-1')).toMatchObject([{ changedSince, changedSinceCount: 1 }]);
    expect(await rows()).toEqual([['5', null], ['14', null], ...rest]);
  });

  it.each(types)('keeps their column while another run has filled it too (%s)', async (type) => {
    await createTable(type, ['5']);
    expect(await apply(KEEP, stored)).toEqual([]);
    await sql('INSERT INTO t(k, i) VALUES (2, 17)');
    expect(await apply(AGAIN, { ...stored, run: 'run-2' })).toEqual([]);
    expect(await undo('run-1')).toMatchObject([{ restored: 2, changedSinceCount: 0 }]);
    expect(String(await rows())).toBe('5,,71,p17');
    expect(await undo('run-2')).toMatchObject([{ restored: 2, changedSinceCount: 0 }]);
    expect(String(await rows('*'))).toBe('1,5,2,17');
  });

  it.each(types)('leaves those that were changed since with their rows (%s)', async (type) => {
    await createTable(type, ['5', '6', '7']);
    expect(await apply(IN_PLACE, stored)).toEqual([]);
    await sql("UPDATE t SET platform = 'mine' WHERE k = 2");
    expect(await verify()).toMatchObject([{ wrongCount: 0, changedSinceCount: 1 }]);
    expect((await check([targetOf()])).blocks.map(({ note }) => note.code)).toEqual(['changed_since']);
    expect(await undo('run-1')).toMatchObject([{ restored: 5, changedSince: ['row 2'] }]);
    expect(String(await rows())).toBe('5,,6,mine,7,');
    await sql("UPDATE t SET platform = 'p6' WHERE k = 2");
    await undo('run-1');
    expect(String(await rows('*'))).toBe('1,5,2,6,3,7');
  });

  it.each(types)('can be undone after their column was dropped (%s)', async (type) => {
    await createTable(type, ['5', '6']);
    expect(await apply(IN_PLACE, stored)).toEqual([]);
    await sql('ALTER TABLE t DROP COLUMN platform');
    expect(await apply(IN_PLACE, { ...stored, run: 'run-2' })).toEqual(['platform_column_gone']);
    expect(await verify()).toMatchObject([{ wrong: ['column platform is gone'] }]);
    await undo('run-1');
    expect(String(await rows('*'))).toBe('1,5,2,6');
    expect(await database().ledger.states()).toEqual(['run-1 undone']);
  });

  it.each(['integer', 'integer UNIQUE'])(
    'can be undone by two processes at the same time (%s)',
    async (type) => {
      await createTable(type, ['5', '6', '7']);
      const before = await database().dump();
      expect(await apply(IN_PLACE, stored)).toEqual([]);
      const all = await Promise.all([undo('run-1'), undo('run-1')]);
      for (const { restored, changedSinceCount } of all.flat())
        expect([restored, changedSinceCount]).toEqual([6, 0]);
      expect(await database().dump()).toBe(before);
    },
  );

  it('drops them again from tables that are undone at once, whose keys are checked late', async () => {
    const late = engine.kind === 'mysql' ? '' : 'DEFERRABLE INITIALLY DEFERRED';
    await sql('CREATE TABLE t(k integer PRIMARY KEY, i integer UNIQUE)');
    await sql(`CREATE TABLE c(k integer PRIMARY KEY, i integer, FOREIGN KEY (i) REFERENCES t(i) ${late})`);
    for (const table of ['t', 'c']) await sql(`INSERT INTO ${table} VALUES (1, 5), (2, 6), (3, 7)`);
    const before = await database().dump();
    const targets = [targetOf(), tableOf({ name: 'child', table: 'c', ids: [ID] })];
    expect(await apply(IN_PLACE, { targets })).toEqual([]);
    expect(String(await sql('SELECT i, platform FROM c ORDER BY k'))).toBe('6,p5,5,p6,70,007');
    expect(await undo('run-1')).toMatchObject([{ restored: 6 }, { restored: 6 }]);
    expect(await database().dump()).toBe(before);
  });

  // The servers drop the index with the column.
  it.runIf(engine.kind === 'sqlite').each([KEEP, { ...KEEP, mode: 'new' } as const])(
    'an index on the column for platform_ids stops undo until it is dropped ($mode)',
    async (policy) => {
      await createTable('bigint', ['5', '6']);
      const before = await database().dump();
      expect(await apply(policy, stored)).toEqual([]);
      await sql('CREATE INDEX by_platform ON t(platform)');
      await expect(undo('run-1')).rejects.toMatchObject({
        code: 'bad_input',
        message: expect.stringContaining('index by_platform'),
        hint: expect.stringContaining('Drop what uses the column'),
      });
      await sql('DROP INDEX by_platform');
      await undo('run-1');
      expect(await database().dump()).toBe(before);
    },
  );

  const shared = [{}, { column: 'j', platformIdColumn: sameName('PLATFORM') }];
  it.each([
    ['their column exists', [targetOf({ platformIdColumn: sameName('J') })], 'new_column_exists'],
    ['it is the column of the ids', [targetOf({ platformIdColumn: 'i' })], 'new_column_exists'],
    ['two columns share it', [targetOf(...shared)], 'named_twice'],
    [
      'two targets share it',
      [targetOf(), tableOf({ name: 'other', ids: [{ ...ID, column: 'j' }] })],
      'named_twice',
    ],
    [
      'it is the new column of the V4 ids',
      [targetOf({ platformIdColumn: sameName('I_v4') })],
      'named_twice',
      NEW,
    ],
  ])('refuses a plan where %s', async (_, targets, code, policy: Policy | null = null) => {
    await sql(pair);
    const before = await database().dump();
    for (const mode of policy === null ? (['in_place', 'new'] as const) : [policy.mode])
      expect(await apply({ ...KEEP, mode }, { targets })).toContain(code);
    expect(await database().dump()).toBe(before);
  });

  it('refuses a plan where their column was filled from another one, or the ids were rewritten without them', async () => {
    await sql(pair);
    expect(await apply(KEEP, stored)).toEqual([]);
    const other = { targets: [targetOf({ column: 'j' })], run: 'run-2' };
    expect(await apply(KEEP, other)).toEqual(['new_column_exists']);
    expect(String(await rows('i, j, platform'))).toBe('6,,p5,,6,');
    await undo('run-1');
    expect(await apply(IN_PLACE)).toEqual([]);
    for (const policy of [IN_PLACE, AGAIN, NEW])
      expect(await apply(policy, { ...stored, run: 'run-2' })).toContain('rewritten');
    expect(String(await rows('*'))).toBe('1,6,,2,,6');
  });

  it.each([{ path: '$.id' }, { pattern: 'doc:{id}' }])('refuses a target with %j', (more) => {
    expect(() => targetOf(more)).toThrow('platformIdColumn, which needs cells that are one id');
  });
});
