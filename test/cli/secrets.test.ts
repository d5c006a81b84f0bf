import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serveHttp } from '../support/serve-http.js';
import { makeFolder, runCli } from './run-cli.js';

/** Files below a folder whose bytes hold the key. */
function filesWith(key: string, folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => statSync(join(folder, name)).isFile() && readFileSync(join(folder, name)).includes(key),
  );
}

describe('the API key', () => {
  it.each([
    ['as it is', (key: string) => key],
    ['escaped for JSON', (key: string) => key.replace('-', '\\u002d').replaceAll('/', '\\/')],
    ['encoded for an address', encodeURIComponent],
  ])('of V4 is hidden where V3 echoes it %s', async (_, spell) => {
    const key = 'v4/canary-key&7';
    const server = await serveHttp((_request, response) => {
      const body = `{"error":{"message":"not ${spell(key)}"},"request_id":"${spell(key)}"}`;
      response.writeHead(400, { 'content-type': 'application/json' }).end(body);
    });
    const base = server.origin;
    const cwd = makeFolder({ v3: { regions: { default: { baseUrl: base } } }, v4: { baseUrl: base } });
    try {
      const env = { SVC_MIGRATE_V3_API_KEY: 'another', SVC_MIGRATE_V4_API_KEY: key };
      const { stderr } = await runCli(['export', 'v3', '--verbose'], { cwd, env });
      expect(stderr).toContain('[key]');
      for (const written of [key, spell(key)]) {
        expect(stderr).not.toContain(written);
        expect(filesWith(written, cwd)).toEqual([]);
      }
    } finally {
      await server.close();
    }
  });
});
