import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openProject } from './project.js';
import { type Ended, runCli } from './run-cli.js';
import { runShell } from './spawn-cli.js';

const options = { seed: 1, scale: 130, scenario: 'ugly' } as const;
const { sandbox: ugly, at, cwd } = await openProject(options, (one) => one.config(), 'my config.json');
beforeAll(async () => expect((await run(['run', '--quiet'])).code).toBe(1));

function run(args: readonly string[]): Promise<Ended> {
  return runCli([...args, '--config', 'my config.json'], at);
}

/** Runs a command that was printed, in this process. */
function runPrinted(line: string): Promise<Ended> {
  const words = line.match(/'[^']*'|\S+/g)?.slice(1) ?? [];
  return runCli([...words.map((word) => word.replace(/^'(.*)'$/, '$1')), '--quiet'], at);
}

/** The last five lines of stdout, and what follows `Next: `. */
function endOf({ stdout }: Ended) {
  const lines = stdout.trimEnd().split('\n').slice(-5);
  return { text: lines.join('\n'), next: lines.at(-1)?.replace(/^Next: /, '') ?? '' };
}

describe('the last lines of a judgement', () => {
  it.each([
    { args: ['check'], verdict: 'NOT SAFE TO CUT OVER: ' },
    { args: ['check', '--verbose'], verdict: 'NOT SAFE TO CUT OVER: ' },
    { args: ['report', '--model', 'crm/stages'], verdict: 'NOT SAFE TO CUT OVER: ' },
    { args: ['verify', '--sample', '3', '--quiet'], verdict: 'Verified: ' },
    { args: ['status'], verdict: '' },
    { args: ['doctor', '--quiet'], verdict: 'Ready' },
  ])('$args say the verdict, the blocker, and a command that runs as printed', async ({ args, verdict }) => {
    const { text, next } = endOf(await run(args));
    expect(text).toContain(verdict);
    if (verdict.startsWith('NOT')) expect(text).toMatch(/^Biggest blocker: .*\d[^…]*$/m);
    expect(next).toMatch(/^svc-migrate (help .*|.* --config 'my config.json')$/);
    const ended = await runPrinted(next);
    expect([next, [0, 1].includes(ended.code), ended.stderr]).toEqual([next, true, expect.anything()]);
    for (const draft of ['companies-draft.csv', 'decisions-draft.csv'])
      rmSync(join(cwd, draft), { force: true });
  });

  it('names a command where the data are incomplete', async () => {
    const other = ['--db', 'other.db'];
    expect((await run(['export', 'v3', '--quiet', ...other])).code).toBe(0);
    const ended = await run(['check', ...other]);
    expect(ended.code).toBe(4);
    const { text, next } = endOf(ended);
    expect(text).toContain('Biggest blocker: V4 was not exported yet.');
    expect(next).toBe("svc-migrate run --config 'my config.json' --db other.db");
  });

  it.each([['report'], ['doctor', '--quiet'], ['doctor', '--quiet', '--db', 'none-yet.db']])(
    '%s names the ambiguous companies and their candidates',
    async (...args) => {
      const { stdout } = await run(args);
      const text = stdout.replace(/\n +/g, ' ');
      expect(text).toMatch(
        /V3 company \d+ in \w+: V4 company \d+ \(\d+ of \d+ shared records agree\)(?: or \d+ \(|; V3 company \d+ in \w+ may be)/,
      );
    },
  );

  it('a missing key mentions a .env that lies there unread', async () => {
    writeFileSync(join(cwd, '.env'), 'SVC_MIGRATE_V3_API_KEY=x');
    const ended = await runCli(['run', '--config', 'my config.json'], { cwd, env: {} });
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('.env here is not read')]);
  });

  it('doctor without a configuration leads to init', async () => {
    const ended = await runCli(['doctor', '--quiet', '--config', 'none.json'], at);
    expect([ended.code, endOf(ended).next]).toEqual([2, 'svc-migrate init --config none.json']);
  });

  it('ends with them on a pipe too', async () => {
    const { stdout } = await runShell(`svc-migrate check --config 'my config.json' 2>&1`, at);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^Next: /);
  });

  it('run reports a V3 company that V4 does not list, and refuses one of neither with a current remap', async () => {
    const known = await run(['run', '--quiet', '--company', '9007199254740992']);
    expect([known.code, endOf(known).text]).toEqual([1, expect.stringContaining('Company not in V4')]);
    const unknown = await run(['run', '--quiet', '--company', '999999']);
    const said = expect.stringContaining('The remap holds no company 999999.');
    expect([unknown.code, unknown.stderr]).toEqual([2, said]);
    expect((await run(['status'])).stdout).toMatch(/^Remap: .*, current$/m);
  });

  it('drafts say how they are used, and end with the command that uses them', async () => {
    const files = ['--write-decisions', 'to decide.csv', '--write-companies', 'to-pair.csv'];
    const { stdout, stderr } = await run(['findings', '--quiet', ...files]);
    expect(stdout).toBe('');
    expect(stderr).toMatch(
      /^Wrote to decide\.csv: \d+ V3 ids to decide\.\nDeleted in V3[^.]*\.[^.]*\.\nWrote to-pair\.csv: \d+ V3 compan/,
    );
    const config = JSON.parse(readFileSync(join(cwd, 'my config.json'), 'utf8'));
    const settings = stderr.match(/^ {2}".*$/gm) ?? [];
    expect(settings).toHaveLength(2);
    const twice = await run(['findings', '--write-companies', 'to-pair.csv']);
    expect([twice.code, twice.stderr.replaceAll(/\n +/g, ' ')]).toEqual([
      2,
      expect.stringContaining(
        `Answer its questions, add \`${settings[1]?.trim()}\` to the configuration, and run`,
      ),
    ]);
    const named = Object.assign({}, config, JSON.parse(`{${settings.join(',')}}`));
    writeFileSync(join(cwd, 'my config.json'), JSON.stringify(named));
    const last = stderr.trimEnd().split('\n').at(-1);
    expect(last).toBe("Next: svc-migrate decide --config 'my config.json'");
    expect((await run(['remap', '--quiet'])).code).toBe(0);
    for (const file of ['to decide.csv', 'to-pair.csv']) rmSync(join(cwd, file));
    const again = await run(['findings', '--quiet', ...files]);
    expect(again.stderr).not.toContain('add to the configuration');
    expect(again.stderr).toMatch(/\nNext: svc-migrate decide --config 'my config\.json'\n$/);
    writeFileSync(join(cwd, 'my config.json'), JSON.stringify(config));
    expect((await run(['remap', '--quiet'])).code).toBe(0);
  });
});

describe('where every V4 name is wrong and V3 addresses lack /v3', () => {
  it('doctor writes a configuration that works', async () => {
    const config = ugly.config() as {
      v3: { regions: Record<string, { baseUrl: string }> };
      models: { v4: string }[];
    };
    for (const region of Object.values(config.v3.regions))
      region.baseUrl = region.baseUrl.replace(/\/v3$/, '');
    for (const model of config.models) model.v4 = `no_such_${model.v4}`;
    const text = `// kept\n${JSON.stringify({ ...config, database: 'wrong.db' }, null, 2)}`;
    writeFileSync(join(cwd, 'wrong.jsonc'), text);
    const found = await runCli(['doctor', '--quiet', '--config', 'wrong.jsonc'], at);
    expect(found.code).toBe(2);
    expect(endOf(found).text).toMatch(/Not ready: \d+ problems\.\nBiggest blocker: V3 eu answers 404/);
    const { next } = endOf(found);
    expect(next).toBe('svc-migrate doctor --write-config corrected.jsonc --config wrong.jsonc');
    const written = await runPrinted(next);
    expect([written.code, written.stdout]).toEqual([
      2,
      expect.stringMatching(/^Wrote corrected.jsonc: 11 settings changed\.\n/),
    ]);
    expect(written.stdout).not.toContain('To fix');
    const again = await runPrinted(endOf(written).next);
    expect([again.code, endOf(again).next]).toEqual([0, 'svc-migrate run --config corrected.jsonc']);
    expect((await runPrinted(next)).code).toBe(2);
  });

  it('an export says which address it may be', async () => {
    const { code, stderr } = await runCli(['export', 'v3', '--quiet', '--config', 'wrong.jsonc'], at);
    expect(code).toBe(2);
    expect(stderr).toContain(`Is its address ${Object.values(ugly.v3)[0]}?`);
  });

  it.each(['report', 'status'])('%s does not call it an unfinished backfill', async (command) => {
    await runCli(['export', 'v4', '--quiet', '--config', 'wrong.jsonc'], at);
    await runCli(['remap', '--quiet', '--config', 'wrong.jsonc'], at);
    const ended = await runCli([command, '--quiet', '--config', 'wrong.jsonc'], at);
    expect(ended.stdout).toContain('answered 404 to every');
    expect(endOf(ended).next).toBe('svc-migrate doctor --config wrong.jsonc');
  });
});
