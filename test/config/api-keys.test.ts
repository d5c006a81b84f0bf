import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadKeys } from '../../src/config/api-keys.js';
import type { Config } from '../../src/config/config.js';
import { thrownBy } from '../support/code-of.js';
import { sampleConfig } from './sample.js';

const CANARY = 'canary-key-5f1c';

function configWithFile(content: string, mode: number): Config {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-keys-')), 'key');
  writeFileSync(file, content);
  chmodSync(file, mode);
  return sampleConfig({ v4: { baseUrl: 'https://v4.example', apiKeyFile: file } });
}

describe('loadKeys', () => {
  it('takes each key from the variable that the configuration names', () => {
    const config = sampleConfig({
      v3: {
        regions: {
          eu: { baseUrl: 'https://eu.example', apiKeyEnv: 'EU_KEY' },
          us: { baseUrl: 'https://us.example' },
        },
      },
    });
    const env = { EU_KEY: 'a', SVC_MIGRATE_V3_API_KEY: 'b', SVC_MIGRATE_V4_API_KEY: 'c' };
    const keys = loadKeys(config, env);
    expect([...keys.v3]).toEqual([
      ['eu', 'a'],
      ['us', 'b'],
    ]);
    expect(keys.v4).toBe('c');
  });

  it('asks only for the keys of the generations that are read', () => {
    const keys = loadKeys(sampleConfig(), { SVC_MIGRATE_V3_API_KEY: 'b' }, ['v3']);
    expect(keys).toEqual({ v3: new Map([['default', 'b']]), v4: '' });
  });

  it('takes a key from a file only its owner can read, without its line break', () => {
    const config = configWithFile(`${CANARY}\n`, 0o600);
    expect(loadKeys(config, {}, ['v4']).v4).toBe(CANARY);
  });

  it.each([0o640, 0o604, 0o660, 0o644, 0o601])('refuses a key file of mode %o', (mode) => {
    const error = thrownBy(() => loadKeys(configWithFile(CANARY, mode), {}, ['v4']));
    expect([error.code, error.message, error.hint]).toEqual([
      'config',
      expect.stringContaining('can be read by others'),
      expect.stringContaining('chmod 600'),
    ]);
  });

  it('names the variable that is missing or empty', () => {
    for (const env of [{}, { SVC_MIGRATE_V4_API_KEY: '' }]) {
      const error = thrownBy(() => loadKeys(sampleConfig(), env, ['v4']));
      expect(error.code).toBe('config');
      expect(error.message).toBe('The API key of V4 is missing: SVC_MIGRATE_V4_API_KEY is not set.');
    }
  });

  it.each(['a b', 'a\nb', 'ключ', 'a\u0000', `${CANARY}\r\nx: y`, 'x'.repeat(8193)])(
    'refuses a key that is no header value and does not repeat it: %j',
    (key) => {
      const error = thrownBy(() => loadKeys(sampleConfig(), { SVC_MIGRATE_V4_API_KEY: key }, ['v4']));
      expect(error.code).toBe('config');
      expect(JSON.stringify([error.message, error.hint, error.facts])).not.toContain(key.slice(0, 30));
    },
  );

  it('says which file is empty or missing', () => {
    expect(thrownBy(() => loadKeys(configWithFile('\n', 0o600), {}, ['v4'])).message).toContain('is empty');
    const config = sampleConfig({ v4: { baseUrl: 'https://v4.example', apiKeyFile: 'none/key' } });
    const error = thrownBy(() => loadKeys(config, {}, ['v4']));
    expect([error.code, error.message]).toEqual([
      'config',
      'The key file /project/none/key of V4 cannot be read: it does not exist.',
    ]);
  });
});
