import { existsSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { openProject } from '../cli/project.js';
import type { Ended } from '../cli/run-cli.js';
import { runShell, spawnCli } from '../cli/spawn-cli.js';
import { campaignCases } from '../support/campaign.js';

/** Commands that print, with what they print for people and for scripts. */
const COMMANDS = [
  '--help',
  '--version',
  'help run',
  'completion bash',
  'doctor',
  'export v3',
  'export v4',
  'remap',
  'run',
  'report',
  'report --json -',
  'report --ndjson -',
  'report --html -',
  'report --markdown -',
  'report --junit -',
  'check',
  'status',
  'verify --sample 5',
  'verify --sample 5 --json -',
  'recheck',
  'recheck --json -',
  'lookup crm/stages 1 2 3',
  'lookup crm/stages 1 --json -',
  'explain crm/stages 1',
  'explain crm/stages 1 --json -',
  'dump',
  'dump --format ndjson',
  'dump --format sql',
  'purge --payloads --yes',
  'backup copy.db --force',
  'sandbox',
];

const FULL = [
  '--help',
  'export v4',
  'remap',
  'run',
  'report',
  'check --json -',
  'dump',
  'lookup crm/stages 1',
];

const { at, run } = await openProject({ seed: 31, scale: 100, companies: 1 });
beforeAll(async () => expect((await run('run', '--quiet')).code).toBe(0));

function expectQuietEnd({ code, stderr }: Ended, words: RegExp | null): void {
  expect([code, stderr]).toEqual([6, expect.stringMatching(words ?? /^/)]);
  expect(stderr).not.toMatch(/\n\s+at |this is a bug|EPIPE|node:/);
}

it.each(campaignCases(COMMANDS, 4))(
  'svc-migrate %s ends with 6 and without a stack trace where nobody reads',
  async (line) => {
    const ended = await spawnCli(line.split(' '), {
      ...at,
      onStart: (child) => child.stdout?.destroy(),
    });
    expectQuietEnd(ended, null);
  },
);

it.runIf(existsSync('/dev/full')).each(campaignCases(FULL, 2))(
  'svc-migrate %s ends with 6 and says why where the disk is full',
  async (line) => {
    expectQuietEnd(await runShell(`svc-migrate ${line} > /dev/full`, at), /the disk is full/);
  },
);

it('a reader of the first line gets it, and the rest is no error of anybody', async () => {
  const { code, stdout, stderr } = await runShell('set -o pipefail; (svc-migrate dump) | head -1', at);
  expect(stdout).toMatch(/^model,path,[^\n]*\n$/);
  expect(stderr).toBe('');
  // 0 where all of it fitted into the pipe before the reader went.
  expect([0, 6]).toContain(code);
});

it('closed standard streams end no command with a bug', async () => {
  for (const closed of campaignCases(['>&-', '2>&-', '<&-', '>&- 2>&-'], 2)) {
    const { code, stderr } = await runShell(`svc-migrate report --quiet ${closed}`, at);
    expect([code, stderr]).toEqual([0, '']);
  }
});

it('data asked for on stdout are an error where there is none', async () => {
  const lines = [
    'lookup accounting/invoices 1',
    'findings --json -',
    'check --json -',
    'report --quiet --ndjson -',
  ];
  for (const line of campaignCases(lines, 2)) {
    const { code, stderr } = await runShell(`svc-migrate ${line} >&-`, at);
    expect([line, code, stderr]).toEqual([line, 6, expect.stringContaining('There is no stdout')]);
  }
});

it('a dump without a stdout is an error, and one to /dev/null is not', async () => {
  const closed = await runShell('svc-migrate dump --quiet >&-', at);
  expect([closed.code, closed.stderr]).toEqual([6, expect.stringContaining('There is no stdout')]);
  const dropped = await runShell('svc-migrate dump --quiet > /dev/null', at);
  expect([dropped.code, dropped.stderr]).toEqual([0, '']);
  expect((await runShell('svc-migrate dump --quiet --output d.csv >&-', at)).code).toBe(0);
});
