import { type Api, createApi } from '../api/client.js';
import type { Config } from '../config/config.js';
import { loadKeys } from '../config/keys.js';
import { SvcError } from '../errors.js';
import type { Io } from './io.js';

/**
 * Runs `work` with a client of both generations.
 *
 * @throws SvcError `config` where a key is missing, `interrupted`
 */
export async function withApi<T>(config: Config, io: Io, work: (api: Api) => Promise<T>): Promise<T> {
  const { onProgress, signal } = io;
  const api = createApi({ config, keys: loadKeys(config, io.env), onProgress, signal });
  try {
    return await work(api);
  } catch (error) {
    if (!signal.aborted || error instanceof SvcError) throw error;
    throw new SvcError('interrupted', 'Interrupted.', { hint: 'Run the same command again.', cause: error });
  } finally {
    await api.close();
  }
}
