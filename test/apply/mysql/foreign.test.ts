import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type mysql from 'mysql2/promise';
import { afterAll, describe, expect, it } from 'vitest';
import type { ApplyContext } from '../../../src/apply/context.js';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import type { MysqlTarget } from '../../../src/config/apply-targets.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { ForeignApp, foreignTable, sqlOf } from '../support/foreign-app.js';
import {
  applyTo,
  assertNothingLost,
  assertTakenLater,
  assertUndone,
  FOREIGN_REMAP,
  type ForeignScene,
} from '../support/foreign-scene.js';
import { connectMysql, readMysql, startMysql } from '../support/mysql.js';
import { createRemap, IN_PLACE, INVOICES, openContext, seeded, target } from '../support/remap.js';

const SEEDS = 8;

const server = await startMysql();

describe.skipIf(server === null)('MariaDB', () => {
  const folder = makeFastFolder();
  const remap = join(folder, 'remap.db');
  createRemap(remap, FOREIGN_REMAP);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function openScene(
    client: mysql.Connection,
    url: string,
    app: ForeignApp,
    onProgress: () => void,
  ): Promise<ForeignScene> {
    const rows = [...foreignTable(false)].map(([k, { id, note }]) => `(${k}, ${id}, '${note}')`);
    await client.query(`DROP VIEW IF EXISTS svc_migrate_ledger; DROP TABLE IF EXISTS svc_migrate_run, svc_migrate_entry, svc_migrate_skipped, t;
      CREATE TABLE t(k integer PRIMARY KEY, svc_id bigint, note text); INSERT INTO t VALUES ${rows.join(', ')}`);
    const ids = [{ column: 'svc_id', model: INVOICES }];
    const one = target({ kind: 'mysql', urlEnv: 'TEST_MYSQL', table: 't', ids });
    const targets = [one].filter((each): each is MysqlTarget => each.kind === 'mysql');
    return {
      app,
      openStore: (policy) => {
        const context = openContext(remap, { ...IN_PLACE, unknown: 'keep', ...policy }, { batchRows: 10 });
        const tell: ApplyContext['onProgress'] = (step) => {
          if ('name' in step && step.name.startsWith('rewriting')) onProgress();
        };
        return openMysqlStore({ ...context, onProgress: tell, env: { TEST_MYSQL: url } }, targets);
      },
      read: async () =>
        new Map(
          (await readMysql(client, 'SELECT k, svc_id, note FROM t')).map(([k, id, note]) => [
            Number(k),
            { id: Number(id), note: note ?? '' },
          ]),
        ),
      readKeys: async (table) => {
        const keys = await readMysql(
          client,
          `SELECT CONVERT(row_key USING utf8mb4) FROM svc_migrate_${table}`,
        );
        return new Set(keys.map(([k]) => Number(k)));
      },
    };
  }

  it('loses nothing that two other sessions write at any moment, and skips only rows they took', async () => {
    const url = (await server?.createDatabase('others')) ?? '';
    const client = await connectMysql(url);
    const others = [await connectMysql(url), await connectMysql(url)];
    let writes = 0;
    let skipped = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const app = new ForeignApp(seeded(seed));
      const over = { isOver: false };
      let writers: Promise<void>[] = [];
      // The first batch is through: what is written from now on came after the plan.
      const scene = await openScene(client, url, app, () => {
        if (writers.length === 0 && !over.isOver)
          writers = others.map((other) => keepWriting(other, app, over));
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
      `MariaDB: ${writes} writes of others in ${SEEDS} applies, ${skipped} rows skipped\n`,
    );
    expect(skipped).toBeGreaterThan(SEEDS);
    for (const one of [client, ...others]) await one.end();
  });
});

/** Now and then several writes in one transaction, which holds its locks for a while. */
async function keepWriting(
  client: mysql.Connection,
  app: ForeignApp,
  over: { readonly isOver: boolean },
): Promise<void> {
  for (let round = 0; !over.isOver && app.log.length < 220; round += 1) {
    const isLong = round % 5 === 0;
    if (isLong) await client.query('BEGIN');
    const write = app.next();
    // Taken before it is sent: the other session must not choose the same row.
    app.commit(write);
    const { sql, values } = sqlOf(write);
    await client.query(sql, [...values]);
    if (isLong) await client.query('DO SLEEP(0.005); COMMIT');
  }
}
