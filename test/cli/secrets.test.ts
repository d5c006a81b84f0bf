import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/start.js';
import { campaign, campaignCases } from '../support/campaign.js';
import { serveHttp } from '../support/serve-http.js';
import { keysOf, makeFolder, runCli } from './run-cli.js';

const KEY = 'canary-4be1f00d-key';

/** Files below a folder whose bytes hold the key. */
function filesWith(key: string, folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => statSync(join(folder, name)).isFile() && readFileSync(join(folder, name)).includes(key),
  );
}

describe('the API key', () => {
  it('is in nothing that a whole run prints or writes', async () => {
    const sandbox = await startSandbox({
      seed: 21,
      scenario: 'ugly',
      scale: campaign({ small: 100, full: 800 }),
    });
    try {
      const cwd = makeFolder(sandbox.config());
      const env = keysOf(sandbox.apiKey);
      const files = ['--json', 'a.json', '--ndjson', 'a.ndjson', '--html', 'a.html', '--junit', 'a.xml'];
      const commands = [
        ['run', '--verbose', ...files, '--markdown', '-'],
        ['status', '--verbose'],
        ['dump', '--format', 'sql', '--output', 'a.sql'],
        ['lookup', 'crm/stages', '1', '--json', '-'],
        ['doctor', '--json', '-', '--verbose'],
        ['verify', '--sample', '5', '--json', '-', '--verbose'],
        ['recheck', '--json', '-', '--verbose'],
      ];
      for (const args of commands) {
        const { code, stdout, stderr } = await runCli(args, { cwd, env });
        // V4 has not every model here, which doctor calls a matter of the configuration.
        expect(args[0] === 'doctor' ? [2] : [0, 1]).toContain(code);
        expect(stdout.includes(sandbox.apiKey) || stderr.includes(sandbox.apiKey)).toBe(false);
      }
      expect(readdirSync(cwd).length).toBeGreaterThan(6);
      expect(filesWith(sandbox.apiKey, cwd)).toEqual([]);
    } finally {
      await sandbox.close();
    }
  });

  it.each(campaignCases([401, 200, 400, 403, 404, 500, 302], 2))(
    'is in no message, even where the server answers %i with it',
    async (status) => {
      const server = await serveHttp((request, response) => {
        const key = String(request.headers['api_key']);
        response.writeHead(status, {
          'content-type': 'application/json',
          'x-request-id': key,
          location: `https://other.example/?key=${key}`,
        });
        response.end(JSON.stringify({ error: { message: `key ${key}` }, request_id: key, [key]: key }));
      });
      const base = server.origin;
      const cwd = makeFolder({
        v3: { regions: { default: { baseUrl: base } } },
        v4: { baseUrl: base },
        models: [{ v3: 'crm/stages' }],
        http: { attempts: 1 },
      });
      try {
        for (const command of [
          ['export', 'v3'],
          ['export', 'v4'],
          ['doctor', '--json', '-'],
        ]) {
          const ended = await runCli([...command, '--verbose'], { cwd, env: keysOf(KEY) });
          expect(ended.stdout.includes(KEY) || ended.stderr.includes(KEY)).toBe(false);
        }
        expect(filesWith(KEY, cwd)).toEqual([]);
      } finally {
        await server.close();
      }
    },
  );

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
