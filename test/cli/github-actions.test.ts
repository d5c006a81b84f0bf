import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderAnnotation, renderAnnotations } from '../../src/report/render-actions.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/start.js';
import { HOSTILE_TEXT } from '../report/sample-report.js';
import { REPORTS } from '../report/sample-reports.js';
import { keysOf, makeFolder, runCli } from './run-cli.js';

let sandbox: Sandbox;
let cwd: string;

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 5, scale: 30 });
  cwd = makeFolder({ ...sandbox.config(), limits: {} });
});
afterAll(() => sandbox.close());

/** Runs a step of a job; what it adds to the runner's files. */
async function step(...args: readonly string[]) {
  const env = {
    ...keysOf(sandbox.apiKey),
    GITHUB_ACTIONS: 'true',
    GITHUB_OUTPUT: join(cwd, 'output'),
    GITHUB_STEP_SUMMARY: join(cwd, 'summary.md'),
  };
  writeFileSync(env.GITHUB_OUTPUT, 'of-another-step=1\n');
  writeFileSync(env.GITHUB_STEP_SUMMARY, '# Another step\n');
  const ended = await runCli(args, { cwd, env });
  const annotations = ended.stderr.split('\n').filter((line) => line.startsWith('::'));
  const [outputs, summary] = [env.GITHUB_OUTPUT, env.GITHUB_STEP_SUMMARY].map((file) =>
    readFileSync(file, 'utf8'),
  );
  return { ...ended, annotations, outputs, summary };
}

describe('in a job of GitHub Actions', () => {
  it('annotates, adds to the job summary and sets outputs', async () => {
    const { code, annotations, outputs, summary, stdout } = await step('run', '--quiet', '--json', 'r.json');
    expect(stdout).toMatch(
      /^What stands in the way\n[\s\S]*\n\nWritten: r\.json\nNOT SAFE TO CUT OVER: .*\n(?:.*\n)*Next: svc-migrate .*\n$/,
    );
    const report = JSON.parse(readFileSync(join(cwd, 'r.json'), 'utf8'));
    expect(code).toBe(1);
    expect(annotations[0]).toMatch(/^::error title=NOT SAFE TO CUT OVER::.* Next: svc-migrate /);
    expect(annotations.length).toBeGreaterThan(1);
    expect(outputs).toMatch(/^of-another-step=1\noutcome=fail\nexit-code=1\nv3-ids=\d+\nmatched=\d+\n/);
    expect(outputs).toContain(`\nunmatched=${report.totals.v3ByStatus.unmatched}\n`);
    expect(summary).toMatch(/^# Another step\n[\s\S]*NOT SAFE TO CUT OVER/);
  });

  it('does none of it where it is switched off, and no summary twice', async () => {
    const off = ['--no-annotations', '--no-job-summary', '--no-job-outputs'];
    const quiet = await step('check', ...off);
    expect(quiet.annotations).toEqual([]);
    expect([quiet.outputs, quiet.summary]).toEqual(['of-another-step=1\n', '# Another step\n']);
    const own = await step('check', '--markdown', 'summary.md');
    expect(own.summary?.match(/NOT SAFE TO CUT OVER/g)).toHaveLength(1);
  });

  it('says that there is no result', async () => {
    const { code, annotations, outputs } = await step('check', '--model', 'no/such');
    expect(code).toBe(2);
    expect(annotations).toEqual([expect.stringMatching(/^::error title=No result::.*no\/such/)]);
    expect(outputs).toBe('of-another-step=1\noutcome=error\nexit-code=2\n');
  });

  it('keeps JSON on stdout whole', async () => {
    const { stdout } = await step('check', '--json', '-');
    expect(JSON.parse(stdout).outcome).toBe('fail');
  });
});

describe('annotations', () => {
  it.each(REPORTS)('are commands of one line each, at most ten, with %s', (_, report) => {
    const lines = renderAnnotations(report).trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(10);
    for (const line of lines) expect(line).toMatch(/^::(notice|warning|error) title=[^:,\r\n]+::[^\r\n]+$/);
    expect(lines.filter((line) => /[^.]\.\. /.test(line))).toEqual([]);
  });

  it('let no text begin a command', () => {
    const text = renderAnnotation('error', `a::b,c%0A${HOSTILE_TEXT}`, '1\n::stop-commands::x\r::error::y');
    expect(text.trimEnd()).not.toMatch(/[\r\n]/);
    expect(text).toMatch(/^::error title=a%3A%3Ab%2Cc%250A/);
  });
});
