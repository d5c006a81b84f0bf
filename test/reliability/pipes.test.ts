import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { campaignCases } from '../support/campaign.js';
import { openProject } from '../support/project.js';
import type { Ended } from '../support/run-cli.js';
import { runShell, spawnCli } from '../support/spawn-cli.js';

/** Commands that print, for people and for scripts. */
const COMMANDS = [
  'dump',
  '--help',
  'report --json -',
  '--version',
  'help start',
  'doctor',
  'export v3',
  'remap',
  'run',
  'report',
  'report --ndjson -',
  'report --html -',
  'check',
  'status',
  'verify --sample 5',
  'lookup crm/stages 1 2 3',
  'lookup crm/stages 1 --json -',
  'explain crm/stages 1 --json -',
  'dump --format ndjson',
  'sandbox',
];

const { at, cwd, run } = await openProject({ seed: 31, scale: 100, companies: 1 });
let dump: string;
beforeAll(async () => {
  expect((await run('run', '--quiet')).code).toBe(0);
  dump = (await run('dump')).stdout;
});

function expectQuietEnd({ code, stderr }: Ended): void {
  expect([code, stderr]).toEqual([6, expect.not.stringMatching(/\n\s+at |this is a bug|EPIPE|node:/)]);
}

it.each(campaignCases(COMMANDS, 2))(
  'svc-migrate %s ends with 6 and without a stack trace if nobody reads',
  async (line) => {
    expectQuietEnd(await spawnCli(line.split(' '), { ...at, onStart: (child) => child.stdout?.destroy() }));
  },
);

it
  .runIf(existsSync('/dev/full'))
  .each(campaignCases(['dump', 'report', 'check --json -', 'run', 'lookup crm/stages 1'], 1))(
  'svc-migrate %s ends with 6 and says why if the disk is full',
  async (line) => {
    const ended = await runShell(`svc-migrate ${line} > /dev/full`, at);
    expectQuietEnd(ended);
    expect(ended.stderr).toContain('the disk is full');
  },
);

it('a reader of the first line gets it', async () => {
  const { code, stdout, stderr } = await runShell('set -o pipefail; (svc-migrate dump) | head -1', at);
  expect([stdout, stderr]).toEqual([expect.stringMatching(/^model,path,[^\n]*\n$/), '']);
  // 0 if all of it fitted into the pipe before the reader went.
  expect([0, 6]).toContain(code);
});

it('closed standard streams are not a bug, and data without a stdout are an error', async () => {
  const lines = [
    ['svc-migrate report --quiet 2>&-', 0],
    ['svc-migrate report --quiet <&-', 0],
    ['svc-migrate dump --quiet >&-', 6],
    ['svc-migrate report --quiet --json - >&-', 6],
    ['svc-migrate dump --quiet --output d.csv >&-', 0],
    ['svc-migrate dump --quiet > /dev/null', 0],
  ] as const;
  for (const [line, code] of campaignCases(lines, 3))
    expect((await runShell(line, at)).code, line).toBe(code);
});

it('open files, process substitutions and FIFOs are written to', async () => {
  const lines = [
    ['svc-migrate dump --quiet --output /dev/fd/3 3> a.csv', 'a.csv'],
    ['svc-migrate dump --quiet --output /dev/stdout > b.csv', 'b.csv'],
    ['mkfifo fifo; cat fifo > c.csv & svc-migrate dump --quiet --output fifo; wait', 'c.csv'],
    [
      'svc-migrate dump --quiet --output >(cat > d.csv); for _ in $(seq 50); do [ -s d.csv ] && break; sleep 0.1; done',
      'd.csv',
    ],
  ] as const;
  for (const [line, file] of campaignCases(lines, 2)) {
    expect((await runShell(line, at)).code, line).toBe(0);
    expect(readFileSync(join(cwd, file), 'utf8'), file).toBe(dump);
  }
});
