import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import type { UnmappedRow } from '../../../src/apply/unmapped.js';
import { campaign } from '../../support/campaign.js';
import { compileChild } from '../../support/compile-child.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { createRemap, INVOICES, NEW, openContext, type RemapRow, seeded } from '../support/remap.js';
import { type SyncPlace, sqlitePlace, startSyncServers } from '../support/sync-places.js';

const SEEDS = campaign({ small: 1, full: 4, soak: 60 });

const folder = makeFastFolder();
const remap = join(folder, 'remap.db');
/** 1 to 40 become one another, 41 to 50 have no twin, 51 to 60 are no ids. */
const twinOf = (id: number) => (id <= 40 ? String((id % 40) + 1) : null);
createRemap(
  remap,
  Array.from(
    { length: 50 },
    (_, at): RemapRow => ({ v3: at + 1, v4: at < 40 ? Number(twinOf(at + 1)) : null }),
  ),
);
const child = await compileChild('test/apply/support/sync-child.ts');
const servers = await startSyncServers();
afterAll(async () => {
  child.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** The application: one process after the other, each killed at any moment. */
class Application {
  readonly #place: SyncPlace;
  #child: ChildProcess | null = null;
  #said = '';
  starts = 0;

  constructor(place: SyncPlace) {
    this.#place = place;
  }

  async start(): Promise<void> {
    this.starts += 1;
    const { kind, url } = this.#place;
    const args = [child.script, kind, url, String(this.starts), String(this.starts * 100_000)];
    const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = started;
    started.stderr.on('data', (text) => {
      this.#said += String(text);
    });
    await Promise.race([once(started.stdout, 'data'), once(started, 'exit')]);
  }

  /** None of its statements may have failed before. */
  async kill(): Promise<void> {
    const running = this.#child;
    if (running === null) return;
    this.#child = null;
    const isOver = running.exitCode !== null;
    const exit = isOver ? null : once(running, 'exit');
    running.kill('SIGKILL');
    await exit;
    expect({ isOver, said: this.#said }).toEqual({ isOver: false, said: '' });
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }
}

const policy = { ...NEW, missing: 'keep', unknown: 'keep', others: 'keep' } as const;

async function withStore<T>(
  place: SyncPlace,
  more: Partial<ApplyContext>,
  work: (store: DataStore) => Promise<T>,
): Promise<T> {
  const context = { ...openContext(remap, policy, { batchRows: 10 }), sleep, ...more };
  const store = place.open(context, [place.target({ ids: [{ column: 'i', model: INVOICES }] })]);
  try {
    return await work(store);
  } finally {
    await store.close();
    context.remap.close();
  }
}

const runOf = (name: string) => ({ run: name, planSha256: 'p', isExact: false });

async function apply(place: SyncPlace, name: string): Promise<void> {
  await withStore(place, {}, async (store) => {
    const plans = await store.survey();
    expect(plans.flatMap(({ notes }) => notes.filter(({ level }) => level === 'blocks'))).toEqual([]);
    await store.write(plans, runOf(name));
  });
}

/** `--sync`, stopped at one of its steps and then repeated to its end. */
async function turn(place: SyncPlace, to: 'on' | 'off', stopAt: number): Promise<void> {
  const stop = new AbortController();
  let steps = 0;
  const onProgress = () => {
    steps += 1;
    if (steps === stopAt) stop.abort();
  };
  const ask = (more: Partial<ApplyContext>) =>
    withStore(place, more, async (store) => store.sync?.({ turn: to, run: runOf('run-sync') }));
  try {
    await ask({ signal: stop.signal, onProgress });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    await ask({});
  }
}

/** Rows that do not hold what the remap gives, and the rows that are listed, each by its key. */
async function compare(place: SyncPlace): Promise<{ wrong: string[]; listed: string[]; mapped: string[] }> {
  const listed: UnmappedRow[] = [];
  const rows = await withStore(place, {}, async (store) => {
    await store.survey({ isAfterRun: true, onUnmapped: (row) => listed.push(row) });
    return place.sql('SELECT k, i, i_v4 FROM t ORDER BY k');
  });
  const wrong = rows.filter(([, i, v4]) => v4 !== (i === null ? null : twinOf(Number(i))));
  const isListed = new Set(listed.map(({ key }) => key?.['k'] ?? ''));
  const open = rows.filter(([, i, v4]) => v4 === null && i !== null);
  return {
    wrong: wrong.map(([k]) => k ?? '').filter((k) => !isListed.has(k)),
    listed: [...isListed].filter(
      (k) => !wrong.some(([other]) => other === k) && !open.some(([other]) => other === k),
    ),
    mapped: wrong.map(([k, i, v4]) => `${k}: ${i} → ${v4}`),
  };
}

let databases = 0;

async function rollOut(place: SyncPlace, seed: number, isFirst: boolean): Promise<string[]> {
  const random = seeded(seed);
  const pause = () => sleep(random(60));
  const rows = Array.from({ length: 200 }, (_, at) => `(${at + 1}, ${(at % 60) + 1}, 'old')`);
  await place.sql('CREATE TABLE t(k int PRIMARY KEY, i bigint, note varchar(20))');
  await place.sql(`INSERT INTO t(k, i, note) VALUES ${rows.join(', ')}`);
  const app = new Application(place);
  try {
    await app.start();
    await pause();
    if (!isFirst) await apply(place, 'run-early');
    const on = turn(place, 'on', 1 + random(8));
    await pause();
    await app.restart();
    await on;
    await pause();
    const filled = apply(place, 'run-late');
    await app.restart();
    await filled;
    await turn(place, 'on', 1 + random(8));
    await pause();
    await app.kill();
    await turn(place, 'off', 0);
  } finally {
    await app.kill();
  }
  expect(await place.objects()).toEqual([]);
  const { wrong, listed, mapped } = await compare(place);
  expect({ wrong, listed }).toEqual({ wrong: [], listed: [] });
  return mapped;
}

const PLACES: readonly (readonly [string, ((name: string) => Promise<SyncPlace>) | null])[] = [
  ['SQLite', async (name) => sqlitePlace(folder, name)],
  ['PostgreSQL', servers.postgres],
  ['MariaDB', servers.mysql],
];

describe.each(PLACES.map((place, at) => [...place, at] as const))('a rollout in %s', (product, open, at) => {
  it.skipIf(open === null)(
    'leaves every row right or listed, while an application writes and is killed',
    async () => {
      let [rows, stale] = [0, 0];
      // Triggers before the first fill and after it take turns, also where there is one seed.
      for (let seed = 1 + at; seed <= at + SEEDS; seed += 1) {
        databases += 1;
        const place = await open?.(`rollout_${databases}`);
        if (place === undefined) return;
        const isFirst = seed % 2 === 1;
        const wrong = await rollOut(place, seed, isFirst);
        // Triggers before the first fill: nothing is left but what does not map.
        if (isFirst) expect(wrong).toEqual([]);
        stale += wrong.length;
        rows += Number((await place.sql('SELECT count(*) FROM t'))[0]?.[0]);
        await place.close();
      }
      process.stderr.write(
        `${product}: ${SEEDS} rollouts, ${rows} rows, ${stale} listed as changed between apply and sync\n`,
      );
    },
  );
});
