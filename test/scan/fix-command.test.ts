import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { replaceUnchanged } from '../../src/runtime/write-output.js';
import { scanSchema } from '../../src/scan/scan-report.js';
import { runCli } from '../cli/run-cli.js';

const CONFIG = {
  v3: { regions: { eu: { baseUrl: 'https://eu.ledger.example/v3', apiKeyEnv: 'A' } } },
  v4: { baseUrl: 'https://api.ledger.example', apiKeyEnv: 'B' },
  models: [{ v3: 'accounting/invoices', v4: 'invoices' }],
};
const V3 = 'https://eu.ledger.example/v3/accounting/invoices?svc_company_id[eq]=7&limit=1';
const V4 = 'https://api.ledger.example/v4/core/companies/7/invoices?limit=1';
const FETCH = (url: string, data: string) =>
  `const res = await fetch('${url}');\r\nexport const rows = (await res.json()).${data};\r\n`;
const SAME = ['--company-ids', 'same'];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'scan-fix-'));
  save('svc-migrate.config.json', JSON.stringify(CONFIG));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function save(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const read = (path: string) => readFileSync(join(folder, path), 'utf8');
const fix = (...args: string[]) => runCli(['scan', '--fix', ...SAME, ...args], { cwd: folder });

function git(...args: string[]): string {
  const own = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  return execFileSync('git', [...own, ...args], { cwd: folder, encoding: 'utf8' });
}

function commit(): void {
  if (!existsSync(join(folder, '.git'))) git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'x');
}

describe('scan --fix', () => {
  it('rewrites, keeps modes and line ends, and exits by what remains', async () => {
    save('a.ts', FETCH(V3, 'data'));
    chmodSync(join(folder, 'a.ts'), 0o755);
    commit();
    const first = await fix('--json', '-');
    const report = scanSchema.parse(JSON.parse(first.stdout));
    expect([first.code, report.fix?.fixed, report.fix?.notFixed]).toEqual([0, 1, 0]);
    expect(report.fix?.files).toEqual([{ path: 'a.ts', outcome: 'written' }]);
    expect(read('a.ts')).toBe(FETCH(V4, 'data.data'));
    expect(statSync(join(folder, 'a.ts')).mode & 0o777).toBe(0o755);
    commit();
    const second = await fix();
    expect(second.code).toBe(0);
    expect(second.stdout).toContain('Fixed 0 requests; 0 files changed.');
    expect(read('a.ts')).toBe(FETCH(V4, 'data.data'));
  });

  it('prints a diff that git applies, writes nothing, and judges the code as it is', async () => {
    save('src/a.ts', FETCH(V3, 'data'));
    save('src/b.py', `import requests\nx = requests.get("${V3}").json()["next"]  # one`);
    commit();
    const { code, stdout, stderr } = await fix('--dry-run');
    expect(code).toBe(1);
    expect(stderr).toContain('Would fix 2 requests');
    expect(git('status', '--porcelain')).toBe('');
    save('../fix.diff', stdout);
    git('apply', '../fix.diff');
    rmSync(join(folder, '../fix.diff'));
    const applied = [read('src/a.ts'), read('src/b.py')];
    git('checkout', '-q', '.');
    await fix();
    expect([read('src/a.ts'), read('src/b.py')]).toEqual(applied);
    expect(applied[0]).toBe(FETCH(V4, 'data.data'));
  });

  const UNSAFE: readonly (readonly [what: string, prepare: () => void])[] = [
    ['outside of git', () => {}],
    [
      'beside changes',
      () => {
        commit();
        save('svc-migrate.config.json', `${JSON.stringify(CONFIG)}\n`);
      },
    ],
    [
      'in files that git does not track',
      () => {
        rmSync(join(folder, 'a.ts'));
        commit();
        save('a.ts', FETCH(V3, 'data'));
      },
    ],
  ];
  it.each(UNSAFE)('writes nothing %s, but with --force', async (_, prepare) => {
    save('a.ts', FETCH(V3, 'data'));
    prepare();
    const refused = await fix();
    expect([refused.code, read('a.ts')]).toEqual([6, FETCH(V3, 'data')]);
    expect((await fix('--dry-run')).code).toBe(1);
    expect((await fix('--force')).code).toBe(0);
    expect(read('a.ts')).toBe(FETCH(V4, 'data.data'));
  });

  it('marks what remains, once, where the format has comments', async () => {
    save(
      'a.ts',
      `export async function f() {\n  const res = await fetch(\n    '${V3}&return_count=true',\n  );\n  return res.ok;\n}\n`,
    );
    save('b.yml', `url: ${V3}\n`);
    save('c.json', `{ "url": "${V3}" }\n`);
    save('d.ts', `// svc-migrate-ignore: the archive stays\nawait fetch('${V3}');\n`);
    commit();
    const first = await fix('--mark');
    expect(first.code).toBe(1);
    expect(first.stdout).toContain('Not marked: c.json:1, as this kind of file has no comments.');
    expect(read('a.ts').split('\n')[2]).toMatch(
      /^ {4}\/\/ svc-migrate: find out whether V4 honours every parameter/,
    );
    expect(read('b.yml')).toMatch(/^# svc-migrate: .*\nurl: /);
    expect(read('c.json')).toBe(`{ "url": "${V3}" }\n`);
    expect(read('d.ts')).not.toContain('svc-migrate: ');
    const marked = [read('a.ts'), read('b.yml')];
    commit();
    const second = await fix('--mark', '--json', '-');
    const report = scanSchema.parse(JSON.parse(second.stdout));
    expect([report.fix?.marked, report.summary.byRule.mark?.certain]).toEqual([0, 2]);
    expect([read('a.ts'), read('b.yml')]).toEqual(marked);
  });

  it('marks without rewriting, also as a dry run', async () => {
    save('a.ts', FETCH(V3, 'data'));
    commit();
    const cli = (...args: readonly string[]) => runCli(['scan', '--mark', ...args], { cwd: folder });
    const dry = await cli('--dry-run');
    expect([dry.code, read('a.ts')]).toEqual([1, FETCH(V3, 'data')]);
    expect(dry.stdout).toMatch(/^--- a\/a\.ts[\s\S]*\n\+ *\/\/ svc-migrate: /);
    expect(dry.stderr).toContain('1 file would change. Nothing was written.');
    const marked = await cli();
    expect(marked.stdout).toMatch(/^1 file changed\.$/m);
    expect(read('a.ts').replace(/^ *\/\/ svc-migrate: .*\r\n/gm, '')).toBe(FETCH(V3, 'data'));
  });

  it.each([['--dry-run'], ['--force'], ['--company-ids', 'same'], ['--mark', '--company-ids', 'same']])(
    'needs --fix for %s %s %s',
    async (...args) => {
      expect((await runCli(['scan', ...args], { cwd: folder })).stderr).toMatch(/ needs --fix/);
    },
  );
});

describe('the replacement of a file', () => {
  const replace = (path: string) =>
    replaceUnchanged(join(folder, path), { before: 'old', after: 'new', folder });

  it('leaves a file alone that changed or vanished', () => {
    save('a.ts', 'other');
    expect([replace('a.ts'), read('a.ts')]).toEqual(['changed', 'other']);
    expect(replace('none.ts')).toBe('changed');
  });

  it('follows a link within the folder, and none out of it', () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-'));
    writeFileSync(join(outside, 'a.ts'), 'old');
    save('a.ts', 'old');
    symlinkSync(outside, join(folder, 'out'));
    symlinkSync('a.ts', join(folder, 'in.ts'));
    expect([replace('out/a.ts'), readFileSync(join(outside, 'a.ts'), 'utf8')]).toEqual(['outside', 'old']);
    expect([replace('in.ts'), read('a.ts')]).toEqual(['written', 'new']);
    rmSync(outside, { recursive: true });
  });
});
