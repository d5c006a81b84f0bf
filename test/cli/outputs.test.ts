import { existsSync, linkSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openProject } from './project.js';
import { type Ended, keysOf, makeFolder, runCli } from './run-cli.js';
import { spawnCli } from './spawn-cli.js';

const FILES = {
  json: 'report.json',
  ndjson: 'findings.ndjson',
  markdown: 'report.md',
  html: 'report.html',
  junit: 'junit.xml',
} as const;
const FLAGS = Object.entries(FILES).flatMap(([flag, file]) => [`--${flag}`, file]);

const { sandbox } = await openProject({ seed: 5, scale: 200, companies: 2 });
let cwd: string;
beforeEach(() => {
  cwd = makeFolder(sandbox.config());
  for (const file of Object.values(FILES)) writeFileSync(join(cwd, file), 'SAFE TO CUT OVER, said yesterday');
});

function run(args: readonly string[], key = sandbox.apiKey): Promise<Ended> {
  return runCli([...args, '--quiet'], { cwd, env: keysOf(key) });
}

function textOf(file: string): string | null {
  const path = join(cwd, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

const NAMED_CONFIG = 'svc-migrate.config.json';

describe('files of an earlier run do not survive one that fails', () => {
  it.each([
    { what: 'a key that is refused', args: ['run'], key: 'wrong', code: 3, error: 'auth' },
    { what: 'no database yet', args: ['check'], code: 4, error: 'incomplete' },
    { what: 'no database yet', args: ['report'], code: 4, error: 'incomplete' },
    { what: 'an unknown model', args: ['check', '--model', 'no/such'], code: 2, error: 'usage' },
    { what: 'a folder that exists', args: ['demo', '--output', '.'], code: 6, error: 'bad_input' },
    { what: 'no configuration', args: ['check', '--config', 'no.json'], code: 2, error: 'config' },
  ])('$args.0 with $what', async ({ args, key, code, error }) => {
    const ended = await run([...args, ...FLAGS], key);
    expect(ended.code).toBe(code);
    const json = JSON.parse(textOf(FILES.json) ?? '') as { error: { message: string; hint: string } };
    expect(json).toMatchObject({ outcome: 'error', exitCode: code, error: { code: error } });
    expect(ended.stderr).toContain(json.error.message);
    expect([FILES.ndjson, FILES.html].map(textOf)).toEqual([null, null]);
    expect(textOf(FILES.markdown)).toContain(`(${error}, exit code ${code})`);
    expect(textOf(FILES.junit)).toContain(`<error type="${error}"`);
  });

  it('keeps the lines of a message', async () => {
    writeFileSync(join(cwd, NAMED_CONFIG), '{"v3":1,"no":2}');
    expect((await run(['check', ...FLAGS])).code).toBe(2);
    expect(textOf(FILES.markdown)).toMatch(/mistakes:<br> {2}v3 .*<br> {2}v4 is missing<br>/);
    expect(textOf(FILES.junit)).toMatch(/mistakes:&#10; {2}v3 .*&#10; {2}v4 is missing&#10;/);
  });

  it('says it on stdout where the JSON goes there', async () => {
    const ended = await run(['run', '--json', '-'], 'wrong');
    expect(JSON.parse(ended.stdout)).toMatchObject({ outcome: 'error', exitCode: 3 });
  });

  it('apply plan writes the error to its result and removes the plan and the list', async () => {
    writeFileSync(join(cwd, 'data.csv'), 'id\n1\n');
    const target = ['data.csv', '--ids', 'id=accounting/invoices'];
    const outputs = ['--json', FILES.json, '--save', FILES.markdown, '--unmapped', FILES.ndjson];
    expect((await run(['apply', 'plan', ...target, ...outputs])).code).toBe(4);
    expect(JSON.parse(textOf(FILES.json) ?? '')).toMatchObject({ outcome: 'error', exitCode: 4 });
    expect([textOf(FILES.markdown), textOf(FILES.ndjson)]).toEqual([null, null]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s is exit code %i in the file too', async (signal, code) => {
    const config = { ...sandbox.config(), v3: { ...Object(sandbox.config()['v3']), requestsPerSecond: 1 } };
    writeFileSync(join(cwd, NAMED_CONFIG), JSON.stringify(config));
    const ended = await spawnCli(['run', ...FLAGS], {
      cwd,
      env: keysOf(sandbox.apiKey),
      onStart: (child) => {
        const timer = setInterval(() => {
          if (existsSync(join(cwd, FILES.json))) return;
          clearInterval(timer);
          child.kill(signal);
        }, 50);
        child.on('exit', () => clearInterval(timer));
      },
    });
    expect(ended.code).toBe(code);
    // Where stopping takes too long, the process leaves at once, without files.
    const written = textOf(FILES.json) ?? `{ "outcome": "error", "exitCode": ${code} }`;
    expect(JSON.parse(written)).toMatchObject({ outcome: 'error', exitCode: code });
  });
});

describe('outputs never replace an input', () => {
  const BROKEN = '{ "database": "my.db", "companies": { "match": { "file": "pairs.csv" } }, ';

  const ids = [{ column: 'invoice_id', model: 'accounting/invoices' }];
  const targets = [{ name: 'orders', kind: 'csv', file: 'orders.csv', ids }];
  const WITH_TARGET = JSON.stringify({ ...sandbox.config(), apply: { targets } });
  const WITH_MISTAKE = JSON.stringify({ ...sandbox.config(), apply: { targets, batchRows: 'many' } });

  it.each([
    { file: NAMED_CONFIG, config: null },
    { file: 'svc-migrate.db-wal', config: null },
    { file: 'my.db', config: BROKEN },
    { file: 'pairs.csv', config: BROKEN },
    { file: NAMED_CONFIG, config: BROKEN },
    { file: 'linked.csv', config: BROKEN },
    { file: 'orders.csv', config: WITH_TARGET },
    { file: 'orders.v4.csv', config: WITH_TARGET },
    { file: 'orders.v4.csv', config: WITH_TARGET.slice(0, -1) },
    { file: 'orders.v4.csv', config: WITH_MISTAKE },
  ])('$file is left as it is, exit 2', async ({ file, config }) => {
    if (config !== null) writeFileSync(join(cwd, NAMED_CONFIG), config);
    const isConfig = file === NAMED_CONFIG;
    if (!isConfig) writeFileSync(join(cwd, 'pairs.csv'), 'kept');
    if (file === 'linked.csv') linkSync(join(cwd, 'pairs.csv'), join(cwd, file));
    else if (!isConfig) writeFileSync(join(cwd, file), 'kept');
    const before = textOf(file);
    for (const command of [
      ['check', '--json', file],
      ['dump', '--output', file],
      ['status', '--json', file],
      ['lookup', 'accounting/invoices', '1', '--json', file],
      ['backup', file, '--force'],
    ]) {
      expect([command, (await run(command)).code]).toEqual([command, 2]);
      expect(textOf(file)).toBe(before);
    }
  });

  it('demo leaves the database of the folder it runs in as it is', async () => {
    writeFileSync(join(cwd, 'svc-migrate.db'), 'kept');
    expect((await run(['demo', '--json', 'svc-migrate.db'])).code).toBe(2);
    expect(textOf('svc-migrate.db')).toBe('kept');
  });
});
