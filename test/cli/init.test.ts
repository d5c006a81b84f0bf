import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderStarter, STARTER_DEFAULTS } from '../../src/commands/init.js';
import { loadConfig } from '../../src/config/load-config.js';
import { configSchema, DEFAULT_CONFIG_FILES, DEFAULT_MODELS } from '../../src/config/settings.js';
import { NOW_MS, sampleConfig } from '../config/sample.js';
import { newIo } from '../report/support.js';
import { givenOf, runNamed } from '../support/given.js';
import { filesIn, makeFolder, runCli } from './run-cli.js';

const FILE = 'svc-migrate.config.jsonc';
const ANSWERED = {
  ...STARTER_DEFAULTS,
  v3BaseUrls: { default: 'https://v3.example/v3' },
  v4BaseUrl: 'https://v4.example',
};

function loadText(text: string) {
  const file = join(makeFolder(), FILE);
  writeFileSync(file, text);
  return { ...loadConfig({ env: {}, flags: { config: file }, nowMs: NOW_MS }), file: '', database: '' };
}

describe('the starter configuration', () => {
  const defaults = { ...sampleConfig(), file: '', database: '' };

  it('is what one gets without it', () => {
    expect(loadText(renderStarter(ANSWERED))).toEqual(defaults);
  });

  it('shows the true default of everything that is commented out', () => {
    const uncommented = renderStarter(ANSWERED)
      .split('\n')
      .map((line) => line.replace(/^(\s*)\/\/ (?=["{\]]|\s)/, '$1'));
    const config = loadText(uncommented.join('\n'));
    const confirmed = DEFAULT_MODELS.map((model) => ({ ...model, v4Guessed: false }));
    expect(config).toEqual({ ...defaults, models: confirmed });
  });

  it('mentions every setting at the top', () => {
    const text = renderStarter(STARTER_DEFAULTS);
    for (const name of Object.keys(configSchema.shape)) expect(text).toContain(`"${name}":`);
  });

  it('is refused until the addresses are filled in', () => {
    expect(() => loadText(renderStarter(STARTER_DEFAULTS))).toThrow(
      /v3\.regions\.default\.baseUrl \(line \d+\) is still a placeholder[\s\S]*v4\.baseUrl \(line \d+\) is still/,
    );
  });
});

describe('init', () => {
  it('writes it, and says what comes next', async () => {
    const cwd = makeFolder();
    const ended = await runCli(['init'], { cwd });
    expect([ended.code, ended.stderr]).toEqual([0, '']);
    expect(ended.stdout).toMatch(
      /^Wrote .*svc-migrate\.config\.jsonc\.\nPut the addresses into it\. Set SVC_MIGRATE_V3_API_KEY and .*\nNext: svc-migrate doctor\n$/,
    );
    const written = readFileSync(join(cwd, FILE), 'utf8');
    expect(written).toBe(renderStarter(STARTER_DEFAULTS));
    const other = await runCli(['init', '--config', 'other.json'], { cwd });
    expect(other.stdout).toMatch(/\nNext: svc-migrate doctor --config other\.json\n$/);
  });

  it('takes both addresses as options', async () => {
    const file = join(makeFolder(), FILE);
    const io = newIo({ clock: { now: () => NOW_MS } });
    const options = {
      config: file,
      v3: 'eu=https://eu.example/v3,us=https://us.example/v3',
      v4: 'https://v4.example',
    };
    expect(await runNamed('init', givenOf(null, options), io)).toBe(0);
    const { v3, v4 } = loadText(readFileSync(file, 'utf8'));
    expect(v3.regions.map(({ region, baseUrl }) => [region, baseUrl])).toEqual([
      ['eu', 'https://eu.example/v3'],
      ['us', 'https://us.example/v3'],
    ]);
    expect(v4.baseUrl).toBe('https://v4.example');
  });

  it.each([
    ['--v3', 'eu.example'],
    ['--v3', 'eu=https://a.example,eu=https://b.example'],
    ['--v4', 'https://v4.example/v4'],
  ])('refuses %s %s', async (name, value) => {
    const cwd = makeFolder();
    expect((await runCli(['init', name, value], { cwd })).code).toBe(2);
    expect(filesIn(cwd)).toEqual([]);
  });

  it.each(DEFAULT_CONFIG_FILES)('keeps to the one file where %s exists', async (name) => {
    const cwd = makeFolder();
    writeFileSync(join(cwd, name), 'mine');
    expect((await runCli(['init'], { cwd })).code).toBe(2);
    expect((await runCli(['init', '--force'], { cwd })).code).toBe(0);
    expect(filesIn(cwd)).toEqual([name]);
  });

  it('never overwrites without --force', async () => {
    const cwd = makeFolder();
    writeFileSync(join(cwd, FILE), 'mine');
    const refused = await runCli(['init'], { cwd });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/exists already; it was not changed\.\n.*--force/);
    expect(readFileSync(join(cwd, FILE), 'utf8')).toBe('mine');
    expect((await runCli(['init', '--force'], { cwd })).code).toBe(0);
    expect(readFileSync(join(cwd, FILE), 'utf8')).not.toBe('mine');
  });

  it('writes where --config says', async () => {
    const cwd = makeFolder();
    await runCli(['init', '--config', 'other.json'], { cwd });
    expect(filesIn(cwd)).toEqual(['other.json']);
  });
});
