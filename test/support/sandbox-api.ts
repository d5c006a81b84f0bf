import { type Api, createApi } from '../../src/api/client.js';
import type { Config } from '../../src/config/config.js';
import type { Sandbox } from '../../src/sandbox/start-sandbox.js';

/** The keys of a sandbox under the names that its configuration expects. */
export function keysFor({ apiKey }: Sandbox): Record<string, string> {
  return { SVC_MIGRATE_V3_API_KEY: apiKey, SVC_MIGRATE_V4_API_KEY: apiKey };
}

/** A client of both generations of a sandbox. */
export function openSandboxApi({ apiKey }: Sandbox, config: Config): Api {
  const v3 = new Map(config.v3.regions.map(({ region }) => [region, apiKey]));
  const { signal } = new AbortController();
  return createApi({ config, keys: { v3, v4: apiKey }, onProgress: () => {}, signal });
}
