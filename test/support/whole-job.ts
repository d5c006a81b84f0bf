import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApi } from '../../src/api/client.js';
import { buildFingerprint, type Config } from '../../src/config/config.js';
import { parseConfigValue } from '../../src/config/load-config.js';
import { exportV3, exportV4 } from '../../src/export/export-lists.js';
import { createPageSupply } from '../../src/export/prefetch.js';
import { buildRemap } from '../../src/match/build-remap.js';
import type { Sandbox } from '../../src/sandbox/start.js';
import { type Db, openDatabase } from '../../src/store/open.js';

const NOW = { now: () => Date.parse('2026-11-20T00:00:00Z') };

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
  const config = change(
    parseConfigValue(
      { ...sandbox.config(), database: join(folder, 'job.db') },
      join(folder, 'c.json'),
      NOW.now(),
    ),
  );
  const { signal } = new AbortController();
  const onProgress = (): void => {};
  const keys = {
    v3: new Map(config.v3.regions.map(({ region }) => [region, sandbox.apiKey])),
    v4: sandbox.apiKey,
  };
  const api = createApi({ config, keys, onProgress, signal });
  const db = openDatabase(config.database, 'create');
  const fingerprint = buildFingerprint(config);
  const options = {
    db,
    file: config.database,
    config,
    fingerprint,
    supply: createPageSupply(api, NOW),
    signal,
    clock: NOW,
    onProgress,
  };
  try {
    for (const read of [exportV3, exportV4]) {
      const { complete, firstError } = await read(options);
      if (!complete) throw firstError ?? new Error('not everything was read');
    }
  } finally {
    await api.close();
  }
  buildRemap({ db, config, named: [], clock: NOW, onProgress });
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
