import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/commands/catalogue/all.js';
import { listSchemas, renderSchema } from '../../src/commands/reference.js';
import { errorSchema } from '../../src/commands/with-outputs.js';
import { openProject } from './project.js';
import { keysOf, makeFolder, runCli } from './run-cli.js';

const { sandbox, cwd, run } = await openProject({ seed: 5, scale: 30 });
await run('run', '--quiet');
await run('export', 'v3', '--quiet', '--db', 'unfinished.db');

/** Parses a value by the schema of a name. */
async function parseAs(name: string, text: string) {
  const schema = await listSchemas()
    .find((one) => one.name === name)
    ?.load();
  return schema?.parse(JSON.parse(text)) ?? expect.fail(`no schema ${name}`);
}

const LINES = ['status', 'doctor', 'verify --sample 3', 'recheck', 'explain crm/stages 1'];

describe('--json', () => {
  it.each(LINES)('FILE: %s writes the JSON that - prints, and its text to stdout', async (line) => {
    const args = line.split(' ');
    const text = (await run(...args, '--json', 'out.json')).stdout;
    expect(() => JSON.parse(text)).toThrow();
    const written = Object.keys(JSON.parse(readFileSync(join(cwd, 'out.json'), 'utf8')));
    expect(written).toEqual(Object.keys(JSON.parse((await run(...args, '--json', '-')).stdout)));
  });

  const SHAPES: readonly (readonly [string, string])[] = [
    ['report', 'report'],
    ['report', 'check'],
    ['finding', 'findings --limit 0'],
    ['lookup', 'lookup crm/stages 1 2 999999'],
    ['lookup', 'lookup crm/stages 1 999999 --reverse'],
    ['explain', 'explain crm/stages 1'],
    ['doctor', 'doctor'],
    ['verify', 'verify --all'],
    ['recheck', 'recheck'],
    ['status', 'status'],
    ['status', 'status --db unfinished.db'],
    ['scan', 'scan'],
    ['error', 'report --company 99999'],
    ['error', 'explain crm/stages x'],
  ];
  it.each(SHAPES)('follows the schema of %s: %s', async (name, line) => {
    const { stdout } = await run(...line.split(' '), '--json', '-');
    const values = name === 'finding' || name === 'lookup' ? stdout.trim().split('\n') : [stdout];
    for (const value of values) await parseAs(name, value);
  });

  it('has lines of dump that follow the schema of findings', async () => {
    const { stdout } = await run('dump', '--format', 'ndjson');
    for (const line of stdout.trim().split('\n')) await parseAs('finding', line);
  });

  it('FILE: lookup writes NDJSON there and nothing to stdout', async () => {
    const asked = ['lookup', 'crm/stages', '1', '2', '--json'];
    expect((await run(...asked, 'ids.ndjson')).stdout).toBe('');
    expect(readFileSync(join(cwd, 'ids.ndjson'), 'utf8')).toBe((await run(...asked, '-')).stdout);
  });
});

describe('--json FILE of a command that fails', () => {
  /** For each command what makes it fail before it has begun: a value that an option does not take. */
  const WRONG: Readonly<Record<string, string>> = {
    demo: '--seed x',
    doctor: '--max-wait x',
    run: '--wait --settle x',
    report: '--company x',
    check: '--company x',
    findings: '--company x',
    explain: 'crm/stages x',
    recheck: '--max-wait x',
    status: '--db x',
    verify: '--sample x',
    lookup: 'crm/stages x',
    scan: '--fail-on x',
    'apply plan': 'x',
    'apply write': '--yes x',
    'apply check': 'x',
    'apply verify': '--others x',
    'apply find': 'x',
    'apply sql': 'sqlite --layout x',
    'apply undo': 'x',
    'apply runs': 'x',
  };
  const names = COMMANDS.filter(({ options }) => options.some((one) => one.name === 'json')).map(
    ({ name }) => name,
  );

  it('is tried for every command, and each has a schema', async () => {
    expect(Object.keys(WRONG).toSorted()).toEqual(names.toSorted());
    for (const { options, load } of COMMANDS) {
      const json = options.find(({ name }) => name === 'json');
      expect(json?.schema === undefined).toBe(json === undefined);
      expect((await load()).schema === undefined).toBe(json === undefined);
    }
  });

  it.each(Object.entries(WRONG))('holds the error: %s %s', async (name, wrong) => {
    const folder = makeFolder(sandbox.config());
    for (const args of [wrong, wrong.replace(/x$/, '1')]) {
      const isBroken = args !== wrong;
      const config = isBroken ? ['--config', 'missing.json'] : [];
      // Without a configuration, demo works and doctor has a result.
      if (isBroken && ['demo', 'doctor'].includes(name)) continue;
      writeFileSync(join(folder, 'result'), '{"of":"an earlier run"}');
      const words = [...name.split(' '), ...args.split(' '), ...config, '--json', 'result'];
      const { code } = await runCli(words, { cwd: folder, env: keysOf(sandbox.apiKey) });
      const left = errorSchema.parse(JSON.parse(readFileSync(join(folder, 'result'), 'utf8')));
      // status takes no value that can be wrong, only a database that is not there.
      const expected = name === 'status' && !isBroken ? 4 : 2;
      expect([code, left.exitCode]).toEqual([expected, expected]);
    }
  });
});

it.each([
  ['the target', ['ids.csv', '--json', 'ids.csv']],
  ['the new file of the target', ['ids.csv', '--json', 'ids.v4.csv']],
  ['a target that a broken configuration names', ['--config', 'broken.json', '--json', 'ids.csv']],
])('--json never replaces %s of apply', async (_, args) => {
  const folder = makeFolder(sandbox.config());
  writeFileSync(join(folder, 'broken.json'), '{"apply":{"targets":[{"csv":"ids.csv","wrong":1}]}}');
  for (const file of ['ids.csv', 'ids.v4.csv']) writeFileSync(join(folder, file), 'id\n1\n');
  for (const config of [[], ['--config', 'missing.json']]) {
    const words = ['apply', 'plan', '--ids', 'id=crm/stages', ...config, ...args];
    expect((await runCli(words, { cwd: folder, env: keysOf(sandbox.apiKey) })).code).toBe(2);
    const left = ['ids.csv', 'ids.v4.csv'].map((file) => readFileSync(join(folder, file), 'utf8'));
    expect(left).toEqual(['id\n1\n', 'id\n1\n']);
  }
});

it('ships each JSON Schema with its own $id, and says what exitCode is', async () => {
  for (const one of listSchemas()) {
    const { name } = one;
    const text = readFileSync(new URL(`../../schema/${name}.schema.json`, import.meta.url), 'utf8');
    expect(text).toBe(await renderSchema(one));
    expect(JSON.parse(text)).toMatchObject({ $id: `urn:svc-migrate:schema:${name}:1` });
    for (const [member] of text.matchAll(/^( *)"exitCode": \{.*?^\1\}/gms))
      expect(member).toContain('"description"');
  }
});

describe('doctor --offline', () => {
  it('shows what is in force and sends nothing', async () => {
    const before = sandbox.requests().length;
    const ended = await run('doctor', '--offline');
    expect(ended.code).toBe(0);
    for (const shown of [
      'svc-migrate.db',
      'accounting/invoices',
      'SVC_MIGRATE_V4_API_KEY',
      'maxAge',
      'connection_inert 100%, outside_backfill_window 100%',
    ]) {
      expect(ended.stdout).toContain(shown);
    }
    expect(ended.stdout).toMatch(/Ready\.\nNext: svc-migrate doctor\n$/);
    expect(sandbox.requests().length).toBe(before);
  });
});

describe('the command after an export', () => {
  it.each([
    [['export', 'v3', '--model', 'crm/stages'], 'svc-migrate export v4 --model crm/stages'],
    [['export', 'v4'], 'svc-migrate export v3'],
    [['export'], 'svc-migrate remap'],
  ])('%j is %s', async (args, next) => {
    const { stdout } = await run(...args, '--quiet', '--db', `${args.join('').replace(/\W/g, '')}.db`);
    expect(stdout.trimEnd().split('\n').at(-1)).toContain(`Next: ${next}`);
  });
});
