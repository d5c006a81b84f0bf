import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../src/config/config.js';
import { parseConfigValue } from '../../src/config/load-config.js';
import { buildRemap } from '../../src/match/build-remap.js';
import type { Sandbox } from '../../src/sandbox/start-sandbox.js';
import { type Db, openDatabase } from '../../src/store/open.js';
import { createVirtualTime, exportOne } from './small-job.js';

export interface Job {
  readonly db: Db;
  readonly config: Config;
  close(): void;
}

/** Exports both generations of a sandbox over HTTP and remaps, in this process, in a folder of its own. */
export async function doWholeJob(
  sandbox: Sandbox,
  change: (config: Config) => Config = (config) => config,
): Promise<Job> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-job-'));
  const time = createVirtualTime();
  const nowMs = time.clock.now();
  const value = { ...sandbox.config(), database: join(folder, 'job.db') };
  const config = change(parseConfigValue(value, join(folder, 'c.json'), nowMs));
  const db = openDatabase(config.database, 'create');
  for (const generation of ['v3', 'v4'] as const) {
    const error = await exportOne(generation, { db, config, apiKey: sandbox.apiKey, time });
    if (error !== null) throw error;
  }
  buildRemap({ db, config, named: [], clock: { now: () => nowMs }, onProgress: () => {} });
  return jobIn(folder, db, config);
}

/** A job with a copy of the database, in a folder of its own. */
export function copyJob({ db, config }: Job): Job {
  const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-job-'));
  const database = join(folder, 'job.db');
  writeFileSync(database, db.serialize());
  return jobIn(folder, openDatabase(database, 'write'), { ...config, database });
}

function jobIn(folder: string, db: Db, config: Config): Job {
  return {
    db,
    config,
    close: () => {
      db.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
