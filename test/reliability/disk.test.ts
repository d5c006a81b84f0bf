import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { campaignCases, campaignSize } from '../support/campaign.js';
import { openProject } from '../support/project.js';
import { type Ended, runCli } from '../support/run-cli.js';
import { CLI, runShell } from '../support/spawn-cli.js';

const CONFIG = 'svc-migrate.config.json';

/** Whether a small disk can be mounted, out of sight of the rest of the machine. */
const CAN_MOUNT = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
if (!CAN_MOUNT) {
  process.stdout.write('NOT TESTED: small and read-only disks, because nothing can be mounted here\n');
}

const { at, cwd: folder } = await openProject({ seed: 31, scale: 200, companies: 1 }, (sandbox) => {
  const { v3, v4, ...rest } = sandbox.config();
  const speed = { pageSize: 10, concurrency: 1, requestsPerSecond: 10_000 };
  return { ...rest, v3: { ...Object(v3), ...speed }, v4: { ...Object(v4), ...speed } };
});
/** What an undisturbed job dumps. */
let truth: string;

const run = (line: string): Promise<Ended> => runCli(line.split(' '), at);
const readDump = (name: string): string => readFileSync(join(folder, name), 'utf8');

beforeAll(async () => {
  expect((await run('run --quiet')).code).toBe(0);
  expect((await run('dump --output truth.csv')).code).toBe(0);
  truth = readDump('truth.csv');
});

/** Exit code 6 with a sentence and a hint, and no stack trace. */
function expectRefused({ code, stderr }: Ended): void {
  expect([code, stderr]).toEqual([6, expect.not.stringMatching(/\n\s+at |this is a bug/)]);
  expect(stderr).toContain('→ ');
}

/** Runs lines as one script on a disk of its own for the database; `told` prints the exit code of a command. */
function onSmallDisk(name: string, kilobytes: number, lines: readonly string[]): Promise<Ended> {
  const disk = join(folder, name);
  mkdirSync(disk);
  const script = [
    `run() { "${process.execPath}" "${CLI}" "$@"; }`,
    'told() { run "$@" > /dev/null 2> stderr.txt; echo "code $?"; grep -E "this is a bug|^ +at " stderr.txt; }',
    `remount() { mount -o remount,$1 "${disk}"; }`,
    `mount -t tmpfs -o size=${kilobytes}k tmpfs "${disk}"`,
    `cp ${CONFIG} "${disk}" && cd "${disk}"`,
    ...lines,
  ];
  writeFileSync(
    join(folder, `${name}.sh`),
    script.join('\n').replaceAll('stderr.txt', join(folder, 'stderr.txt')),
  );
  return runShell(`unshare -rm bash --norc "${name}.sh"`, at);
}

describe.runIf(CAN_MOUNT)('a small disk', () => {
  const SIZES = campaignSize({ small: [288], full: [8, 96, 288, 512, 24_576] });

  it('ends the run with 6; on a larger one it goes on to the same result', async () => {
    const codes: string[] = [];
    for (const size of SIZES) {
      const { code, stdout, stderr } = await onSmallDisk(`full-${size}`, size, [
        'told run --quiet',
        'remount size=64m',
        'run run --quiet > /dev/null || exit 1',
        `cp svc-migrate.db "${folder}/full-${size}.db"`,
      ]);
      expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(/^code [06]\n$/)]);
      expect((await run(`dump --db full-${size}.db --output full.csv`)).code).toBe(0);
      expect(readDump('full.csv')).toBe(truth);
      codes.push(stdout.trim().slice('code '.length));
    }
    process.stdout.write(`disks of ${SIZES.join(', ')} KiB: first runs ended with ${codes.join(', ')}\n`);
    expect(codes.filter((code) => code === '6').length).toBeGreaterThanOrEqual(
      campaignSize({ small: 1, full: 3 }),
    );
  });

  it('that is read-only refuses commands that write, and shows what is there', async () => {
    const told = campaignCases(
      [
        ['export v4', 6],
        ['remap', 6],
        ['status', 0],
        ['report --json x.json', 6],
      ] as const,
      1,
    );
    const { code, stdout, stderr } = await onSmallDisk('read-only', 8192, [
      `cp "${folder}/svc-migrate.db" .; remount ro`,
      ...told.map(([line]) => `told ${line}`),
      `run dump --output "${folder}/read-only.csv"`,
    ]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.trim().split('\n')).toEqual(told.map(([, exit]) => `code ${exit}`));
    expect(readDump('read-only.csv')).toBe(truth);
  });

  it('without room for an output keeps none of an earlier run', async () => {
    const flags = campaignCases(['json', 'html', 'ndjson', 'markdown', 'junit'], 1);
    const { code, stdout, stderr } = await onSmallDisk('outputs', 24_576, [
      `cp "${folder}/svc-migrate.db" . && echo earlier > a.csv`,
      'cat /dev/zero > filler 2> /dev/null',
      ...flags.map((flag) => `told report --quiet --${flag} a.${flag}`),
      'told dump --output a.csv',
      '! ls a.csv *.tmp 2> /dev/null',
    ]);
    expect([code, stderr, stdout]).toEqual([0, '', 'code 6\n'.repeat(flags.length + 1)]);
  });
});

describe('a database that cannot be written', () => {
  it('beyond a size ends the run with 6; without that limit it goes on to the same result', async () => {
    for (const blocks of campaignSize({ small: [100], full: [1, 100, 300] })) {
      const database = `--db limit-${blocks}.db`;
      expectRefused(await runShell(`ulimit -f ${blocks}; svc-migrate run --quiet ${database}`, at));
      expect((await run(`run --quiet ${database}`)).code).toBe(0);
      expect((await run(`dump ${database} --output limit.csv`)).code).toBe(0);
      expect(readDump('limit.csv')).toBe(truth);
    }
  });

  it('because its folder is missing, is no folder, or cannot be read, ends with 6', async () => {
    for (const place of ['missing/x.db', `${CONFIG}/x.db`, '.', '/dev/null', '/proc/self/mem']) {
      expectRefused(await run(`export v3 --db ${place}`));
    }
  });
});

describe('an output that cannot be written', () => {
  it('ends with 6 and leaves no trace, nor the file of an earlier run', async () => {
    const before = readdirSync(folder).sort();
    writeFileSync(join(folder, 'old.html'), 'old');
    expectRefused(await runShell('ulimit -f 8; svc-migrate report --quiet --html old.html', at));
    expect(existsSync(join(folder, 'old.html'))).toBe(false);
    const name = 'n'.repeat(300);
    const lines = [
      'report --quiet --json no/x.json',
      'report --quiet --ndjson no/x.ndjson',
      'findings --quiet --json /dev/full',
      'lookup crm/stages 1 2 --json no/x',
      'dump --output no/x',
      'dump --output /dev/full',
      `dump --output ${name}`,
    ];
    for (const line of lines) expectRefused(await run(line));
    expect(readdirSync(folder).sort()).toEqual(before);
  });
});
