import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ApplyContext, DataStore } from '../../src/apply/context.js';
import { SvcError } from '../../src/errors.js';
import { campaign } from '../support/campaign.js';
import { ENGINES, fileOf } from './support/databases.js';
import { makeFolder } from './support/folder.js';
import { createRemap, INVOICES, NEW, openContext } from './support/remap.js';

/** Stopped at one in so many moments. */
const STRIDE = campaign({ small: 4, full: 1 });
const POLICY = { ...NEW, unknown: 'keep', missing: 'keep' } as const;
const MODEL = [{ column: 'svc_id', model: INVOICES }];

const folder = makeFolder();
const [first, second] = ['first', 'second'].map((name) => join(folder, `${name}.remap`)) as [string, string];
createRemap(first, [
  { v3: 1, v4: 11, platformId: 'a' },
  { v3: 2, v4: 12, platformId: 'b' },
  { v3: 3, v4: 13, platformId: 'c' },
  { v3: 5 },
]);
// The same ids became others, and one has none any more.
createRemap(second, [
  { v3: 1, v4: 91, platformId: 'x' },
  { v3: 2, platformId: 'y' },
  { v3: 3, v4: 13, platformId: 'c' },
  { v3: 5, v4: 15, platformId: 'z' },
]);

/** A context with another remap than that of the run. */
function later(): ApplyContext & { readonly remap: { close(): unknown } } {
  return { ...openContext(second, POLICY), remapVersion: { sha256: 'sha-of-a-later-remap', builtAt: 't' } };
}

async function write(store: DataStore, run: string) {
  const plans = await store.survey();
  return store.write(plans, { run, planSha256: 'p', isExact: true });
}

const verdict = async (store: DataStore) =>
  (await store.verify(null)).map(({ checked, wrongCount, changedSinceCount }) => [
    checked,
    wrongCount,
    changedSinceCount,
  ]);

/** Does a part of an apply that is stopped when it looks for a signal for the nth time; returns whether it was. */
async function isStopped(nth: number, work: (context: ApplyContext) => Promise<unknown>): Promise<boolean> {
  let looks = 0;
  const signal = new AbortController().signal;
  const context = { ...openContext(first, POLICY, { batchRows: 2 }), signal };
  Object.defineProperty(signal, 'aborted', { get: () => looks++ >= nth });
  try {
    await work(context);
    return false;
  } catch (error) {
    if (error instanceof SvcError && error.code === 'interrupted') return true;
    throw error;
  } finally {
    context.remap.close();
  }
}

describe.each(ENGINES)('new columns in $product', (engine) => {
  async function begin(ids: readonly object[] = MODEL) {
    const database = await engine.createDatabase('new_columns');
    await database.query('CREATE TABLE t(k bigint PRIMARY KEY, svc_id bigint)');
    await database.query('INSERT INTO t VALUES (1, 1), (2, 2), (3, 1), (4, NULL), (5, 5), (6, 404)');
    const one = openContext(first, POLICY);
    const other = later();
    const targets = [database.target({ ids })];
    const stores: DataStore[] = [];
    const openStore = (context: ApplyContext) => {
      const store = database.openStore(context, targets);
      stores.push(store);
      return store;
    };
    return {
      database,
      openStore,
      store: openStore(one),
      laterStore: openStore(other),
      rows: async (sql: string) => String(await database.query(sql)),
      run: (sql: string) => database.run(sql),
      close: async () => {
        for (const store of stores) await store.close();
        one.remap.close();
        other.remap.close();
        await database.close();
      },
    };
  }
  type Begun = Awaited<ReturnType<typeof begin>>;

  const cells = ({ rows }: Begun) => rows('SELECT svc_id, svc_id_v4 FROM t ORDER BY k');
  const columns = async ({ rows }: Begun) => (await rows('SELECT * FROM t WHERE k = 1')).split(',').length;

  it('are verified and undone after the remap became another one', async () => {
    const place = await begin();
    const { store, laterStore, close } = place;
    expect(await write(store, 'run-1')).toMatchObject([{ changed: 3 }]);
    expect(await cells(place)).toBe('1,11,2,12,1,11,,,5,,404,');
    expect(await verdict(store)).toEqual([[3, 0, 0]]);
    expect(await verdict(laterStore)).toEqual([[3, 0, 0]]);
    expect(await laterStore.undo('run-1')).toMatchObject([{ restored: 3, changedSinceCount: 0 }]);
    expect(await columns(place)).toBe(2);
    expect(await place.database.ledger.temporaryTables()).toEqual([]);
    await close();
  });

  it('are not filled by a run that named its column otherwise', async () => {
    const place = await begin();
    await write(place.store, 'run-1');
    const named = [place.database.target({ ids: [{ ...MODEL[0], newColumn: 'other' }] })];
    const context = openContext(first, POLICY);
    const store = place.database.openStore(context, named);
    const notes = (await store.survey()).flatMap((plan) => plan.notes.map(({ code }) => code));
    expect(notes).toEqual(['other_run']);
    await store.close();
    context.remap.close();
    expect(await place.store.undo('run-1')).toMatchObject([{ restored: 3 }]);
    expect(await columns(place)).toBe(2);
    await place.close();
  });

  it('keep what another program wrote, and name it, whatever the remap is', async () => {
    const place = await begin();
    const { store, laterStore, close } = place;
    await write(store, 'run-1');
    // Another id; one that only the later remap gives; a V4 id beside another V3 id; an emptied cell.
    await place.run('UPDATE t SET svc_id_v4 = 7 WHERE k = 1; UPDATE t SET svc_id_v4 = 15 WHERE k = 5');
    await place.run('UPDATE t SET svc_id = 1 WHERE k = 2; UPDATE t SET svc_id_v4 = NULL WHERE k = 3');
    for (const own of [store, laterStore]) {
      expect(await verdict(own)).toEqual([[3, 3, 1]]);
      expect(await own.undo('run-1')).toMatchObject([{ restored: 0, changedSinceCount: 3 }]);
    }
    expect(await columns(place)).toBe(3);
    await place.run(
      'UPDATE t SET svc_id_v4 = 11 WHERE k IN (1, 2); UPDATE t SET svc_id_v4 = NULL WHERE k = 5',
    );
    expect(await laterStore.undo('run-1')).toMatchObject([{ restored: 3, changedSinceCount: 0 }]);
    await close();
  });

  it('take what came since from a later remap, and never change what is there', async () => {
    const place = await begin();
    const { store, laterStore, close } = place;
    await write(store, 'run-1');
    await place.run('INSERT INTO t(k, svc_id) VALUES (7, 1), (8, 2)');
    await write(laterStore, 'run-2');
    expect(await cells(place)).toBe('1,11,2,12,1,11,,,5,15,404,,1,91,2,');
    expect(await verdict(laterStore)).toEqual([[5, 0, 1]]);
    expect(await verdict(store)).toEqual([[5, 0, 1]]);
    expect(await store.undo('run-1')).toMatchObject([{ restored: 5, changedSinceCount: 0 }]);
    expect(await columns(place)).toBe(2);
    await close();
  });

  it('are named by a plan where a later remap gives other ids, also after a run took what came since', async () => {
    const place = await begin();
    const { store, laterStore, close } = place;
    const changed = async (own: DataStore) => (await own.survey()).map(({ earlier }) => earlier.changedSince);
    await write(store, 'run-1');
    expect([await changed(store), await changed(laterStore)]).toEqual([[0], [3]]);
    const byLedger = async (own: DataStore) => (await own.verify(null)).map((one) => one.byLedgerAlone);
    expect([await byLedger(store), await byLedger(laterStore)]).toEqual([[false], [true]]);
    await place.run('INSERT INTO t(k, svc_id) VALUES (7, 1)');
    await write(laterStore, 'run-2');
    expect([await changed(store), await changed(laterStore)]).toEqual([[2], [3]]);
    await close();
  });

  it('are counted once where two writes gave them the same id, and verified with what came since', async () => {
    const place = await begin();
    const { store, laterStore, close } = place;
    await write(store, 'run-1');
    await place.run('INSERT INTO t(k, svc_id) VALUES (7, 1), (8, 3)');
    const came = async (own: DataStore) => (await own.verify(null)).map(({ cameSince }) => cameSince);
    // The later remap gives one to 5 too.
    expect([await came(store), await came(laterStore)]).toEqual([[1], [2]]);
    await write(store, 'run-2');
    expect([await came(store), await verdict(store)]).toEqual([[0], [[5, 0, 0]]]);
    const [plan] = await laterStore.survey();
    expect(plan?.earlier).toMatchObject({ changedSince: 4 });
    expect(plan?.earlier.changedRows[0]).toBe('svc_id_v4 11: the remap gives another id');
    await close();
  });

  it('are filled once and undone, wherever both are stopped', async () => {
    let stops = 0;
    for (let nth = 0, goesOn = true; goesOn; nth += STRIDE) {
      const place = await begin();
      const { openStore: open, store, close } = place;
      const before = await place.rows('SELECT * FROM t ORDER BY k');
      goesOn = await isStopped(nth, (context) => write(open(context), 'run-1'));
      await write(store, 'run-2');
      expect(await cells(place)).toBe('1,11,2,12,1,11,,,5,,404,');
      expect(await verdict(store)).toEqual([[3, 0, 0]]);
      const [run] = (await store.runs()).map((one) => one.run);
      if (await isStopped(nth, (context) => open(context).undo(run ?? ''))) goesOn = true;
      await store.undo(run ?? '');
      expect(await place.rows('SELECT * FROM t ORDER BY k')).toBe(before);
      if (goesOn) stops += 1;
      await close();
    }
    expect(stops).toBeGreaterThan(campaign({ small: 1, full: 4 }));
  });

  it('are undone by whichever tool, also with their platform_ids', async () => {
    const ids = [{ ...MODEL[0], platformIdColumn: 'stable' }];
    const place = await begin(ids);
    const { store, laterStore, close } = place;
    const before = await place.rows('SELECT * FROM t ORDER BY k');
    const run = { run: 'sql-1', planSha256: 'p', isExact: true };
    const script = await store.emit?.(await store.survey(), run);
    if (script === undefined) throw new Error('no SQL');
    await place.run(fileOf(script, [...script.load, ...script.up]));
    expect(await place.rows('SELECT svc_id_v4, stable FROM t ORDER BY k')).toBe('11,a,12,b,11,a,,,,,,');
    expect(await verdict(laterStore)).toEqual([[6, 0, 0]]);
    expect(await laterStore.undo('sql-1')).toMatchObject([{ changedSinceCount: 0 }]);
    expect(await place.rows('SELECT * FROM t ORDER BY k')).toBe(before);
    expect(await place.database.ledger.temporaryTables()).toEqual([]);
    await write(store, 'run-1');
    await laterStore.undo('run-1');
    expect(await place.rows('SELECT * FROM t ORDER BY k')).toBe(before);
    await close();
  });
});
