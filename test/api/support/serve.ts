import { afterEach } from 'vitest';
import { RawServer, type Script } from './raw-server.js';
import { createTestApi, type Settings } from './test-api.js';

/** What is undone after the test. */
export const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanups.splice(0)) await cleanUp();
});

/** A client and the raw server it asks, both gone after the test. */
export async function serve(script: Script, settings: Settings = {}) {
  const server = await RawServer.start(script);
  const test = createTestApi({ ...settings, v3Url: `${server.url}/v3` });
  cleanups.push(async () => {
    await test.api.close();
    await server.stop();
  });
  return { server, ...test };
}
