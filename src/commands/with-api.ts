import { type Api, createApi } from '../api/client.js';
import { HostLimits, type HostWait } from '../api/limiter.js';
import { type ApiKeys, listSecrets, loadKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { readHostWaits, saveHostWaits } from '../store/meta.js';
import { closeDatabase, type Db, guardDatabase, openDatabase } from '../store/open.js';
import type { Io } from './command.js';

/** The input and output of a command that sends requests. */
export interface ApiIo extends Io {
  /** Request limits by host, shared by all clients of the command. */
  readonly hostLimits: HostLimits;
}

/** Runs `work` with a client for both generations. */
export async function withApi<T>(
  config: Config,
  io: Io,
  work: (api: Api, io: ApiIo) => Promise<T>,
): Promise<T> {
  const keys = loadKeys(config, io.env);
  return withHostWaits(config.database, io, (own) => withClient(config, keys, own, (api) => work(api, own)));
}

/** Runs `work` with a client that has these keys. Its messages never contain a configured key. */
export async function withClient<T>(
  config: Config,
  keys: ApiKeys,
  { env, onProgress, signal, hostLimits }: ApiIo,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const secrets = listSecrets(config, env);
  const api = createApi({ config, keys, secrets, env, onProgress, signal, hostLimits });
  try {
    return await work(api);
  } catch (error) {
    throw orInterrupted(error, signal);
  } finally {
    await api.close();
  }
}

/** The error; `interrupted` for the reason of an aborted signal that a request threw. */
export function orInterrupted(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted || error instanceof SvcError) return error;
  return new SvcError('interrupted', 'Interrupted.', { hint: 'Run the same command again.', cause: error });
}

/**
 * Runs `work`, which sends requests. It respects the waits that hosts asked an earlier process for, and stores those
 * that they ask for now in the database after `work`. Call it while the database is not locked. Every command but
 * `verify` also stores each wait at once (`HostLimits.savingWith`), so that `kill -9` loses none; the read transaction
 * of `verify` can keep writers out.
 */
export async function withHostWaits<T>(file: string, io: Io, work: (io: ApiIo) => Promise<T>): Promise<T> {
  const hostLimits = new HostLimits();
  hostLimits.resume(onDatabase(file, 'read', (db) => readHostWaits(db, io.clock.now())) ?? []);
  try {
    return await work({ ...io, hostLimits });
  } finally {
    storeHostWaits(file, hostLimits.waits(), io);
  }
}

/** Stores waits in the database, which must not be locked; does nothing if it cannot be used. */
export function storeHostWaits(file: string, waits: readonly HostWait[], { clock }: Pick<Io, 'clock'>): void {
  if (waits.length === 0) return;
  onDatabase(file, 'write', (db) => saveHostWaits(db, waits, clock.now()));
}

/** The result of `work`; undefined if the database cannot be used, which the command itself reports. */
function onDatabase<T>(file: string, mode: 'read' | 'write', work: (db: Db) => T): T | undefined {
  try {
    const db = openDatabase(file, mode);
    try {
      return guardDatabase(file, () => work(db));
    } finally {
      closeDatabase(db);
    }
  } catch (error) {
    if (error instanceof SvcError) return undefined;
    throw error;
  }
}
