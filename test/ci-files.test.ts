import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ACTION = '.github/actions/gate/action.yml';
const read = (file: string) => readFileSync(`${ROOT}${file}`, 'utf8');

const texts = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
const step = z
  .strictObject({
    id: z.string().optional(),
    if: z.string().optional(),
    uses: z
      .string()
      .regex(/^(\.\/|[\w-]+\/[\w/-]+@v\d+$)/)
      .optional(),
    with: texts.optional(),
    run: z.string().optional(),
    shell: z.literal('bash').optional(),
    env: texts.optional(),
  })
  .refine(({ uses, run }) => (uses === undefined) !== (run === undefined), 'a step uses or runs');
const job = z.strictObject({
  'runs-on': z.string(),
  strategy: z.looseObject({ matrix: z.record(z.string(), z.array(z.unknown())) }).optional(),
  steps: z.array(step).min(1),
});
const workflow = z.strictObject({
  name: z.string(),
  on: z.looseObject({}),
  permissions: z.record(z.string(), z.enum(['read', 'write'])),
  jobs: z.record(z.string(), job),
});
const action = z.strictObject({
  name: z.string(),
  description: z.string(),
  inputs: z.record(z.string(), z.strictObject({ description: z.string(), default: z.string() })),
  runs: z.strictObject({ using: z.literal('composite'), steps: z.array(step) }),
});
type Step = z.infer<typeof step>;

/** The recipes in the documentation, by their first key. */
function recipe(name: string): unknown {
  const found = [...read('src/docs/ci.md').matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  return parse(found.find((text) => text.startsWith(`${name}:`)) ?? '');
}

const WORKFLOWS: readonly (readonly [string, Readonly<Record<string, { steps: Step[] }>>])[] = [
  ...['ci', 'release'].map((name) => {
    const file = `.github/workflows/${name}.yml`;
    return [file, workflow.parse(parse(read(file))).jobs] as const;
  }),
  ['src/docs/ci.md', z.strictObject({ jobs: z.record(z.string(), job) }).parse(recipe('jobs')).jobs],
];
const gate = action.parse(parse(read(ACTION)));

/** What `${{ … }}` refers to in a value. */
function refersTo(value: unknown): string[] {
  return [...JSON.stringify(value).matchAll(/\$\{\{ ([\w.-]+) \}\}/g)].map(([, name = '']) => name);
}

describe.each([...WORKFLOWS, [ACTION, { gate: gate.runs }] as const])('%s', (_, jobs) => {
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

  it('refers to steps that come earlier', () => {
    for (const { steps: own } of Object.values(jobs)) {
      for (const [at, one] of own.entries()) {
        const ids = refersTo(one).flatMap((name) => /^steps\.([\w-]+)\./.exec(name)?.[1] ?? []);
        for (const id of ids) expect(own.slice(0, at).map((earlier) => earlier.id)).toContain(id);
      }
    }
  });
});

it('the composite action uses each of its inputs', () => {
  const used = new Set(refersTo(gate.runs).filter((name) => name.startsWith('inputs.')));
  expect([...used].sort()).toEqual(
    Object.keys(gate.inputs)
      .map((name) => `inputs.${name}`)
      .sort(),
  );
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
  ['the recipe of the gate', recipe('jobs')],
  ['the composite action', { jobs: { gate: gate.runs } }],
])('%s keeps the database also while the gate is red', (_, found) => {
  const { jobs } = z
    .looseObject({ jobs: z.record(z.string(), z.looseObject({ steps: z.array(step) })) })
    .parse(found);
  const steps = Object.values(jobs).flatMap((one) => one.steps);
  expect(steps.filter(({ uses }) => uses?.startsWith('actions/cache@'))).toEqual([]);
  const saving = steps.findIndex(({ uses }) => uses?.startsWith('actions/cache/save@'));
  const running = steps.findIndex(({ run, id }) => id === 'run' || run?.includes('svc-migrate run'));
  expect(saving).toBeGreaterThan(running);
  expect(steps[saving]?.if).toBe('always()');
});

it('the recipe for GitLab is a job with artifacts', () => {
  const jobs = z.record(
    z.string(),
    z.looseObject({
      script: z.array(z.string()),
      artifacts: z.looseObject({ reports: z.strictObject({ junit: z.string() }) }),
    }),
  );
  expect(() => jobs.parse(recipe('migration-gate'))).not.toThrow();
});

it('the Containerfile copies files that exist', () => {
  const copied = [...read('.ci/Containerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(
    ([, names = '']) => names.split(' '),
  );
  expect(copied.length).toBeGreaterThan(5);
  for (const name of copied) expect(existsSync(`${ROOT}${name.replace(/\/?\*.*$/, '')}`)).toBe(true);
});
