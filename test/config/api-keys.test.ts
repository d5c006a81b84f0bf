import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { listSecrets, loadKeys } from '../../src/config/api-keys.js';
import type { Config } from '../../src/config/config.js';
import { sampleConfig } from './sample.js';

const CANARY = 'canary-key-5f1c';
const folder = mkdtempSync(join(tmpdir(), 'svc-keys-'));
afterAll(() => rmSync(folder, { recursive: true }));

function configWithFile(content: string, mode: number): Config {
  const file = join(mkdtempSync(join(folder, 'key-')), 'key');
  writeFileSync(file, content);
  chmodSync(file, mode);
  return sampleConfig({ v4: { baseUrl: 'https://v4.example', apiKeyFile: file } });
}

describe('loadKeys', () => {
  it('takes each key from the variable that the configuration names', async () => {
    const regions = {
      eu: { baseUrl: 'https://eu.example', apiKeyEnv: 'EU_KEY' },
      us: { baseUrl: 'https://us.example' },
    };
    const env = { EU_KEY: 'a', SVC_MIGRATE_V3_API_KEY: 'b', SVC_MIGRATE_V4_API_KEY: 'c' };
    const config = sampleConfig({ v3: { regions } });
    expect(await loadKeys(config, env)).toEqual({
      v3: new Map([
        ['eu', 'a'],
        ['us', 'b'],
      ]),
      v4: 'c',
    });
    expect(await listSecrets(config, { EU_KEY: 'a' })).toEqual(['a']);
  });

  it('asks only for the keys of the generations that are read', async () => {
    const keys = await loadKeys(sampleConfig(), { SVC_MIGRATE_V3_API_KEY: 'b' }, ['v3']);
    expect(keys).toEqual({ v3: new Map([['default', 'b']]), v4: '' });
  });

  it('takes a key from a file that only its owner can read, without its line break', async () => {
    expect((await loadKeys(configWithFile(`${CANARY}\n`, 0o600), {}, ['v4'])).v4).toBe(CANARY);
  });

  it.each([0o640, 0o604, 0o660, 0o601])('refuses a key file of mode %o', async (mode) => {
    await expect(loadKeys(configWithFile(CANARY, mode), {}, ['v4'])).rejects.toMatchObject({
      code: 'config',
      hint: expect.stringContaining('chmod 600'),
    });
  });

  it('names the variable that is missing or empty', async () => {
    for (const env of [{}, { SVC_MIGRATE_V4_API_KEY: '' }]) {
      await expect(loadKeys(sampleConfig(), env, ['v4'])).rejects.toMatchObject({
        code: 'config',
        message: expect.stringContaining('SVC_MIGRATE_V4_API_KEY'),
      });
    }
  });

  it.each(['a b', 'a\nb', 'ключ', 'a\u0000', `${CANARY}\r\nx: y`, 'x'.repeat(8193)])(
    'refuses a key that cannot be a header and does not repeat it: %j',
    async (key) => {
      const error: unknown = await loadKeys(sampleConfig(), { SVC_MIGRATE_V4_API_KEY: key }, ['v4']).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({ code: 'config' });
      const { message, hint, facts } = Object(error);
      expect(JSON.stringify([message, hint, facts])).not.toContain(key.slice(0, 30));
    },
  );

  it('names a file that is empty, missing or endless', async () => {
    await expect(loadKeys(configWithFile('\n', 0o600), {}, ['v4'])).rejects.toMatchObject({ code: 'config' });
    for (const apiKeyFile of ['none/key', '/dev/zero']) {
      const config = sampleConfig({ v4: { baseUrl: 'https://v4.example', apiKeyFile } });
      await expect(loadKeys(config, {}, ['v4'])).rejects.toMatchObject({ code: 'config' });
    }
  });
});
