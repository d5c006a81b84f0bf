import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the program once before the tests, into `SVC_DIST` or `dist`, if a source is newer than the last build. */
export default function buildProgram(): void {
  const folder = resolve(ROOT, process.env['SVC_DIST'] ?? 'dist');
  const built = join(folder, 'cli.js');
  if (existsSync(built) && statSync(built).mtimeMs > newestSourceMs()) return;
  // Other runs may use the old build: the new one replaces it at once.
  const fresh = join(ROOT, `.dist-new-${process.pid}`);
  const { status, stderr } = spawnSync('npx', ['--no-install', 'rolldown', '-c', '.rolldown.mjs'], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, SVC_DIST: fresh },
  });
  if (status !== 0) {
    process.stderr.write(`The program could not be built:\n${stderr}\n`);
    return;
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
}

function newestSourceMs(): number {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  return Math.max(...files.map((file) => statSync(join(ROOT, 'src', file)).mtimeMs));
}
