import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';
import { SvcError } from '../../src/errors.js';
import { campaign } from '../support/campaign.js';

const folder = mkdtempSync(join(tmpdir(), 'svc-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

function errorOf(text: string): unknown {
  const file = join(folder, 'config.json');
  writeFileSync(file, text);
  try {
    return loadConfig({ env: {}, flags: { config: file }, nowMs: 0 });
  } catch (error) {
    return error;
  }
}

const MANY = campaign({ small: 50_000, soak: 200_000 });
const MANY_SETTINGS = campaign({ small: 5_000, full: 50_000, soak: 200_000 });

describe('a configuration', () => {
  it.each([
    ['of opening brackets', '['.repeat(MANY)],
    ['of nested lists', '['.repeat(MANY) + ']'.repeat(MANY)],
    ['of opening braces', '{"a":'.repeat(MANY)],
    ['of comments', '/* [ */'.repeat(MANY)],
    ['of one string', `"${'['.repeat(MANY)}`],
    ['of unknown settings', `{${Array.from({ length: MANY_SETTINGS }, (_, at) => `"k${at}":1`).join(',')}}`],
    ['of one setting again and again', `{${Array(MANY).fill('"k":1').join(',')}}`],
  ])('%s is an error of configuration, in a short message', (_, text) => {
    const error = errorOf(text);
    expect(error).toBeInstanceOf(SvcError);
    expect(error).toMatchObject({ code: 'config', exitCode: 2 });
    expect(String(error).length).toBeLessThan(20_000);
  });
});
