import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const MAX_MS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** Absolute paths of the files below a folder that git tracks although they are ignored; none outside of git. */
export function listTrackedIgnored(folder: string): readonly string[] {
  // A repository that is only looked at must not start programs of its choice.
  const args = [
    '-c',
    'core.fsmonitor=false',
    '-C',
    folder,
    'ls-files',
    '-z',
    '-c',
    '-i',
    '--exclude-standard',
  ];
  try {
    const output = execFileSync('git', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: MAX_MS,
      maxBuffer: MAX_BYTES,
    });
    return output
      .split('\0')
      .filter((path) => path !== '')
      .map((path) => join(folder, path));
  } catch {
    return [];
  }
}
