import { spawnSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { filesIn, makeFolder, runCli } from '../support/run-cli.js';

const SERVICE = {
  v3: { regions: { default: { baseUrl: 'https://127.0.0.1:9/v3' } } },
  v4: { baseUrl: 'https://127.0.0.1:9' },
};
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const JSON_FILE = 'out.json';

function readJson(cwd: string, file = JSON_FILE): unknown {
  return JSON.parse(readFileSync(join(cwd, file), 'utf8'));
}

describe('help', () => {
  const cwd = makeFolder();
  const run = (...args: string[]) => runCli(args, { cwd });

  it('fits on one screen of 80 x 24', async () => {
    const { code, stdout } = await runCli(['--help'], { cwd, columns: 80 });
    const lines = stdout.trimEnd().split('\n');
    expect([code, lines.length <= 23, lines.filter((line) => line.length > 80)]).toEqual([0, true, []]);
    expect(await runCli([], { cwd, columns: 80 })).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('of each command has its options, and those of every command', async () => {
    const { stdout: overview } = await run('--help');
    const names = [...overview.matchAll(/^ {2}(\w+) /gm)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(10);
    for (const name of names) {
      const { code, stdout } = await run(name, '--help');
      expect([name, code, stdout]).toEqual([name, 0, expect.stringContaining('--config <file>')]);
      expect(stdout).toMatch(new RegExp(`^Usage: svc-migrate ${name}`));
      expect((await run('help', name)).stdout).toContain(stdout.trim());
    }
  });

  it('prints the page of a topic, and the list of topics', async () => {
    const { stdout } = await run('help', 'exit-codes');
    expect(stdout).toBe(readFileSync(join(ROOT, 'src/docs/exit-codes.md'), 'utf8'));
    expect((await run('help')).stdout).toContain('exit-codes ');
    expect(await run('help', 'exit-cods')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('exit-codes'),
    });
  });

  it('prints the version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect((await run('--version')).stdout).toBe(`${version}\n`);
  });
});

describe('a command line', () => {
  const cwd = makeFolder(SERVICE);
  const run = (line: string) => runCli(line.split(' '), { cwd });

  it.each([
    ['statsu', 'status'],
    ['report --jsn x', '--json'],
    ['help strat', 'start'],
  ])('%s is refused with 2 and a suggestion', async (line, suggestion) => {
    const { code, stdout, stderr } = await run(line);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(suggestion);
  });

  it.each([
    'nonsense',
    '--nonsense',
    'export v5',
    'export v3 v4',
    'export v3 --wait',
    'export --settle soon',
    'sandbox --port x',
    'sandbox --port 65536',
    'sandbox --scenario odd',
    'report --json',
    'report --company x',
    'report --model crm/stage',
    'check --json - --ndjson -',
    'check --json a --ndjson a',
    'check --json --markdown',
    'init --v3 ftp://x',
    'init --v4 https://x/v4',
    'lookup',
    'apply',
  ])('%s is refused with 2 and says how to go on', async (line) => {
    const { code, stdout, stderr } = await run(line);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^svc-migrate: .+\n {2}→ .+/);
  });

  it('has common options before and behind the command', async () => {
    for (const line of ['--config none.json status', 'status --config none.json']) {
      expect(await run(line)).toMatchObject({ code: 2, stderr: expect.stringContaining('none.json') });
    }
  });
});

describe('init', () => {
  it('writes a configuration that needs only its addresses, and never overwrites', async () => {
    const cwd = makeFolder();
    const run = (...args: string[]) => runCli(args, { cwd });
    expect((await run('init')).code).toBe(0);
    expect(filesIn(cwd)).toEqual(['svc-migrate.config.jsonc']);
    expect(await run('status')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('v3.regions.default.baseUrl'),
    });
    const before = readFileSync(join(cwd, 'svc-migrate.config.jsonc'));
    expect((await run('init')).code).toBe(2);
    expect(readFileSync(join(cwd, 'svc-migrate.config.jsonc'))).toEqual(before);
    expect((await run('init', '--config', 'none/c.jsonc')).code).toBe(6);
  });

  it.each([
    ['a region twice', 'eu=https://eu.x/v3', 'eu=https://us.x/v3'],
    ['the usual region twice', 'https://eu.x/v3', 'https://us.x/v3'],
    ['an unusable name', '_eu=https://eu.x/v3'],
    ['no address', 'eu='],
  ])('refuses %s, and writes nothing', async (_, ...addresses) => {
    const cwd = makeFolder();
    const words = addresses.flatMap((address) => ['--v3', address]);
    expect((await runCli(['init', ...words], { cwd })).code).toBe(2);
    expect(filesIn(cwd)).toEqual([]);
  });

  it('writes addresses, also of several regions', async () => {
    const cwd = makeFolder();
    const words = 'init --v3 eu=https://eu.x/v3 --v3 us=https://us.x/v3 --v4 https://v4.x'.split(' ');
    expect((await runCli(words, { cwd })).code).toBe(0);
    const { parse } = await import('jsonc-parser');
    const { parseConfigValue } = await import('../../src/config/load-config.js');
    const value = parse(readFileSync(join(cwd, 'svc-migrate.config.jsonc'), 'utf8'));
    const { v3, v4 } = parseConfigValue(value, 'x', Date.now());
    expect(v3.regions.map(({ region, baseUrl }) => [region, baseUrl])).toEqual([
      ['eu', 'https://eu.x/v3'],
      ['us', 'https://us.x/v3'],
    ]);
    expect(v4.baseUrl).toBe('https://v4.x');
  });

  it('shows the defaults where it comments a setting out', async () => {
    const { default: starter } = await import('../../src/commands/starter-config.jsonc');
    const { parse } = await import('jsonc-parser');
    const { parseConfigValue } = await import('../../src/config/load-config.js');
    const filled = starter.replaceAll('fill-in.invalid', 'x.example');
    const all = filled.replace(/^( *)\/\/ (?=["\]{ ])/gm, '$1');
    const { file: _, ...written } = parseConfigValue(
      parse(all, [], { allowTrailingComma: true }),
      '/x',
      Date.now(),
    );
    const { file: __, ...usual } = parseConfigValue(
      parse(filled, [], { allowTrailingComma: true }),
      '/x',
      Date.now(),
    );
    const isSaid = {
      decisions: '/decisions.csv',
      backfill: expect.anything(),
      limits: expect.anything(),
      models: expect.anything(),
    };
    expect(written).toEqual({ ...usual, ...isSaid });
    expect(written.models.map(({ v4Guessed: _, ...model }) => model)).toEqual(
      usual.models.map(({ v4Guessed: _, ...model }) => model),
    );
  });
});

describe('an error of usage', () => {
  it.each([
    ['apply plan x', 'apply plan'],
    ['apply sql sqlite', 'apply sql'],
    ['apply zzzzzzz', 'apply'],
    ['apply', 'apply'],
    ['--db x.db findings --limit x', 'findings'],
    ['zzzzzzz', ''],
  ])('of %s names the help of the command', async (words, command) => {
    const { stderr } = await runCli(words.split(' '), { cwd: makeFolder(SERVICE) });
    expect(stderr).toContain(`\`svc-migrate ${command === '' ? '' : `${command} `}--help\``);
  });
});

describe('an output', () => {
  it('holds the error of a command that fails, not an earlier result', async () => {
    const cwd = makeFolder(SERVICE);
    writeFileSync(join(cwd, JSON_FILE), '{"outcome":"pass"}');
    writeFileSync(join(cwd, 'out.html'), 'green');
    const { code } = await runCli(['check', '--json', JSON_FILE, '--html', 'out.html'], { cwd });
    expect(readJson(cwd)).toEqual({
      outcome: 'error',
      code: expect.any(String),
      message: expect.any(String),
      hint: expect.anything(),
      exitCode: code,
    });
    expect(existsSync(join(cwd, 'out.html'))).toBe(false);
  });

  it('holds the error of a configuration that cannot be loaded', async () => {
    const cwd = makeFolder({ v3: 1 });
    const { code, stdout } = await runCli(['status', '--json', '-'], { cwd });
    expect([code, JSON.parse(stdout)]).toEqual([
      2,
      expect.objectContaining({ outcome: 'error', code: 'config' }),
    ]);
  });

  it.each([
    ['the configuration', 'svc-migrate.config.json'],
    ['the database', 'svc-migrate.db'],
    ['a journal of the database', 'svc-migrate.db-wal'],
    ['the companies', 'companies.csv'],
    ['the decisions', 'decisions.csv'],
    ['a key', 'key'],
    ['a link to the database', 'link'],
    ['another name of the database', 'hard-link'],
  ])('never replaces %s', async (_, file) => {
    const cwd = makeFolder({
      ...SERVICE,
      v4: { ...SERVICE.v4, apiKeyFile: 'key' },
      companies: { match: { file: 'companies.csv' } },
      decisions: 'decisions.csv',
    });
    for (const name of ['svc-migrate.db', 'svc-migrate.db-wal', 'companies.csv', 'decisions.csv', 'key']) {
      writeFileSync(join(cwd, name), 'precious');
    }
    symlinkSync('svc-migrate.db', join(cwd, 'link'));
    linkSync(join(cwd, 'svc-migrate.db'), join(cwd, 'hard-link'));
    const before = readFileSync(join(cwd, file), 'utf8');
    const { code } = await runCli(['report', '--json', file], { cwd });
    expect([code, readFileSync(join(cwd, file), 'utf8')]).toEqual([2, before]);
  });

  it.each([
    ['in a folder that does not exist', 'none/out.json'],
    ['that is a folder', 'folder'],
    ['with a name of 300 bytes', 'x'.repeat(300)],
    ['in a circle of links', 'circle'],
    ['below a file', 'file/out.json'],
  ])('%s is refused with 6', async (_, target) => {
    const cwd = makeFolder(SERVICE);
    mkdirSync(join(cwd, 'folder'));
    writeFileSync(join(cwd, 'file'), '');
    symlinkSync('circle', join(cwd, 'circle'));
    const { code, stderr } = await runCli(['init', '--config', 'x.jsonc'], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    const ended = await runCli(['sandbox', '--config-out', target], { cwd, signal: AbortSignal.abort() });
    expect([ended.code, ended.stderr]).toEqual([6, expect.stringContaining('Cannot write')]);
  });

  it('through a link replaces what the link leads to', async () => {
    const cwd = makeFolder(SERVICE);
    writeFileSync(join(cwd, 'real.json'), 'old');
    symlinkSync('real.json', join(cwd, 'link.json'));
    await runCli(['sandbox', '--config-out', 'link.json'], { cwd, signal: AbortSignal.abort() });
    expect(readJson(cwd, 'real.json')).toMatchObject({ v3: expect.anything() });
    expect(filesIn(cwd)).toEqual(['link.json', 'real.json', 'svc-migrate.config.json']);
  });

  it('is written to a pipe while it is read', async () => {
    const cwd = makeFolder(SERVICE);
    spawnSync('mkfifo', [join(cwd, 'pipe')]);
    const { open } = await import('node:fs/promises');
    const reader = open(join(cwd, 'pipe'), 'r').then(async (handle) => {
      const text = await handle.readFile('utf8');
      await handle.close();
      return text;
    });
    await runCli(['status', '--json', 'pipe'], { cwd });
    expect(JSON.parse(await reader)).toMatchObject({ outcome: expect.any(String) });
  });
});
