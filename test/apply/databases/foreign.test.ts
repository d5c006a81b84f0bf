import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Db } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { campaign } from '../../support/campaign.js';
import { compileChild } from '../../support/compile-child.js';
import { type Database, ENGINES, type Session } from '../support/databases.js';
import { ForeignApp, sqlOf, type Write } from '../support/foreign-app.js';
import { assertSpared, openForeignScene } from '../support/foreign-scene.js';
import { seeded } from '../support/remap.js';

interface Writers {
  stop(): Promise<void>;
}

describe.each(ENGINES)('$product', (engine) => {
  const isSqlite = engine.kind === 'sqlite';
  const seeds = isSqlite ? campaign({ small: 2, full: 4 }) : campaign({ small: 2, full: 4, soak: 40 });

  it('loses nothing that others write at any moment, and skips only rows they took', async () => {
    let writes = 0;
    let skipped = 0;
    for (let seed = 1; seed <= seeds; seed += 1) {
      const app = new ForeignApp(seeded(seed));
      // The first batch is through: what is written from now on came after the plan.
      let writers: Writers | null = null;
      let start: (() => Writers) | null = null;
      const scene = await openForeignScene(engine, app, isSqlite ? 2 : 10, () => {
        writers ??= start?.() ?? null;
      });
      start = await (isSqlite ? prepareProcess : prepareSessions)(scene.database, app, seed);
      const [written] = await scene.open().write('run-1', false);
      await (writers as Writers | null)?.stop();
      skipped += await assertSpared(scene, written);
      writes += app.log.length;
    }
    process.stderr.write(
      `${engine.product}: ${writes} writes of others in ${seeds} applies, ${skipped} rows skipped\n`,
    );
    // Two writers of a SQLite file wait for each other.
    if (isSqlite) expect(writes).toBeGreaterThan(seeds);
    else expect(skipped).toBeGreaterThan(seeds);
  });

  it.runIf(isSqlite)('loses nothing that another connection writes between two batches', async () => {
    const count = campaign({ small: 3, full: 15, soak: 250 });
    let writes = 0;
    let skipped = 0;
    for (let seed = 1; seed <= count; seed += 1) {
      const random = seeded(seed);
      const app = new ForeignApp(random);
      let other: Db | null = null;
      let isOver = false;
      const scene = await openForeignScene(engine, app, 10, (database) => {
        other ??= new Sqlite(database.url);
        for (let left = isOver ? 0 : random(8); left > 0; left -= 1) {
          const write = app.next();
          const { sql, values } = sqlOf(write);
          other.prepare(sql).run(...values);
          app.commit(write);
        }
      });
      const [written] = await scene.open().write('run-1', false);
      isOver = true;
      skipped += await assertSpared(scene, written);
      (other as Db | null)?.close();
      writes += app.log.length;
    }
    process.stderr.write(
      `SQLite: ${writes} writes of others between batches of ${count} applies, ${skipped} rows skipped\n`,
    );
    expect(skipped).toBeGreaterThan(count);
  });
});

/** Two other sessions. */
async function prepareSessions(database: Database, app: ForeignApp): Promise<() => Writers> {
  const others = [await database.connect(), await database.connect()];
  const pause = database.engine.kind === 'mysql' ? 'DO SLEEP(0.005)' : 'SELECT pg_sleep(0.005)';
  return () => {
    const over = { isOver: false };
    const writing = others.map((other) => keepWriting(other, pause, app, over));
    return {
      stop: async () => {
        over.isOver = true;
        await Promise.all(writing);
        for (const one of others) await one.end();
      },
    };
  };
}

/** Now and then several writes in one transaction, which holds its locks for a while. */
async function keepWriting(
  session: Session,
  pause: string,
  app: ForeignApp,
  over: { readonly isOver: boolean },
): Promise<void> {
  for (let round = 0; !over.isOver && app.log.length < 220; round += 1) {
    const isLong = round % 5 === 0;
    if (isLong) await session.query('BEGIN');
    const write = app.next();
    // Taken before it is sent: the other session must not choose the same row.
    app.commit(write);
    const { sql, values } = sqlOf(write);
    await session.query(sql, values);
    if (isLong) await session.query(`${pause}; COMMIT`);
  }
}

/** Another process, started ahead. */
async function prepareProcess({ url }: Database, app: ForeignApp, seed: number): Promise<() => Writers> {
  const script = await compileChild('test/apply/support/foreign-child.ts');
  const writer = spawn(process.execPath, [script, url, String(seed)]);
  await once(writer.stdout, 'data');
  const log = readLog(writer);
  return () => {
    writer.stdin.write('go\n');
    return {
      stop: async () => {
        writer.stdin.end();
        app.log.push(...(await log));
      },
    };
  };
}

async function readLog(writer: ChildProcess): Promise<Write[]> {
  let output = '';
  writer.stdout?.on('data', (bytes) => {
    output += String(bytes);
  });
  writer.stderr?.pipe(process.stderr);
  await once(writer, 'close');
  return JSON.parse(output) as Write[];
}
