import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import type { ApplyContext } from '../../../src/apply/context.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import type { SqliteTarget } from '../../../src/config/apply-targets.js';
import type { Db } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { campaign } from '../../support/campaign.js';
import { compileChild } from '../../support/compile-child.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { ForeignApp, foreignTable, sqlOf, type Write } from '../support/foreign-app.js';
import {
  applyTo,
  assertNothingLost,
  assertTakenLater,
  assertUndone,
  FOREIGN_REMAP,
  type ForeignScene,
} from '../support/foreign-scene.js';
import { sqliteLedger } from '../support/ledger.js';
import { createRemap, IN_PLACE, INVOICES, openContext, seeded, target } from '../support/remap.js';

const SEEDS = campaign({ small: 3, full: 15, soak: 250 });
const PROCESSES = campaign({ small: 2, full: 4 });

const folder = makeFastFolder();
const remap = join(folder, 'remap.db');
createRemap(remap, FOREIGN_REMAP);
const child = await compileChild('test/apply/support/foreign-child.ts');
afterAll(() => {
  child.remove();
  rmSync(folder, { recursive: true, force: true });
});

function openScene(
  name: string,
  app: ForeignApp,
  batchRows: number,
  onProgress: () => void,
): ForeignScene & { file: string } {
  const file = join(folder, `${name}.db`);
  const db = new Sqlite(file);
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE t(k INTEGER PRIMARY KEY, svc_id INTEGER, note TEXT)');
  const insert = db.prepare('INSERT INTO t VALUES (?, ?, ?)');
  db.transaction(() => {
    for (const [k, { id, note }] of foreignTable(false)) insert.run(k, id, note);
  })();
  db.close();
  const ids = [{ column: 'svc_id', model: INVOICES }];
  const one = target({ kind: 'sqlite', file, table: 't', ids });
  const targets = [one].filter((each): each is SqliteTarget => each.kind === 'sqlite');
  const look = <T>(read: (reader: Db) => T): T => {
    const reader = new Sqlite(file, { readonly: true });
    try {
      return read(reader);
    } finally {
      reader.close();
    }
  };
  return {
    file,
    app,
    openStore: (policy) => {
      const context = openContext(remap, { ...IN_PLACE, unknown: 'keep', ...policy }, { batchRows });
      const afterBatch: ApplyContext['onProgress'] = (event) => {
        if (event.kind === 'step' && event.name.startsWith('rewriting')) onProgress();
      };
      // The clock of a test stands still; waiting for a lock needs one that does not.
      return openSqliteStore({ ...context, onProgress: afterBatch, sleep, now: Date.now }, file, targets);
    },
    read: async () =>
      look((reader) => {
        const rows = reader
          .prepare<[], [number, number, string]>('SELECT k, svc_id, note FROM t')
          .raw()
          .all();
        return new Map(rows.map(([k, id, note]) => [k, { id, note }]));
      }),
    ledger: sqliteLedger(file),
  };
}

it('loses nothing that another connection writes between two batches', async () => {
  let writes = 0;
  let skipped = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const random = seeded(seed);
    const app = new ForeignApp(random);
    let other: Db | null = null;
    const scene = openScene(`between-${seed}`, app, 10, () => {
      for (let left = random(8); other !== null && left > 0; left -= 1) {
        const write = app.next();
        const { sql, values } = sqlOf(write);
        other.prepare(sql).run(...values);
        app.commit(write);
      }
    });
    const store = scene.openStore({});
    const written = await applyTo(store, 'run-1', () => {
      other = new Sqlite(scene.file);
    });
    if (other !== null) (other as Db).close();
    other = null;
    await assertNothingLost(scene, written);
    await assertTakenLater(scene);
    await assertUndone(scene);
    writes += app.log.length;
    skipped += written.skippedCount;
  }
  process.stderr.write(`SQLite: ${writes} writes of others in ${SEEDS} applies, ${skipped} rows skipped\n`);
  expect(skipped).toBeGreaterThan(SEEDS);
});

it('loses nothing that another process writes at any moment, and neither keeps the other out', async () => {
  let writes = 0;
  let skipped = 0;
  for (let seed = 1; seed <= PROCESSES; seed += 1) {
    const app = new ForeignApp(seeded(seed));
    const file = join(folder, `beside-${seed}.db`);
    const writer = spawn(process.execPath, [child.script, file, String(seed)]);
    await once(writer.stdout, 'data');
    // The first batch is through: what is written from now on came after the plan.
    let isGoing = false;
    const scene = openScene(`beside-${seed}`, app, 2, () => {
      if (!isGoing) writer.stdin.write('go\n');
      isGoing = true;
    });
    const log = readLog(writer);
    const store = scene.openStore({});
    const written = await applyTo(store, 'run-1');
    writer.stdin.end();
    app.log.push(...(await log));
    await assertNothingLost(scene, written);
    await assertTakenLater(scene);
    await assertUndone(scene);
    writes += app.log.length;
    skipped += written.skippedCount;
  }
  process.stderr.write(
    `SQLite: ${writes} writes of another process in ${PROCESSES} applies, ${skipped} rows skipped\n`,
  );
  expect(writes).toBeGreaterThan(PROCESSES);
});

async function readLog(writer: ChildProcess): Promise<Write[]> {
  let output = '';
  writer.stdout?.on('data', (bytes) => {
    output += String(bytes);
  });
  writer.stderr?.pipe(process.stderr);
  await once(writer, 'close');
  return JSON.parse(output) as Write[];
}
