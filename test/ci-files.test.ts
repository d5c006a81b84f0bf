import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

it('the scripts and workflows of CI can be read', () => {
  for (const script of ['run', 'on-node'])
    expect(spawnSync('bash', ['-n', join(ROOT, '.ci', script)]).status).toBe(0);
  const files = readdirSync(join(ROOT, '.github'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.yml'),
  );
  expect(files.length).toBeGreaterThanOrEqual(3);
  for (const file of files)
    expect(parse(readFileSync(join(ROOT, '.github', file), 'utf8')), file).toBeTypeOf('object');
});

/** What `count.js` prints last, and its exit code, for the status of the commands and the statuses of tests. */
function count(status: string, ...tests: readonly string[]): readonly [string | undefined, number | null] {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-count-')), 'small.json');
  const assertionResults = tests.map((result, at) => ({
    status: result,
    fullName: `t${at}`,
    failureMessages: ['why'],
  }));
  writeFileSync(
    file,
    JSON.stringify({ testResults: [{ name: '/x/test/a.test.ts', status: 'passed', assertionResults }] }),
  );
  const ended = spawnSync(process.execPath, [join(ROOT, '.ci/count.js'), status, file], { encoding: 'utf8' });
  return [ended.stdout.trimEnd().split('\n').at(-1), ended.status];
}

it.each([
  [['0', 'passed', 'passed', 'skipped'], '2 passed, 0 failed', 0],
  [['1', 'passed', 'failed'], '1 passed, 1 failed', 1],
  [['1', 'passed'], '1 passed, 1 failed', 1],
  [['0', 'skipped'], '0 passed, 1 failed', 1],
] as const)('%j counts as %s', ([status, ...tests], line, code) => {
  expect(count(status, ...tests)).toEqual([line, code]);
});
