import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { ApplyContext, DataStore, WriteResult } from '../../../src/apply/context.js';
import type { Database } from './databases.js';
import {
  FOREIGN_IDS,
  type ForeignApp,
  type ForeignRow,
  foreignTable,
  replay,
  twinOf,
} from './foreign-app.js';
import type { LedgerReader } from './ledger.js';
import { IN_PLACE, INVOICES, openContext, type RemapRow } from './remap.js';

export const FOREIGN_REMAP: readonly RemapRow[] = Array.from({ length: FOREIGN_IDS }, (_, at) => ({
  v3: at + 1,
  v4: twinOf(at + 1),
}));

/** A table `t(k, svc_id, note)` that is rewritten while an application writes to it. */
export interface ForeignScene {
  readonly app: ForeignApp;
  /** Applies in place while the application writes, then again with the rows that came meanwhile. */
  openStore(policy: Partial<ApplyContext['policy']>): DataStore;
  read(): Promise<Map<number, ForeignRow>>;
  readonly ledger: LedgerReader;
}

/** Makes the table in an empty database. `onBatch` is called after each batch. */
export async function openForeignScene(
  database: Database,
  remap: string,
  app: ForeignApp,
  batchRows: number,
  onBatch: () => void,
): Promise<ForeignScene> {
  if (database.engine.kind === 'sqlite') await database.query('PRAGMA journal_mode = WAL');
  await database.query('CREATE TABLE t(k integer PRIMARY KEY, svc_id bigint, note text)');
  const rows = [...foreignTable(false)].map(([k, { id, note }]) => `(${k}, ${id}, '${note}')`);
  await database.query(`INSERT INTO t VALUES ${rows.join(', ')}`);
  return {
    app,
    openStore: (policy) => {
      const context = openContext(remap, { ...IN_PLACE, unknown: 'keep', ...policy }, { batchRows });
      const onProgress: ApplyContext['onProgress'] = (event) => {
        if (event.kind === 'step' && event.name.startsWith('rewriting')) onBatch();
      };
      // The clock of a test stands still; waiting for a lock needs one that does not.
      return database.openStore({ ...context, onProgress, sleep, now: Date.now }, [
        database.target({ ids: [{ column: 'svc_id', model: INVOICES }] }),
      ]);
    },
    read: async () => {
      const cells = await database.query('SELECT k, svc_id, note FROM t');
      return new Map(cells.map(([k, id, note]) => [Number(k), { id: Number(id), note: note ?? '' }]));
    },
    ledger: database.ledger,
  };
}

export async function applyTo(
  store: DataStore,
  run: string,
  during: () => void = () => {},
): Promise<WriteResult> {
  const plans = await store.survey();
  expect(plans.flatMap((plan) => plan.notes.filter((note) => note.level === 'blocks'))).toEqual([]);
  during();
  const [written] = await store.write(plans, { run, planSha256: 'p', isExact: false });
  if (written === undefined) throw new Error('nothing was written');
  return written;
}

/** What must hold once the apply is done and the application has stopped. */
async function assertNothingLost(scene: ForeignScene, written: WriteResult): Promise<void> {
  const { app } = scene;
  const found = await scene.read();
  expect(sorted(found)).toEqual(sorted(replay(foreignTable(true), app.log)));
  const entered = await changedKeys(scene);
  const skipped = new Set((await scene.ledger.skippedKeys()).map(Number));
  const taken = new Set(
    app.log.flatMap((write) => (write.kind === 'set_id' || write.kind === 'delete' ? [write.k] : [])),
  );
  expect(written.skippedCount).toBe(skipped.size);
  // Whoever was not rewritten is said to have been skipped, and nobody else is.
  for (const k of foreignTable(false).keys()) {
    expect({ k, isEntered: entered.has(k), isSkipped: skipped.has(k) }).toEqual({
      k,
      isEntered: !skipped.has(k),
      isSkipped: skipped.has(k),
    });
    if (skipped.has(k)) expect(taken).toContain(k);
  }
  const store = scene.openStore({});
  const changedSince = [...taken].filter((k) => entered.has(k)).length;
  const [verified] = await store.verify(null);
  expect(verified).toMatchObject({ wrongCount: 0, changedSinceCount: changedSince, checked: entered.size });
  await store.close();
}

/** Rows that came meanwhile are taken by another run, once. */
async function assertTakenLater(scene: ForeignScene): Promise<void> {
  const before = await scene.read();
  const entered = await changedKeys(scene);
  const store = scene.openStore({ again: true });
  for (const run of ['run-2', 'run-3']) {
    await applyTo(store, run);
    const expected = [...before].map(
      ([k, row]) => [k, entered.has(k) ? row : { ...row, id: twinOf(row.id) }] as const,
    );
    expect(sorted(await scene.read())).toEqual(sorted(new Map(expected)));
  }
  await store.close();
}

/** Everything but the application's own writes comes back. */
async function assertUndone(scene: ForeignScene): Promise<void> {
  const store = scene.openStore({});
  for (const run of ['run-2', 'run-1']) await store.undo(run);
  expect(sorted(await scene.read())).toEqual(sorted(replay(foreignTable(false), scene.app.log)));
  await store.close();
}

/** What must hold once the apply is done and the application has stopped, and after all that may follow. */
export async function assertSpared(scene: ForeignScene, written: WriteResult): Promise<void> {
  await assertNothingLost(scene, written);
  await assertTakenLater(scene);
  await assertUndone(scene);
}

async function changedKeys({ ledger }: ForeignScene): Promise<Set<number>> {
  return new Set((await ledger.changes()).map(({ key }) => Number(key)));
}

function sorted(table: ReadonlyMap<number, ForeignRow>): string[] {
  return [...table].map(([k, { id, note }]) => `${k} ${id} ${note}`).sort();
}
