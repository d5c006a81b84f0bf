import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import { makeFolder } from './folder.js';
import { ForeignApp, foreignTable, sqlOf } from './foreign-app.js';
import {
  applyTo,
  assertNothingLost,
  assertTakenLater,
  assertUndone,
  FOREIGN_REMAP,
  type ForeignScene,
} from './foreign-scene.js';
import { LedgerReader } from './ledger.js';
import { createRemap, IN_PLACE, openContext, seeded } from './remap.js';

/** A session of a program that writes to the table meanwhile. */
export interface ForeignSession {
  run(sql: string, values?: readonly unknown[]): Promise<unknown>;
  read(sql: string): Promise<readonly (readonly (string | null)[])[]>;
  end(): Promise<unknown>;
}

/** A new, empty database. */
export interface ForeignPlace {
  connect(): Promise<ForeignSession>;
  /** Opens table `t` as the target. */
  openStore(context: ApplyContext): DataStore;
  readonly kind: 'postgres' | 'mysql';
  /** Waits for 5 ms. */
  readonly pause: string;
}

/** Holds a database server to what it promises to programs that write meanwhile, for so many seeds. */
export function itSparesForeignWrites(
  product: string,
  seeds: number,
  createPlace: () => Promise<ForeignPlace>,
): void {
  const folder = makeFolder();
  const remap = join(folder, 'remap.db');
  createRemap(remap, FOREIGN_REMAP);

  async function openScene(
    place: ForeignPlace,
    session: ForeignSession,
    app: ForeignApp,
    onProgress: () => void,
  ): Promise<ForeignScene> {
    const rows = [...foreignTable(false)].map(([k, { id, note }]) => `(${k}, ${id}, '${note}')`);
    const ledger = new LedgerReader(place.kind, (sql) => session.read(sql));
    await ledger.drop();
    await session.run(`DROP TABLE IF EXISTS t;
      CREATE TABLE t(k integer PRIMARY KEY, svc_id bigint, note text); INSERT INTO t VALUES ${rows.join(', ')}`);
    return {
      app,
      openStore: (policy) => {
        const context = openContext(remap, { ...IN_PLACE, unknown: 'keep', ...policy }, { batchRows: 10 });
        const tell: ApplyContext['onProgress'] = (step) => {
          if ('name' in step && step.name.startsWith('rewriting')) onProgress();
        };
        return place.openStore({ ...context, onProgress: tell });
      },
      read: async () =>
        new Map(
          (await session.read('SELECT k, svc_id, note FROM t')).map(([k, id, note]) => [
            Number(k),
            { id: Number(id), note: note ?? '' },
          ]),
        ),
      ledger,
    };
  }

  it('loses nothing that two other sessions write at any moment, and skips only rows they took', async () => {
    const place = await createPlace();
    const session = await place.connect();
    const others = [await place.connect(), await place.connect()];
    let writes = 0;
    let skipped = 0;
    for (let seed = 1; seed <= seeds; seed += 1) {
      const app = new ForeignApp(seeded(seed));
      const over = { isOver: false };
      let writers: Promise<void>[] = [];
      // The first batch is through: what is written from now on came after the plan.
      const scene = await openScene(place, session, app, () => {
        if (writers.length === 0 && !over.isOver)
          writers = others.map((other) => keepWriting(place, other, app, over));
      });
      const store = scene.openStore({});
      const written = await applyTo(store, 'run-1');
      over.isOver = true;
      await Promise.all(writers);
      await store.close();
      await assertNothingLost(scene, written);
      await assertTakenLater(scene);
      await assertUndone(scene);
      writes += app.log.length;
      skipped += written.skippedCount;
    }
    process.stderr.write(
      `${product}: ${writes} writes of others in ${seeds} applies, ${skipped} rows skipped\n`,
    );
    expect(skipped).toBeGreaterThan(seeds);
    for (const one of [session, ...others]) await one.end();
  });
}

/** Now and then several writes in one transaction, which holds its locks for a while. */
async function keepWriting(
  place: ForeignPlace,
  session: ForeignSession,
  app: ForeignApp,
  over: { readonly isOver: boolean },
): Promise<void> {
  for (let round = 0; !over.isOver && app.log.length < 220; round += 1) {
    const isLong = round % 5 === 0;
    if (isLong) await session.run('BEGIN');
    const write = app.next();
    // Taken before it is sent: the other session must not choose the same row.
    app.commit(write);
    const { sql, values } = sqlOf(write);
    await session.run(sql, values);
    if (isLong) await session.run(`${place.pause}; COMMIT`);
  }
}
