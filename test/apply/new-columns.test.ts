import { describe, expect, it } from 'vitest';
import type { ApplyContext } from '../../src/apply/context.js';
import type { Plan, Policy } from '../../src/apply/plan.js';
import { listUnmapped } from '../../src/apply/unmapped.js';
import { SvcError } from '../../src/errors.js';
import { campaign } from '../support/campaign.js';
import { ENGINES } from './support/databases.js';
import { type Job, newDatabase, openJob } from './support/job.js';
import { INVOICES, makeRemap, NEW } from './support/remap.js';

/** Stopped at one in so many moments. */
const STRIDE = campaign({ small: 4, full: 1 });
const POLICY = { ...NEW, unknown: 'keep', missing: 'keep' } as const;
const MODEL = [{ column: 'svc_id', model: INVOICES }];

const first = makeRemap([
  { v3: 1, v4: 11, platformId: 'a' },
  { v3: 2, v4: 12, platformId: 'b' },
  { v3: 3, v4: 13, platformId: 'c' },
  { v3: 5 },
]);
// The same ids became others, and one has none any more.
const second = makeRemap([
  { v3: 1, v4: 91, platformId: 'x' },
  { v3: 2, platformId: 'y' },
  { v3: 3, v4: 13, platformId: 'c' },
  { v3: 5, v4: 15, platformId: 'z' },
]);
const LATER = { remapVersion: { sha256: 'sha-of-a-later-remap', builtAt: 't' } };

/** Does a part of an apply that is stopped when it looks for a signal for the nth time; returns whether it was. */
async function isStopped(
  nth: number,
  work: (more: Partial<ApplyContext>) => Promise<unknown>,
): Promise<boolean> {
  let looks = 0;
  const signal = new AbortController().signal;
  Object.defineProperty(signal, 'aborted', { get: () => looks++ >= nth });
  try {
    await work({ signal });
    return false;
  } catch (error) {
    if (error instanceof SvcError && error.code === 'interrupted') return true;
    throw error;
  }
}

describe.each(ENGINES)('new columns in $product', (engine) => {
  /** A table with a job of the first remap and one of the later one. */
  async function begin(ids: readonly object[] = MODEL, policy: Policy = POLICY) {
    const database = await newDatabase(engine, 'new_columns');
    await database.query('CREATE TABLE t(k bigint PRIMARY KEY, svc_id bigint)');
    await database.query('INSERT INTO t VALUES (1, 1), (2, 2), (3, 1), (4, NULL), (5, 5), (6, 404)');
    const open = (more: Partial<ApplyContext> = {}, named = ids) =>
      openJob(database, more === LATER ? second : first, policy, [database.target({ ids: named })], {
        batchRows: 2,
        more,
      });
    return {
      database,
      open,
      now: open(),
      later: open(LATER),
      rows: async (sql: string) => String(await database.query(sql)),
      run: (sql: string) => database.run(sql),
    };
  }
  type Begun = Awaited<ReturnType<typeof begin>>;

  const cells = ({ rows }: Begun) => rows('SELECT svc_id, svc_id_v4 FROM t ORDER BY k');
  const columns = async ({ rows }: Begun) => (await rows('SELECT * FROM t WHERE k = 1')).split(',').length;

  it('are verified and undone after the remap became another one', async () => {
    const place = await begin();
    const { now, later } = place;
    expect(await now.write('run-1')).toMatchObject([{ changed: 3 }]);
    expect(await cells(place)).toBe('1,11,2,12,1,11,,,5,,404,');
    expect(await now.verdict()).toEqual([[3, 0, 0]]);
    expect(await later.verdict()).toEqual([[3, 0, 0]]);
    expect(await later.store.undo('run-1')).toMatchObject([{ restored: 3, changedSinceCount: 0 }]);
    expect(await columns(place)).toBe(2);
    expect(await place.database.ledger.temporaryTables()).toEqual([]);
  });

  it('hold V3 ids without a V4 id where asked to, which count as kept, and are known as such later', async () => {
    const policy = { ...POLICY, missing: 'keep-v3' } as const;
    const ids = [{ ...MODEL[0], platformIdColumn: 'stable' }];
    const place = await begin(ids, policy);
    const { now, later } = place;
    const told = async ({ store }: Job) => {
      const targets = await store.survey();
      return listUnmapped({ policy, targets } as Plan, true).map(({ kind, cells }) => `${cells} ${kind}`);
    };
    const seen = () => place.rows('SELECT svc_id, svc_id_v4, stable FROM t ORDER BY k');
    expect(await now.write('run-1')).toMatchObject([{ changed: 7 }]);
    expect(await seen()).toBe('1,11,a,2,12,b,1,11,a,,,,5,5,,404,,');
    expect([await now.verdict(), await later.verdict()]).toEqual([[[7, 0, 0]], [[7, 0, 0]]]);
    expect(await told(now)).toEqual(['1 kept', '1 left_alone']);
    expect(await now.write('run-2')).toMatchObject([{ changed: 7 }]);
    const asKeep = openJob(place.database, first, POLICY, [place.database.target({ ids })]);
    expect((await asKeep.store.survey()).flatMap(({ notes }) => notes.map(({ text }) => text))).toEqual([
      'Run run-1 keeps V3 ids in svc_id_v4: use --missing keep-v3 again, or undo the run first.',
    ]);
    // The later remap gives other ids, and one to what was kept: those are named, and stay.
    await place.run('INSERT INTO t(k, svc_id) VALUES (7, 5), (8, 2)');
    expect(await told(later)).toEqual(['2 kept', '1 left_alone', '5 came_since', '7 changed_since']);
    await later.write('run-3');
    expect(await seen()).toBe('1,11,a,2,12,b,1,11,a,,,,5,5,z,404,,,5,15,z,2,2,y');
    expect(await told(later)).toEqual(['2 kept', '1 left_alone', '7 changed_since']);
    await place.run('UPDATE t SET svc_id_v4 = 2 WHERE k = 1');
    expect(await later.store.undo('run-1')).toMatchObject([{ restored: 0, changedSinceCount: 1 }]);
    await place.run('UPDATE t SET svc_id_v4 = NULL WHERE k = 1');
    expect(await later.store.undo('run-1')).toMatchObject([{ changedSinceCount: 0 }]);
    expect(await columns(place)).toBe(2);
  });

  it('name V3 ids of deleted records that were kept, where those are mapped now', async () => {
    const database = await newDatabase(engine, 'deleted');
    await database.run(
      'CREATE TABLE t(k bigint PRIMARY KEY, svc_id bigint); INSERT INTO t VALUES (1, 1), (2, 8), (3, 9)',
    );
    const deleted = { status: 'deleted', reason: 'deleted_in_v3' };
    const remap = makeRemap([
      { v3: 1, v4: 11 },
      { v3: 8, v4: 28, ...deleted },
      { v3: 9, ...deleted },
    ]);
    const open = (mapDeleted: boolean) =>
      openJob(database, remap, { ...NEW, missing: 'keep-v3', mapDeleted }, [database.target({ ids: MODEL })]);
    await open(false).write('run-1');
    const seen = async () => (await open(true).store.survey()).map(({ earlier }) => earlier.changedRows);
    expect(await seen()).toEqual([['svc_id_v4 8: the remap gives another id']]);
    await database.run('UPDATE t SET svc_id_v4 = NULL WHERE k = 2');
    await open(true).write('run-2');
    expect(await database.query('SELECT svc_id_v4 FROM t ORDER BY k')).toEqual([['11'], ['28'], ['9']]);
    expect([await seen(), await open(false).verdict()]).toEqual([[[]], [[3, 0, 0]]]);
  });

  it('list an id without a V4 id as kept, not as one that came since', async () => {
    const { now, run } = await begin(MODEL, { ...POLICY, missing: 'keep-v3' });
    await now.write('run-1');
    await run('INSERT INTO t(k, svc_id) VALUES (7, 5), (8, 2), (9, 404)');
    const listed: string[] = [];
    await now.store.survey({ onUnmapped: ({ kind, key }) => listed.push(`${key?.['k']} ${kind}`) });
    expect(listed.sort()).toEqual(['5 kept', '6 left_alone', '7 kept', '8 came_since', '9 left_alone']);
  });

  it.runIf(engine.kind === 'mysql')('keep the policy of a run that has not added them yet', async () => {
    const place = await begin(MODEL, { ...POLICY, missing: 'keep-v3' });
    await place.now.write('run-1');
    await place.run("ALTER TABLE t DROP COLUMN svc_id_v4; UPDATE svc_migrate_run SET state = 'working'");
    const asKeep = openJob(place.database, first, POLICY, [place.database.target({ ids: MODEL })]);
    const notes = (await asKeep.store.survey()).flatMap((one) => one.notes.map(({ code }) => code));
    expect(notes).toEqual(['other_run']);
  });

  it('hold V3 ids inside JSON and text too, but nothing where a value is unknown', async () => {
    const database = await newDatabase(engine, 'inside');
    await database.run(`CREATE TABLE t(k bigint PRIMARY KEY, doc varchar(80), url varchar(80));
      INSERT INTO t VALUES (1, '{"ids": [1, 5]}', '/i/5'), (2, '{"ids": [5, 404]}', '/i/404')`);
    const ids = [
      { column: 'doc', path: '$.ids[*]', model: INVOICES },
      { column: 'url', pattern: '/i/{id}', model: INVOICES },
    ];
    const job = openJob(database, first, { ...POLICY, missing: 'keep-v3' }, [database.target({ ids })]);
    await job.write('run-1');
    expect(await database.query('SELECT doc_v4, url_v4 FROM t ORDER BY k')).toEqual([
      ['{"ids": [11, 5]}', '/i/5'],
      [null, null],
    ]);
    expect(await job.verdict()).toEqual([[2, 0, 0]]);
    expect(await job.store.undo('run-1')).toMatchObject([{ restored: 2, changedSinceCount: 0 }]);
  });

  it('are not filled by a run that named its column otherwise', async () => {
    const place = await begin();
    await place.now.write('run-1');
    const { store } = place.open({}, [{ ...MODEL[0], newColumn: 'other' }]);
    const notes = (await store.survey()).flatMap((plan) => plan.notes.map(({ code }) => code));
    expect(notes).toEqual(['other_run']);
    expect(await place.now.store.undo('run-1')).toMatchObject([{ restored: 3 }]);
    expect(await columns(place)).toBe(2);
  });

  it('keep what another program wrote, and name it, whatever the remap is', async () => {
    const place = await begin();
    const { now, later } = place;
    await now.write('run-1');
    // Another id; one that only the later remap gives; a V4 id beside another V3 id; an emptied cell.
    await place.run('UPDATE t SET svc_id_v4 = 7 WHERE k = 1; UPDATE t SET svc_id_v4 = 15 WHERE k = 5');
    await place.run('UPDATE t SET svc_id = 1 WHERE k = 2; UPDATE t SET svc_id_v4 = NULL WHERE k = 3');
    for (const own of [now, later]) {
      expect(await own.verdict()).toEqual([[3, 3, 1]]);
      expect(await own.store.undo('run-1')).toMatchObject([{ restored: 0, changedSinceCount: 3 }]);
    }
    expect(await columns(place)).toBe(3);
    await place.run(
      'UPDATE t SET svc_id_v4 = 11 WHERE k IN (1, 2); UPDATE t SET svc_id_v4 = NULL WHERE k = 5',
    );
    expect(await later.store.undo('run-1')).toMatchObject([{ restored: 3, changedSinceCount: 0 }]);
  });

  it('take what came since from a later remap, and never change what is there', async () => {
    const place = await begin();
    const { now, later } = place;
    await now.write('run-1');
    await place.run('INSERT INTO t(k, svc_id) VALUES (7, 1), (8, 2)');
    await later.write('run-2');
    expect(await cells(place)).toBe('1,11,2,12,1,11,,,5,15,404,,1,91,2,');
    expect(await later.verdict()).toEqual([[5, 0, 1]]);
    expect(await now.verdict()).toEqual([[5, 0, 1]]);
    // Written by another program, though the remap gives the same.
    await place.run('INSERT INTO t VALUES (9, 3, 13)');
    await later.write('run-3');
    expect(await later.verdict()).toEqual([[6, 1, 1]]);
    await place.run('DELETE FROM t WHERE k = 9');
    expect(await now.store.undo('run-1')).toMatchObject([{ restored: 5, changedSinceCount: 0 }]);
    expect(await columns(place)).toBe(2);
  });

  it('are named by a plan where a later remap gives other ids, also after a run took what came since', async () => {
    const place = await begin();
    const { now, later } = place;
    const changed = async ({ store }: Job) =>
      (await store.survey()).map(({ earlier }) => earlier.changedSince);
    await now.write('run-1');
    expect([await changed(now), await changed(later)]).toEqual([[0], [3]]);
    const byLedger = async ({ store }: Job) => (await store.verify(null)).map((one) => one.byLedgerAlone);
    expect([await byLedger(now), await byLedger(later)]).toEqual([[false], [true]]);
    await place.run('INSERT INTO t(k, svc_id) VALUES (7, 1)');
    await later.write('run-2');
    expect([await changed(now), await changed(later)]).toEqual([[2], [3]]);
  });

  it('are counted once where two writes gave them the same id, and verified with what came since', async () => {
    const place = await begin();
    const { now, later } = place;
    await now.write('run-1');
    await place.run('INSERT INTO t(k, svc_id) VALUES (7, 1), (8, 3)');
    const came = async ({ store }: Job) => (await store.verify(null)).map(({ cameSince }) => cameSince);
    // The later remap gives one to 5 too.
    expect([await came(now), await came(later)]).toEqual([[1], [2]]);
    await now.write('run-2');
    expect([await came(now), await now.verdict()]).toEqual([[0], [[5, 0, 0]]]);
    const [plan] = await later.store.survey();
    expect(plan?.earlier).toMatchObject({ changedSince: 4 });
    expect(plan?.earlier.changedRows[0]).toBe('svc_id_v4 11: the remap gives another id');
  });

  it('are filled once and undone, wherever both are stopped', async () => {
    let stops = 0;
    for (let nth = 0, goesOn = true; goesOn; nth += STRIDE) {
      const place = await begin();
      const { open, now } = place;
      const before = await place.rows('SELECT * FROM t ORDER BY k');
      goesOn = await isStopped(nth, (more) => open(more).write('run-1'));
      await now.write('run-2');
      expect(await cells(place)).toBe('1,11,2,12,1,11,,,5,,404,');
      expect(await now.verdict()).toEqual([[3, 0, 0]]);
      const [run] = (await now.store.runs()).map((one) => one.run);
      if (await isStopped(nth, (more) => open(more).store.undo(run ?? ''))) goesOn = true;
      await now.store.undo(run ?? '');
      expect(await place.rows('SELECT * FROM t ORDER BY k')).toBe(before);
      if (goesOn) stops += 1;
    }
    expect(stops).toBeGreaterThan(campaign({ small: 1, full: 4 }));
  });

  it('are undone by whichever tool, also with their platform_ids', async () => {
    const ids = [{ ...MODEL[0], platformIdColumn: 'stable' }];
    const place = await begin(ids);
    const { now, later } = place;
    const before = await place.rows('SELECT * FROM t ORDER BY k');
    await place.run((await now.emit('sql-1')).upFile);
    expect(await place.rows('SELECT svc_id_v4, stable FROM t ORDER BY k')).toBe('11,a,12,b,11,a,,,,,,');
    expect(await later.verdict()).toEqual([[6, 0, 0]]);
    expect(await later.store.undo('sql-1')).toMatchObject([{ changedSinceCount: 0 }]);
    expect(await place.rows('SELECT * FROM t ORDER BY k')).toBe(before);
    expect(await place.database.ledger.temporaryTables()).toEqual([]);
    await now.write('run-1');
    await later.store.undo('run-1');
    expect(await place.rows('SELECT * FROM t ORDER BY k')).toBe(before);
  });
});
