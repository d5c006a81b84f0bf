import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createApi } from '../../src/api/client.js';
import { buildFingerprint, type Config } from '../../src/config/config.js';
import type { Generation, ProgressEvent } from '../../src/domain.js';
import { SvcError } from '../../src/errors.js';
import { createPageSupply } from '../../src/export/prefetch.js';
import { exportV3, exportV4 } from '../../src/export/run-export.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { type Db, openDatabase } from '../../src/store/open.js';
import { listStreams } from '../../src/store/streams.js';
import { makeFastFolder } from './fast-folder.js';

/** Time that passes only by sleeping, or whenever somebody looks at the clock. */
export interface VirtualTime {
  readonly clock: { now(): number };
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Every sleep, ms. */
  readonly slept: readonly number[];
}

export const START_MS = Date.parse('2026-11-20T00:00:00Z');

export function createVirtualTime(onSleep: () => Promise<void> = async () => {}, msPerLook = 0): VirtualTime {
  const slept: number[] = [];
  let nowMs = START_MS;
  return {
    clock: {
      now: () => {
        nowMs += msPerLook;
        return nowMs;
      },
    },
    slept,
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      slept.push(ms);
      nowMs += Math.ceil(ms);
      await onSleep();
      await setImmediate();
    },
  };
}

/** How the exports of one run ended. */
export interface Ending {
  /** The first error, of a list or of the whole export; null where everything was read in full. */
  readonly error: SvcError | null;
  readonly states: ReadonlySet<string>;
  /** Rejected records of all streams. */
  readonly rejected: number;
}

export interface SmallJob {
  readonly file: string;
  readonly events: readonly ProgressEvent[];
  /** Both exports, as one process of its own would do them. */
  exportBoth(time: VirtualTime, options?: { readonly restart?: boolean }): Promise<Ending>;
  /** Rebuilds the remap; its digest. */
  remap(): string;
  look<T>(work: (db: Db) => T): T;
  close(): void;
}

/** The whole job in this process, on a database of its own. */
export function createSmallJob(buildConfig: (database: string) => Config, apiKey: string): SmallJob {
  const folder = makeFastFolder();
  const file = join(folder, 'job.db');
  const config = buildConfig(file);
  const events: ProgressEvent[] = [];
  const look = <T>(work: (db: Db) => T): T => {
    const db = openDatabase(file, 'create');
    try {
      return work(db);
    } finally {
      db.close();
    }
  };
  return {
    file,
    events,
    look,
    exportBoth: async (time, { restart = false } = {}) => {
      const db = openDatabase(file, 'create');
      try {
        const errors: (SvcError | null)[] = [];
        for (const generation of ['v3', 'v4'] as const) {
          const onProgress = (event: ProgressEvent) => events.push(event);
          errors.push(await exportOne(generation, { db, config, apiKey, time, restart, onProgress }));
        }
        const streams = listStreams(db);
        return {
          error: errors.find((error) => error !== null) ?? null,
          states: new Set(streams.map(({ state }) => state)),
          rejected: streams.reduce((sum, { rejected }) => sum + rejected, 0),
        };
      } finally {
        db.close();
      }
    },
    remap: () =>
      look(
        (db) =>
          buildRemap({ db, config, named: [], clock: { now: () => START_MS }, onProgress: () => {} }).sha256,
      ),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

interface OneExport {
  readonly db: Db;
  readonly config: Config;
  readonly apiKey: string;
  readonly time: Pick<VirtualTime, 'clock' | 'sleep'>;
  readonly restart?: boolean;
  readonly onProgress?: (event: ProgressEvent) => void;
}

/** Exports one generation in this process; its first error, null where everything was read in full. */
export async function exportOne(generation: Generation, one: OneExport): Promise<SvcError | null> {
  const { db, config, apiKey, time, restart = false, onProgress = () => {} } = one;
  const { signal } = new AbortController();
  const keys = { v3: new Map(config.v3.regions.map(({ region }) => [region, apiKey])), v4: apiKey };
  const { clock, sleep } = time;
  const api = createApi({ config, keys, onProgress, signal, clock, sleep, random: () => 0.5 });
  try {
    const { complete, firstError } = await (generation === 'v3' ? exportV3 : exportV4)({
      db,
      file: config.database,
      config,
      fingerprint: buildFingerprint(config),
      supply: createPageSupply(api, clock),
      signal,
      clock,
      onProgress,
      restart,
    });
    if (!complete && firstError === null) throw new Error('Incomplete, and nothing says why.');
    return firstError;
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  } finally {
    await api.close();
  }
}
