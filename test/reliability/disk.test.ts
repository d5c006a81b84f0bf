import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openProject } from '../cli/project.js';
import { type Ended, runCli } from '../cli/run-cli.js';
import { BIN, runShell } from '../cli/spawn-cli.js';
import { campaign, campaignCases } from '../support/campaign.js';

const CONFIG = 'svc-migrate.config.json';
const ALL_OUTPUTS = ['json', 'ndjson', 'markdown', 'html', 'junit'];
const OUTPUTS = campaignCases(ALL_OUTPUTS, 2);

/** Whether a small disk can be mounted, out of sight of the rest of the machine. */
const CAN_MOUNT = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
if (!CAN_MOUNT) {
  process.stdout.write('NOT TESTED: small and read-only disks, because nothing can be mounted here\n');
}

const { at, cwd: folder } = await openProject({ seed: 31, scale: 200, companies: 1 }, (sandbox) => {
  const { v3, v4, ...rest } = sandbox.config();
  const speed = { pageSize: 10, concurrency: 1, requestsPerSecond: 10_000 };
  const models = campaignCases(Object(rest['models']), 3);
  return { ...rest, models, v3: { ...Object(v3), ...speed }, v4: { ...Object(v4), ...speed } };
});
/** What an undisturbed job dumps. */
let truth = '';

const shell = (line: string): Promise<Ended> => runShell(line, at);

const run = (line: string): Promise<Ended> => runCli(line.split(' '), at);

beforeAll(async () => {
  expect((await run('run --quiet')).code).toBe(0);
  expect((await run('dump --output truth.csv')).code).toBe(0);
  truth = readDump('truth.csv');
});

/** The remap but for the times at which V3 was read. */
function readDump(name: string): string {
  return readFileSync(join(folder, name), 'utf8').replace(/(v3_read_until"":"")[^"]+/g, '$1');
}

/** Exit code 6 with a sentence and what to do, and nothing that looks like a bug. */
function expectRefused({ code, stderr }: Ended, words: RegExp): void {
  expect([code, stderr]).toEqual([6, expect.stringMatching(words)]);
  expect(stderr).not.toMatch(/\n\s+at |this is a bug/);
  expect(stderr).toMatch(/→ |cannot write stdout/);
}

/** Runs lines as one script with a disk of its own for the database, which is gone afterwards. */
function onSmallDisk(name: string, kilobytes: number, lines: readonly string[]): Promise<Ended> {
  const disk = join(folder, name);
  mkdirSync(disk);
  const script = [
    `run() { "${process.execPath}" "${BIN}" "$@"; }`,
    'told() { run "$@" 2>&1 > /dev/null; echo "code $?"; }',
    `remount() { mount -o remount,$1 "${disk}"; }`,
    `mount -t tmpfs -o size=${kilobytes}k tmpfs "${disk}"`,
    `cp ${CONFIG} "${disk}" && cd "${disk}"`,
    ...lines,
  ];
  writeFileSync(join(folder, `${name}.sh`), script.join('\n'));
  return shell(`unshare -rm bash --norc "${name}.sh"`);
}

describe.runIf(CAN_MOUNT)('a disk of its own', () => {
  const SIZES = campaign({ small: [288], full: [8, 96, 192, 288, 384, 512, 24_576] });

  it('that is too small for the database ends the run with 6; on a larger one it goes on to the same result', async () => {
    const codes: string[] = [];
    for (const size of SIZES) {
      const { code, stdout, stderr } = await onSmallDisk(`full-${size}`, size, [
        'told run --quiet',
        'remount size=64m',
        'run run --quiet > /dev/null || exit 1',
        `run dump --output "${folder}/full-${size}.csv"`,
      ]);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(
        /^(?:svc-migrate: Cannot (?:write|create) .*\n {2}→ .*\n {2}\(error .*\n)?code [06]\n$/,
      );
      expect(readDump(`full-${size}.csv`)).toBe(truth);
      codes.push(stdout.trim().split(' ').at(-1) ?? '');
    }
    process.stdout.write(`disks of ${SIZES.join(', ')} KiB: first runs ended with ${codes.join(', ')}\n`);
    expect(codes.filter((code) => code === '6').length).toBeGreaterThanOrEqual(
      campaign({ small: 1, full: 5 }),
    );
    expect(codes.at(-1)).toBe(campaign({ small: '6', full: '0' }));
  });

  it('that is read-only refuses whatever writes, and still shows what is there', async () => {
    const { code, stdout, stderr } = await onSmallDisk('read-only', 4096, [
      'remount ro; told export v3; remount rw',
      `cp "${folder}/svc-migrate.db" .; remount ro`,
      'told export v4; told purge --payloads --yes; run status; told remap; told report; told report --json x.json',
      `run dump --output "${folder}/read-only.csv"`,
    ]);
    expect([code, stderr]).toEqual([0, '']);
    const codes = [...stdout.matchAll(/^code (\d+)$/gm)].map(([, one]) => one);
    expect(codes).toEqual(['6', '6', '6', '6', '0', '6']);
    expect(stdout).toMatch(/V3: \d+ lists/);
    expect(stdout).not.toMatch(/this is a bug|\n\s+at /);
    expect(readDump('read-only.csv')).toBe(truth);
  });

  it('that has no room for an output keeps none of an earlier run', async () => {
    const { code, stdout, stderr } = await onSmallDisk('outputs', 24_576, [
      `cp "${folder}/svc-migrate.db" . && echo earlier > a.csv`,
      'cat /dev/zero > filler 2> /dev/null',
      ...OUTPUTS.map((flag) => `told report --quiet --${flag} a.${flag}`),
      'told dump --output a.csv',
      `told backup copy.db --quiet --db "${folder}/svc-migrate.db"`,
      '! ls a.csv 2> /dev/null',
    ]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.match(/^code 6$/gm)).toHaveLength(OUTPUTS.length + 2);
    expect(stdout).toContain('Cannot write copy.db: ');
    expect(stdout).not.toContain('continues where it stopped');
    expect(stdout).not.toMatch(/\.tmp\b|this is a bug|\n\s+at /);
  });
});

describe('a database that cannot be written', () => {
  const BLOCKS = campaign({ small: [100], full: [1, 100, 300] });

  it('beyond a size ends the run with 6; without that limit it goes on to the same result', async () => {
    for (const blocks of BLOCKS) {
      const database = `--db limit-${blocks}.db`;
      const limited = await shell(`ulimit -f ${blocks}; svc-migrate run --quiet ${database}`);
      expectRefused(limited, /^svc-migrate: Cannot (?:write|create)/);
      expect((await run(`run --quiet ${database}`)).code).toBe(0);
      const dump = `limit-${blocks}.csv`;
      expect((await run(`dump ${database} --output ${dump}`)).code).toBe(0);
      expect(readDump(dump)).toBe(truth);
    }
    process.stdout.write(`file size limits of ${BLOCKS.join(', ')} KiB: ended with 6, then with the same\n`);
  });

  it.runIf(existsSync('/proc/self/mem'))(
    'or read, because of input and output errors, ends with 6',
    async () => {
      for (const command of campaignCases(['remap', 'report', 'status', 'check'], 2)) {
        expectRefused(await run(`${command} --db /proc/self/mem`), /I\/O error/);
      }
    },
  );

  it('because its folder is missing, or no folder, ends with 6', async () => {
    for (const place of campaignCases(['missing/x.db', `${CONFIG}/x.db`, '.', '/dev/null'], 2)) {
      expectRefused(await run(`export v3 --db ${place}`), /^svc-migrate: /);
    }
  });
});

describe('an output that cannot be written', () => {
  it.runIf(existsSync('/dev/full'))('because the device is full ends with 6, in every format', async () => {
    for (const flag of OUTPUTS) {
      expectRefused(
        await run(`report --quiet --${flag} /dev/full`),
        /Cannot write \/dev\/full: the disk is full/,
      );
    }
    for (const format of campaignCases(['csv', 'ndjson', 'sql'], 1)) {
      expectRefused(await run(`dump --format ${format} --output /dev/full`), /the disk is full/);
    }
  });

  it('beyond a size, or in a folder that is missing, leaves no trace, nor the file of an earlier run', async () => {
    const before = readdirSync(folder).sort();
    const html = join(folder, 'old.html');
    writeFileSync(html, 'old');
    expectRefused(
      await shell('ulimit -f 8; svc-migrate report --quiet --html old.html'),
      /it would be too large/,
    );
    expect(existsSync(html)).toBe(false);
    for (const line of [
      'report --quiet --json no/x.json',
      'report --quiet --ndjson no/x',
      'dump --output no/x',
    ]) {
      expectRefused(await run(line), /Cannot write no\/x.*: its folder does not exist\./);
    }
    expect(readdirSync(folder).sort()).toEqual(before);
  });
});
