import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ACTION = '.github/actions/gate/action.yml';
const read = (file: string) => readFileSync(`${ROOT}${file}`, 'utf8');

interface Step {
  readonly id?: string;
  readonly if?: string;
  readonly uses?: string;
  readonly with?: object;
  readonly run?: string;
}
type Jobs = Readonly<Record<string, { readonly steps: readonly Step[] }>>;

/** The recipes in the documentation, by their first key. */
function recipe(name: string) {
  const found = [...read('src/docs/ci.md').matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  return parse(found.find((text) => text.startsWith(`${name}:`)) ?? '');
}

const jobsIn = (file: string): Jobs => parse(read(file)).jobs;
const gate: { inputs: object; runs: { steps: readonly Step[] } } = parse(read(ACTION));
const IN_GATE: Jobs = { gate: gate.runs };
const IN_RECIPE: Jobs = recipe('jobs').jobs;
const WORKFLOWS: readonly (readonly [string, Jobs])[] = [
  ...['.github/workflows/ci.yml', '.github/workflows/release.yml'].map(
    (file) => [file, jobsIn(file)] as const,
  ),
  ['src/docs/ci.md', IN_RECIPE],
  [ACTION, IN_GATE],
];

describe.each(WORKFLOWS)('%s', (_, jobs) => {
  const steps = Object.values(jobs).flatMap((one) => one.steps);

  it('has scripts that bash can read, and nothing written into them', () => {
    for (const { run } of steps) {
      if (run === undefined) continue;
      expect(spawnSync('bash', ['-n'], { input: run, encoding: 'utf8' }).stderr).toBe('');
      expect(run).not.toContain('${{');
    }
  });

  it('uses local actions that exist, with inputs that they have', () => {
    for (const { uses = '', with: given = {} } of steps) {
      if (!uses.startsWith('./')) continue;
      expect(existsSync(`${ROOT}${uses}/action.yml`)).toBe(true);
      expect(Object.keys(given).filter((name) => !(name in gate.inputs))).toEqual([]);
    }
  });
});

it('the action keeps the exit code of the program and quotes what it is given', () => {
  const script = gate.runs.steps.find(({ id }) => id === 'run')?.run ?? '';
  const { status, stdout } = spawnSync(
    'bash',
    ['-e', '-c', `gate() { printf '<%s>' "$@"; return 5; }; ${script}`],
    {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], COMMAND: 'gate', ARGUMENTS: '--wait --settle 5m', REPORTS: '/tmp' },
    },
  );
  expect([status, stdout]).toEqual([
    5,
    expect.stringMatching(/^<run><--json><\/tmp\/report\.json>.*<--wait><--settle><5m>$/),
  ]);
});

it.each([
  ['the recipe of the gate', IN_RECIPE],
  ['the composite action', IN_GATE],
])('%s keeps the database also while the gate is red', (_, jobs) => {
  const steps = Object.values(jobs).flatMap((one) => one.steps);
  expect(steps.filter(({ uses }) => uses?.startsWith('actions/cache@'))).toEqual([]);
  const saving = steps.findIndex(({ uses }) => uses?.startsWith('actions/cache/save@'));
  const running = steps.findIndex(({ run, id }) => id === 'run' || run?.includes('svc-migrate run'));
  expect(saving).toBeGreaterThan(running);
  expect(steps[saving]?.if).toBe('always()');
});

it('the recipe for GitLab is a job with artifacts', () => {
  for (const job of Object.values(recipe('migration-gate')))
    expect(job).toMatchObject({
      script: expect.any(Array),
      artifacts: { reports: { junit: expect.any(String) } },
    });
});
