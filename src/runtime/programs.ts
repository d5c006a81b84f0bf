import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Absolute paths of the files below a folder that git tracks although they are ignored; none outside of git. */
export function listTrackedIgnored(folder: string): readonly string[] {
  const paths = git(folder, ['ls-files', '-z', '-c', '-i', '--exclude-standard']) ?? '';
  return paths
    .split('\0')
    .filter((path) => path !== '')
    .map((path) => join(folder, path));
}

/** Runs git without any program that the repository configures; null if it fails or there is no git. */
function git(folder: string, args: readonly string[]): string | null {
  const own = ['-C', folder, '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'];
  const { status, stdout } = spawnSync('git', [...own, ...args], {
    encoding: 'utf8',
    env: { ...process.env, GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' },
    timeout: 60_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  return status === 0 ? stdout : null;
}
