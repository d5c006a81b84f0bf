import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { ApplyContext, WriteResult } from '../../../src/apply/context.js';
import type { Policy } from '../../../src/apply/plan.js';
import type { Database, Engine } from './databases.js';
import {
  FOREIGN_IDS,
  type ForeignApp,
  type ForeignRow,
  foreignTable,
  replay,
  twinOf,
} from './foreign-app.js';
import { newDatabase, openJob } from './job.js';
import { IN_PLACE, INVOICES, makeRemap } from './remap.js';

export const FOREIGN_REMAP = Array.from({ length: FOREIGN_IDS }, (_, at) => ({
  v3: at + 1,
  v4: twinOf(at + 1),
}));
const ROWS = [...foreignTable(false)].map(([k, { id, note }]) => `(${k}, ${id}, '${note}')`);
export const FOREIGN_TABLE = `CREATE TABLE t(k integer PRIMARY KEY, svc_id bigint, note text);
  INSERT INTO t VALUES ${ROWS.join(', ')}`;

/** A table `t(k, svc_id, note)` that is rewritten while an application writes to it. */
export type ForeignScene = Awaited<ReturnType<typeof openForeignScene>>;

/** Makes the table in a new database. `onBatch` is called after each batch. */
export async function openForeignScene(
  engine: Engine,
  app: ForeignApp,
  batchRows: number,
  onBatch: (database: Database) => void,
) {
  const database = await newDatabase(engine, 'others');
  const remap = makeRemap(FOREIGN_REMAP);
  if (engine.kind === 'sqlite') await database.query('PRAGMA journal_mode = WAL');
  await database.run(FOREIGN_TABLE);
  const onProgress: ApplyContext['onProgress'] = (event) => {
    if (event.kind === 'step' && event.name.startsWith('rewriting')) onBatch(database);
  };
  // The clock of a test stands still; waiting for a lock needs one that does not.
  const more = { onProgress, sleep, now: Date.now };
  const target = database.target({ ids: [{ column: 'svc_id', model: INVOICES }] });
  return {
    app,
    database,
    ledger: database.ledger,
    /** What applies in place while the application writes; with `again`, the rows that came meanwhile. */
    open: (policy: Partial<Policy> = {}) =>
      openJob(database, remap, { ...IN_PLACE, unknown: 'keep', ...policy }, [target], {
        batchRows,
        more,
      }),
    read: async () => {
      const cells = await database.query('SELECT k, svc_id, note FROM t');
      return new Map(cells.map(([k, id, note]) => [Number(k), { id: Number(id), note: note ?? '' }]));
    },
  };
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
  const changedSince = [...taken].filter((k) => entered.has(k)).length;
  expect(await scene.open().verdict()).toEqual([[entered.size, 0, changedSince]]);
}

/** Rows that came meanwhile are taken by another run, once. */
async function assertTakenLater(scene: ForeignScene): Promise<void> {
  const before = await scene.read();
  const entered = await changedKeys(scene);
  const job = scene.open({ again: true });
  for (const run of ['run-2', 'run-3']) {
    await job.write(run, false);
    const expected = [...before].map(
      ([k, row]) => [k, entered.has(k) ? row : { ...row, id: twinOf(row.id) }] as const,
    );
    expect(sorted(await scene.read())).toEqual(sorted(new Map(expected)));
  }
}

/** Everything but the application's own writes comes back. */
async function assertUndone(scene: ForeignScene): Promise<void> {
  const { store } = scene.open();
  for (const run of ['run-2', 'run-1']) await store.undo(run);
  expect(sorted(await scene.read())).toEqual(sorted(replay(foreignTable(false), scene.app.log)));
}

/** What must hold once the apply is done and the application has stopped, and after all that may follow. Returns how many rows were skipped. */
export async function assertSpared(scene: ForeignScene, written: WriteResult | undefined): Promise<number> {
  if (written === undefined) throw new Error('nothing was written');
  await assertNothingLost(scene, written);
  await assertTakenLater(scene);
  await assertUndone(scene);
  return written.skippedCount;
}

async function changedKeys({ ledger }: ForeignScene): Promise<Set<number>> {
  return new Set((await ledger.changes()).map(({ key }) => Number(key)));
}

function sorted(table: ReadonlyMap<number, ForeignRow>): string[] {
  return [...table].map(([k, { id, note }]) => `${k} ${id} ${note}`).sort();
}
