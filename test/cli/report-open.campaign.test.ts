import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openProject } from './project.js';
import { spawnCli } from './spawn-cli.js';

const { at, cwd, run } = await openProject({ seed: 5, scale: 30 });

it.skipIf(process.platform !== 'linux')('report --open opens the page that it wrote', async () => {
  // What a desktop calls to open a file.
  writeFileSync(
    join(cwd, 'xdg-open'),
    `#!/bin/sh\ncp "$1" "${cwd}/opened.html.part"\nmv "${cwd}/opened.html.part" "${cwd}/opened.html"\n`,
    { mode: 0o755 },
  );
  const env = { ...at.env, PATH: `${cwd}:${process.env['PATH']}` };
  await run('run', '--quiet');
  expect((await spawnCli(['report', '--open', '--html', 'page.html'], { cwd, env })).code).toBe(0);
  await expect.poll(() => existsSync(join(cwd, 'opened.html')), { timeout: 10_000 }).toBe(true);
  expect(readFileSync(join(cwd, 'opened.html'), 'utf8')).toBe(readFileSync(join(cwd, 'page.html'), 'utf8'));
  const without = await spawnCli(['report', '--open'], { cwd, env: { ...env, PATH: '/nowhere' } });
  expect(without).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/No program was found here to open .*report\.html/),
  });
  // As on a machine without a desktop.
  writeFileSync(join(cwd, 'xdg-open'), '#!/bin/sh\nexit 3\n', { mode: 0o755 });
  const headless = await spawnCli(['report', '--open'], { cwd, env });
  expect(headless.stderr).toMatch(/No program was found here to open .*report\.html/);
});
