import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderAnnotation, renderAnnotations } from '../../src/report/render-ci.js';
import { HOSTILE_TEXT } from '../report/sample-report.js';
import { REPORTS } from '../report/sample-reports.js';
import { openProject } from './project.js';
import { runCli } from './run-cli.js';

const { at } = await openProject({ seed: 5, scale: 30 }, (sandbox) => ({ ...sandbox.config(), limits: {} }));

/** Runs a step of a job, with its annotations. */
async function step(...args: readonly string[]) {
  const ended = await runCli(args, { ...at, env: { ...at.env, GITHUB_ACTIONS: 'true' } });
  return { ...ended, annotations: ended.stderr.split('\n').filter((line) => line.startsWith('::')) };
}

describe('in a job of GitHub Actions', () => {
  it('annotates', async () => {
    const { code, annotations, stdout } = await step('run', '--quiet', '--json', 'r.json');
    expect(stdout).toMatch(
      /^What stands in the way\n[\s\S]*\n\nWritten: r\.json\nNOT SAFE TO CUT OVER: .*\n(?:.*\n)*Next: svc-migrate .*\n$/,
    );
    expect(code).toBe(1);
    expect(annotations[0]).toMatch(/^::error title=NOT SAFE TO CUT OVER::.* Next: svc-migrate /);
    expect(annotations.length).toBeGreaterThan(1);
  });

  it('says that there is no result', async () => {
    const { code, annotations } = await step('check', '--model', 'no/such');
    expect(code).toBe(2);
    expect(annotations).toEqual([expect.stringMatching(/^::error title=No result::.*no\/such/)]);
  });

  it('names the configuration in commands, also in files', async () => {
    const flags = ['--config', 'svc-migrate.config.json'];
    const files = ['--junit', 'r.xml', '--markdown', 'r.md', '--html', 'r.html'];
    const { annotations, stdout } = await step('check', ...flags, ...files);
    const next = /\nNext: (.*)\n$/.exec(stdout)?.[1] ?? '';
    expect(next).toMatch(/^svc-migrate .* --config svc-migrate\.config\.json$/);
    expect(annotations[0]?.endsWith(` Next: ${next}`)).toBe(true);
    expect(readFileSync(join(at.cwd, 'r.md'), 'utf8')).toContain(`**Next:** ${next}\n`);
    expect(readFileSync(join(at.cwd, 'r.html'), 'utf8').replace(/<[^>]*>/g, '')).toContain(next);
    const wrong = await step('check', ...flags, '--db', 'none.db', '--junit', 'r.xml');
    for (const text of [wrong.annotations[0], readFileSync(join(at.cwd, 'r.xml'), 'utf8')])
      expect(text).toMatch(/`svc-migrate .* --config svc-migrate\.config\.json --db none\.db`/);
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
