import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { renderGitlab, renderSarif, renderUseAnnotations, renderUses } from '../../src/scan/render-uses.js';
import { buildScanSettings } from '../../src/scan/rules/rule.js';
import { scanFiles } from '../../src/scan/scan-files.js';
import { buildScanReport, type ScanResult, scanSchema } from '../../src/scan/scan-report.js';
import { SyntaxParser } from '../../src/scan/syntax.js';
import { makeFolder, runCli } from '../cli/run-cli.js';
import { campaignCases } from '../support/campaign.js';

const HOST = 'eu.ledger.example';
const CODE = `const res = await fetch('https://${HOST}/v3/accounting/invoices?svc_company_id[eq]=77');
const body = await res.json();
export const rows = body.data;
`;

const parser = await SyntaxParser.create();
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'scan-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function save(path: string, text: string | Buffer): void {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), text);
}

function scanFolder(hosts: readonly string[] = [HOST]): Promise<ScanResult> {
  const request = { paths: ['.'], folder, ownFiles: [], settings: buildScanSettings(null, hosts) };
  return scanFiles(request, { isStopped: () => false, onProgress: () => {} }, parser);
}

async function reportOf(hosts: readonly string[] = [HOST]) {
  return buildScanReport(await scanFolder(hosts), {
    failOn: 'certain',
    hosts,
    toolVersion: '1.0.0',
    seen: null,
  });
}

const rulesIn = ({ findings }: ScanResult) => findings.map(({ rule, line }) => `${line} ${rule}`);

/** Code on lines as long as people write them: longer ones are taken for minified. */
const inLines = (text: string) => text.replace(/.{60}/g, '$&\n');

describe('what is read', () => {
  it('names every file that it skips, and why', async () => {
    save('.gitignore', 'out/\n*.gen.ts\n!kept.gen.ts\n');
    save('src/a.ts', CODE);
    save('src/b.gen.ts', CODE);
    save('src/kept.gen.ts', CODE);
    save('out/c.ts', CODE);
    save('node_modules/x/index.js', CODE);
    save('src/blob.ts', Buffer.from([1, 0, 2]));
    save('src/big.json', Buffer.alloc(3 * 1024 * 1024, 32));
    save('src/packed.js', `const a=${'1+'.repeat(6000)}1;`);
    save('README.md', CODE);
    symlinkSync('/etc', join(folder, 'src/link'));
    const { files } = await scanFolder();
    expect(files.read.map(({ path }) => path)).toEqual(['src/a.ts', 'src/kept.gen.ts']);
    expect(Object.fromEntries(files.skipped.map(({ path, why }) => [path, why]))).toEqual({
      '.gitignore': 'not a kind of file that is read',
      'README.md': 'not a kind of file that is read',
      node_modules: 'vendored',
      out: 'ignored by .gitignore',
      'src/b.gen.ts': 'ignored by .gitignore',
      'src/big.json': 'larger than 2 MiB',
      'src/blob.ts': 'binary',
      'src/link': 'symbolic link',
      'src/packed.js': 'minified',
    });
  });

  it('finds ids in the statements of SQL, and none in its comments', async () => {
    save(
      'fix.sql',
      'UPDATE orders SET paid = 1 WHERE svc_id = 5120044;\n-- WHERE svc_id = 5120045\nSELECT svc_id FROM a WHERE svc_id IN (17, 18);\n',
    );
    expect(rulesIn(await scanFolder())).toEqual(['1 hard-coded-id', '3 hard-coded-id']);
  });

  it('finds every kind of GraphQL operation that names a field of the service', async () => {
    for (const [at, kind] of ['query', 'mutation', 'subscription', 'fragment A on B', ''].entries())
      for (const field of ['svc_id', 'id'])
        save(`${at}-${field}.graphql`, `${kind} { invoice { ${field} } }`);
    const { findings } = await scanFolder();
    expect(findings.map(({ file, rule }) => `${file} ${rule}`)).toEqual(
      [0, 1, 2, 3, 4].map((at) => `${at}-svc_id.graphql graphql`),
    );
  });

  it('takes code for minified by its share of long lines', async () => {
    const code = Array.from({ length: 30 }, (_, at) => `export const a${at} = ${at};\n`).join('');
    const packed = `f(${'1+'.repeat(6000)}1);\n`;
    save('data.ts', `${code}export const icon = '${'A'.repeat(60_000)}';\n${CODE}`);
    save('bundle.ts', `/*! licence\n${' * of many lines\n'.repeat(40)} */\n// v3\n${packed}`);
    save('chunks.ts', `// v3\n${`${packed}run();\nstop();\n`.repeat(4)}`);
    const { files } = await scanFolder();
    expect(files.read.map(({ path }) => path)).toEqual(['data.ts']);
    expect(files.skipped.map(({ path }) => path)).toEqual(['bundle.ts', 'chunks.ts']);
  });

  it('reads recordings of the network up to 32 MiB', { timeout: 30_000 }, async () => {
    const entry = {
      request: { url: `https://${HOST}/v3/crm/stages` },
      response: { content: 'x'.repeat(1000) },
    };
    const entries = Array.from({ length: 12_000 }, () => entry);
    save('session.har', JSON.stringify({ log: { entries } }, null, 1));
    const { findings, files } = await scanFolder();
    expect(files.skipped).toEqual([]);
    expect(findings.length).toBeGreaterThan(12_000);
  });

  it('includes what is named, though it is ignored or a link', async () => {
    save('.gitignore', 'out/\n');
    mkdirSync(join(folder, '.git'));
    save('out/a.ts', CODE);
    symlinkSync('out', join(folder, 'link'));
    const read = async (...paths: string[]) => {
      const request = { paths, folder, ownFiles: [], settings: buildScanSettings(null, [HOST]) };
      const { files } = await scanFiles(request, { isStopped: () => false, onProgress: () => {} }, parser);
      return files.read.map(({ path }) => path);
    };
    expect(await read('.')).toEqual([]);
    expect(await read('out')).toEqual(['out/a.ts']);
    expect(await read('link')).toEqual(['link/a.ts']);
    expect(await read('out/a.ts')).toEqual(['out/a.ts']);
  });

  const HOSTILE: readonly (readonly [name: string, file: string, text: string | Buffer])[] = [
    ['deep nesting', 'a.ts', `const a = ${'['.repeat(50_000)}${']'.repeat(50_000)};`],
    ['a line of a megabyte', 'a.py', `x = "${'a'.repeat(1_000_000)}"`],
    ['broken UTF-8', 'a.rb', Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x0a])],
    ...[
      'a',
      '$',
      '{',
      '}',
      '"',
      "'",
      '`',
      '%s',
      '/v3',
      '.data',
      '["data"]',
      'svc_id=1 ',
      '(',
      'https://',
    ].map((text): [string, string, string] => [
      `nothing but ${text}`,
      'a.ts',
      inLines(`const svc = ${text.repeat(300_000 / text.length)}`),
    ]),
    [
      'an address of names',
      'a.ts',
      inLines(`x = 'https://${'a.'.repeat(50_000)}v3/${'crm/'.repeat(20_000)}'`),
    ],
    ['a thousand holes', 'a.ts', inLines(`x = \`${'$'.concat('{a}/v3/').repeat(20_000)}\``)],
    ['functions in functions', 'a.ts', inLines(`${'() => { x.data; '.repeat(20_000)}${'}'.repeat(20_000)}`)],
    ['requests without end', 'a.ts', `fetch('https://${HOST}/v3/crm/stages').data;\n`.repeat(20_000)],
    ['unclosed brackets', 'a.php', `<?php ${'f('.repeat(20_000)}`],
    ['comments that never end', 'a.sql', `${'/*'.repeat(100_000)}`],
    ['comments of HTML that never end', 'a.yml', '<!--'.repeat(200_000)],
    ['a megabyte of one word', 'a.yml', 'a'.repeat(1_000_000)],
    ['a megabyte of blanks', 'a.yml', ' '.repeat(1_000_000)],
    ['a query of blank lines', 'a.graphql', '\n'.repeat(200_000)],
    ['a query of comments', 'a.graphql', '#'.repeat(50_000)],
    ['a YAML of quotes', 'a.yml', `a: ${'"\\'.repeat(200_000)}`],
    ['signs that may open type arguments', 'a.ts', inLines('a<b,'.repeat(60_000))],
    ['templates inside templates', 'a.ts', inLines('const x = `${'.repeat(8_000))],
    ['brackets in no order', 'a.ts', inLines('}{)(]['.repeat(5_000))],
    ['objects in objects', 'a.ts', inLines(`x = ${'{ a: '.repeat(500)}"v3"${' }'.repeat(500)}`)],
  ];
  it.each(campaignCases(HOSTILE, 12))('gets past %s', async (_, file, text) => {
    // Code is parsed only where it names V3.
    save(file, typeof text === 'string' && file.endsWith('s') ? `// v3\n${text}` : text);
    save('z.ts', CODE);
    const before = process.cpuUsage();
    const result = await scanFolder();
    // Half a second for each of 100,000 characters, and two to start with.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6).toBeLessThan(2 + text.length / 200_000);
    expect(result.findings.filter((one) => one.file === 'z.ts')).toHaveLength(5);
    expect(result.files.read.length + result.files.skipped.length).toBeGreaterThanOrEqual(2);
  });
});

describe('findings', () => {
  it('are certain only where a host is named', async () => {
    save('a.ts', CODE);
    const known = await scanFolder();
    expect(rulesIn(known)).toEqual([
      '1 base-url',
      '1 route',
      '1 company-filter',
      '1 hard-coded-id',
      '3 envelope',
    ]);
    expect(known.findings.map(({ certainty }) => certainty)).toEqual([
      ...['certain', 'certain', 'certain', 'certain', 'likely'],
    ]);
    const unknown = await scanFolder([]);
    expect(rulesIn(unknown)).toEqual(rulesIn(known));
    expect(unknown.findings.every(({ certainty }) => certainty !== 'certain')).toBe(true);
  });

  it('keep their fingerprints when lines are added above, and tell equal lines apart', async () => {
    save('a.ts', `${CODE}${CODE}`);
    const before = await scanFolder();
    save('a.ts', `\n\n// more\n${CODE}${CODE}`);
    const after = await scanFolder();
    const prints = ({ findings }: ScanResult) => findings.map(({ fingerprint }) => fingerprint);
    expect(prints(after)).toEqual(prints(before));
    expect(new Set(prints(before)).size).toBe(before.findings.length);
  });

  it('are not excluded by a comment without a reason', async () => {
    save('a.ts', CODE);
    const { findings } = await scanFolder();
    save('a.ts', CODE.replaceAll(';\n', '; // svc-migrate-ignore:\n'));
    expect((await scanFolder()).findings).toHaveLength(findings.length);
  });
});

describe('a host', () => {
  const SAME: readonly string[] = [
    'https://eu.ledger.example:443',
    'http://eu.ledger.example:80',
    'https://EU.Ledger.Example',
    'https://eu.ledger.example.',
    'https://eu.ledger.example.:443',
    'https://user:secret@eu.ledger.example',
    'https://eu%2Eledger.example',
    'https://%65u.ledger.example',
    'HTTPS://eu.ledger.example',
  ];
  it.each(SAME)('is the same when written as %s', async (address) => {
    save('a.ts', `fetch('${address}/v3/crm/stages');\n`);
    save('a.sh', `curl '${address}/v3/crm/stages'\n`);
    const { findings } = await scanFolder();
    expect(findings.map(({ file, rule, certainty }) => `${file} ${rule} ${certainty}`)).toEqual([
      'a.sh base-url certain',
      'a.sh route certain',
      'a.ts base-url certain',
      'a.ts route certain',
    ]);
    expect(rulesIn(await scanFolder([address]))).toEqual(rulesIn({ findings } as ScanResult));
  });

  it.each([
    'https://eu.ledger.example:8443',
    'http://eu.ledger.example:443',
    'https://eu.ledger.example.net',
  ])('is another one when written as %s', async (address) => {
    save('a.ts', `fetch('${address}/v3/crm/stages');\n`);
    expect((await scanFolder()).findings).toEqual([]);
  });

  it('may be an IPv6 address in any spelling', async () => {
    save('a.ts', `fetch('https://[2001:DB8:0:0::1]:443/v3/crm/stages');\n`);
    expect(rulesIn(await scanFolder(['[2001:db8::1]']))).toEqual(['1 base-url', '1 route']);
  });
});

describe('output', () => {
  it('is valid by its own schema, and says how much was read where nothing was found', async () => {
    save('a.ts', 'export const a = 1;\n');
    const report = await reportOf();
    expect(scanSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report);
    expect(renderUses(report, 80, false)).toContain('0 uses of V3 in 1 file read, 0 not read: passed');
    expect(report.exitCode).toBe(0);
  });

  it('says in every format that nothing can be certain where no host is known', async () => {
    save('a.ts', CODE);
    const report = await reportOf([]);
    expect(report.exitCode).toBe(0);
    expect(renderUses(report, 1000, false)).toMatch(
      /passed, as no certain use may remain\. But no V3 host is known.*--v3-host/,
    );
    const known = renderUses(await reportOf(), 1000, false);
    expect(known).not.toContain('no V3 host');
    expect(known).toContain("Only addresses of eu.ledger.example are V3's: name others with --v3-host.");
  });

  it('is the same judgement in every format', async () => {
    save('dir with space/a:b,c.ts', CODE);
    const report = await reportOf();
    const sarif = JSON.parse(renderSarif(report));
    const [run] = sarif.runs;
    expect(run.results).toHaveLength(report.findings.length);
    expect(run.results[0].locations[0].physicalLocation.artifactLocation.uri).toBe(
      'dir%20with%20space/a%3Ab%2Cc.ts',
    );
    expect(run.results[0].partialFingerprints['svcMigrate/v1']).toMatch(/^[0-9a-f]{32}$/);
    const issues: readonly { fingerprint: string }[] = JSON.parse(renderGitlab(report));
    expect(issues).toHaveLength(report.findings.length);
    expect(new Set(issues.map(({ fingerprint }) => fingerprint)).size).toBe(issues.length);
    expect(issues[0]).toEqual({
      engine_name: 'svc-migrate',
      type: 'issue',
      check_name: 'base-url',
      description: expect.stringMatching(/^This is the address of V3\..* V4: v4\.baseUrl/),
      fingerprint: report.findings[0]?.fingerprint,
      severity: 'major',
      categories: ['Compatibility'],
      location: { path: 'dir with space/a:b,c.ts', lines: { begin: 1 } },
    });
    expect(renderUseAnnotations(report).split('\n')[0]).toBe(
      `::error file=dir with space/a%3Ab%2Cc.ts,line=1,col=34,title=svc-migrate base-url::This is the address of V3. V4 has one address for all regions. V4: v4.baseUrl of the configuration; routes then begin with /v4/`,
    );
    const text = renderUses(report, 80, false);
    expect(text.trimEnd().split('\n').slice(-5).join('\n')).toMatch(/failed[\s\S]*Next: svc-migrate/);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('counts and shows the findings about one address as one place', async () => {
    save('a.ts', CODE);
    const report = await reportOf();
    expect(report.findings).toHaveLength(5);
    expect(report.summary.places).toEqual({ certain: 1, likely: 1, look: 0 });
    const text = renderUses(report, 80, false);
    expect(text.match(/a\.ts:1 /g)).toHaveLength(1);
    expect(text).toContain('also route: /v4/core/companies/{companyId}/invoices');
    expect(text).not.toContain('(route)');
  });

  it('suggests lookup for ids of records, and the pairs of the report for those of companies', async () => {
    save(
      'a.ts',
      `const a = { svc_company_id: 4711, svc_id: 4712 };\nfetch('https://${HOST}/v3/crm/stages/4713');\nfetch('https://${HOST}/v3/crm/stages?svc_id[eq]=4714');\n`,
    );
    const { findings } = await scanFolder();
    const ids = findings.filter(({ rule }) => rule === 'hard-coded-id');
    expect(ids.map(({ line, v4 }) => `${line} ${v4.replace(/.*svc-migrate /, '')}`)).toEqual([
      '1 report pairs them',
      '2 lookup crm/stages 4713',
      '3 lookup crm/stages 4714',
    ]);
  });

  it('escapes what code contains', async () => {
    save('a.ts', CODE.replace('rows', 'r/*\u001b[31m\u202e|<b>`*/ows'));
    const report = await reportOf();
    for (const text of [renderUses(report, 80, false), renderSarif(report)]) {
      expect(text).not.toMatch(/[\u001b\u202e]/);
    }
  });
});

describe('the command', () => {
  it('exits with 1, 0 and 2, and writes what was asked for', async () => {
    const cwd = makeFolder();
    mkdirSync(join(cwd, 'src'));
    mkdirSync(join(cwd, 'empty'));
    writeFileSync(join(cwd, 'src/a.ts'), CODE);
    const host = ['--v3-host', HOST];
    const failed = await runCli(['scan', 'src', ...host, '--json', 'scan.json', '--sarif', 'scan.sarif'], {
      cwd,
    });
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    const report = scanSchema.parse(JSON.parse(readFileSync(join(cwd, 'scan.json'), 'utf8')));
    expect(report.findings[0]).toMatchObject({ file: 'src/a.ts', line: 1, rule: 'base-url' });
    expect(JSON.parse(readFileSync(join(cwd, 'scan.sarif'), 'utf8')).version).toBe('2.1.0');
    expect((await runCli(['scan', 'src'], { cwd })).code).toBe(0);
    expect((await runCli(['scan', 'src', '--fail-on', 'likely'], { cwd })).code).toBe(1);
    expect((await runCli(['scan', 'empty', ...host], { cwd })).code).toBe(2);
    expect((await runCli(['scan', 'missing'], { cwd })).code).toBe(2);
    expect((await runCli(['scan', '--v3-host', 'http://'], { cwd })).code).toBe(2);
  });

  it('announces its result in a job of GitHub Actions', async () => {
    const cwd = makeFolder();
    writeFileSync(join(cwd, 'a.ts'), CODE.repeat(20));
    const env = { GITHUB_ACTIONS: 'true' };
    const { code, stdout, stderr } = await runCli(['scan', 'a.ts', '--v3-host', HOST], { cwd, env });
    expect(code).toBe(1);
    expect(stdout).toContain('failed');
    expect(stderr.match(/^::error /gm)).toHaveLength(10);
    expect(stderr.match(/^::warning /gm)).toHaveLength(10);
  });

  const LOGS: readonly (readonly [name: string, text: string])[] = [
    [
      'access.log',
      '10.0.0.1 - - [10/Oct/2026:13:55:36 +0000] "GET /v3/accounting/invoices?limit=1 HTTP/1.1" 200 23 "-" "job/1"\n' +
        '10.0.0.1 - - [10/Oct/2026:13:55:37 +0000] "GET /v3/crm/stages?svc_company_id%5Beq%5D=7 HTTP/1.1" 200 23 "-" "cron/2"\n' +
        '10.0.0.1 - - [10/Oct/2026:13:55:37 +0000] "GET /v4/core/companies/7/invoices HTTP/1.1" 200 23 "-" "new/1"\nnonsense\n',
    ],
    [
      'access.ndjson',
      `{"request_uri":"/v3/accounting/invoices?limit=1","host":"${HOST}","user_agent":"job/1"}\n` +
        `{"url":"https://${HOST}/v3/crm/stages?svc_company_id[eq]=7","user_agent":"cron/2"}\n{"url":"https://else.example/v3/crm/stages"}\nnonsense\n`,
    ],
    [
      'session.har',
      JSON.stringify({
        log: {
          entries: [
            {
              request: {
                url: `https://${HOST}/v3/accounting/invoices?limit=1`,
                headers: [{ name: 'User-Agent', value: 'job/1' }],
              },
            },
            {
              request: {
                url: `https://${HOST}/v3/crm/stages?svc_company_id[eq]=7`,
                headers: [{ name: 'user-agent', value: 'cron/2' }],
              },
            },
            { request: { url: 'https://else.example/v3/crm/stages' } },
          ],
        },
      }),
    ],
  ];
  it.each(LOGS)('joins the routes of %s with those in the code', async (name, text) => {
    const cwd = makeFolder();
    writeFileSync(join(cwd, 'a.ts'), CODE);
    writeFileSync(join(cwd, name), text);
    const line = ['scan', 'a.ts', '--v3-host', HOST, '--traffic', name];
    const { traffic } = scanSchema.parse(
      JSON.parse((await runCli([...line, '--json', '-'], { cwd })).stdout),
    );
    expect(traffic).toMatchObject({
      requests: 3,
      unread: name.endsWith('.har') ? 0 : 1,
      routes: [
        {
          route: 'accounting/invoices',
          requests: 1,
          parameters: ['limit'],
          callers: ['job/1'],
          places: ['a.ts:1'],
        },
        {
          route: 'crm/stages',
          requests: 1,
          parameters: ['svc_company_id[eq]'],
          callers: ['cron/2'],
          places: [],
        },
      ],
      notInCode: ['crm/stages'],
    });
    expect((await runCli(line, { cwd })).stdout).toContain(
      'REQUESTED, BUT NOT FOUND IN THE CODE: crm/stages',
    );
    expect((await runCli([...line.slice(0, -1), 'missing.log'], { cwd })).code).toBe(6);
    expect((await runCli([...line, '--json', name], { cwd })).code).toBe(2);
  });
});

describe('code that has never heard of the service', () => {
  const PACKAGES = ['commander', 'undici'];
  it.each(campaignCases(PACKAGES, 1))('has no certain finding: %s', { timeout: 60_000 }, async (name) => {
    const source = join(fileURLToPath(new URL('../../node_modules', import.meta.url)), name);
    cpSync(source, join(folder, name), {
      recursive: true,
      filter: (path) => !path.slice(source.length).includes('node_modules'),
    });
    const { findings, files } = await scanFolder();
    expect(files.read.length).toBeGreaterThan(3);
    expect(findings.filter(({ certainty }) => certainty !== 'look')).toEqual([]);
  });
});

describe('files that scan writes', () => {
  it('never overwrites a source file that is taken for an output', async () => {
    const cwd = makeFolder();
    for (const file of ['a.ts', 'deploy.yml', 'package.json']) writeFileSync(join(cwd, file), CODE);
    for (const output of ['--json', '--sarif', '--gitlab']) {
      for (const file of ['a.ts', 'deploy.yml', 'package.json', './a.ts']) {
        expect((await runCli(['scan', output, file], { cwd })).code).toBe(2);
      }
    }
    for (const file of ['a.ts', 'deploy.yml', 'package.json'])
      expect(readFileSync(join(cwd, file), 'utf8')).toBe(CODE);
  });

  it('replaces its own JSON, and never takes it for code', async () => {
    const cwd = makeFolder();
    writeFileSync(join(cwd, 'a.ts'), CODE);
    const scan = (...args: string[]) => runCli(['scan', '--v3-host', HOST, ...args], { cwd });
    for (const code of ['export {};\n', CODE, CODE]) {
      writeFileSync(join(cwd, 'a.ts'), code);
      expect((await scan('--gitlab', 'quality.json')).code).toBe(code === CODE ? 1 : 0);
    }
    expect((await scan('--json', 'scan.json')).code).toBe(1);
    const first = readFileSync(join(cwd, 'scan.json'), 'utf8');
    expect((await scan('--json', 'scan.json')).code).toBe(1);
    expect(readFileSync(join(cwd, 'scan.json'), 'utf8')).toBe(first);
    writeFileSync(join(cwd, 'a.ts'), 'export {};\n');
    expect((await scan()).code).toBe(0);
  });

  it('leaves no output of an earlier run where it fails', async () => {
    const cwd = makeFolder();
    writeFileSync(join(cwd, 'a.ts'), CODE);
    const outputs = ['--json', 'scan.json', '--sarif', 'scan.sarif'];
    const failing = [['--v3-host', 'http://'], ['--config', 'missing.json'], ['missing']];
    for (const args of failing) {
      await runCli(['scan', '--v3-host', HOST, ...outputs], { cwd });
      const { code } = await runCli(['scan', ...args, ...outputs], { cwd });
      const json = JSON.parse(readFileSync(join(cwd, 'scan.json'), 'utf8'));
      expect(json).toMatchObject({ outcome: 'error', exitCode: code });
      expect(existsSync(join(cwd, 'scan.sarif'))).toBe(false);
    }
  });

  it('does not pass where nothing was read', async () => {
    const cwd = makeFolder();
    mkdirSync(join(cwd, 'empty'));
    const { code, stdout } = await runCli(['scan', 'empty', '--json', '-'], { cwd });
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 2, exitCode: 2, outcome: 'fail' });
    expect((await runCli(['scan', 'empty'], { cwd })).stdout).not.toMatch(/: passed/);
  });
});
