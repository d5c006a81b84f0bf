import { type Api, createApi } from '../api/client.js';
import { type ApiKeys, listSecrets, loadKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import type { Io } from './io.js';
import { withHostWaits } from './with-host-waits.js';

/**
 * Runs `work` with a client of both generations.
 *
 * @throws SvcError `config` where a key is missing, `interrupted`
 */
export async function withApi<T>(config: Config, io: Io, work: (api: Api) => Promise<T>): Promise<T> {
  const { signal } = io;
  const keys = loadKeys(config, io.env);
  return withHostWaits(config.database, io, async () => {
    const api = openApi(config, io, keys);
    try {
      return await work(api);
    } catch (error) {
      if (!signal.aborted || error instanceof SvcError) throw error;
      throw new SvcError('interrupted', 'Interrupted.', {
        hint: 'Run the same command again.',
        cause: error,
      });
    } finally {
      await api.close();
    }
  });
}

/** A client with these keys, whose messages show none of the configured ones. */
export function openApi(config: Config, io: Io, keys: ApiKeys): Api {
  const { env, onProgress, signal, hostLimits } = io;
  return createApi({ config, keys, secrets: listSecrets(config, env), env, onProgress, signal, hostLimits });
}
