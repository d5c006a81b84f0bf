import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants as files, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { Env } from '../domain.js';
import { describeFileError, errorCodeOf, SvcError } from '../errors.js';

/** Time that a program has to end after a signal was passed on to it, ms. */
const END_WITHIN_MS = 500;

/** The executable file that `command` names: a path, or a name in the folders of `path`; null if there is none. */
export function findProgram(command: string, path = ''): string | null {
  const places = command.includes('/')
    ? [resolve(command)]
    : path.split(delimiter).map((folder) => join(folder, command));
  return places.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, files.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

export interface HookIo {
  readonly env: Env;
  readonly signal: AbortSignal;
}

/**
 * Runs a program of the user, without a shell, and returns its exit code, or the signal that ended it. Its stdin is
 * empty, and what it prints goes to stderr. A signal is passed on to it.
 *
 * @throws SvcError `bad_input` if it cannot be started, `interrupted` unless it succeeded in spite of a signal
 */
export function runHook(
  file: string,
  args: readonly string[],
  { env, signal }: HookIo,
): Promise<number | NodeJS.Signals> {
  const child = spawn(file, args, { env, stdio: ['ignore', 2, 2] });
  return new Promise((done, fail) => {
    const interrupted = () => {
      const isEnded = child.exitCode !== null || child.signalCode !== null;
      const still = isEnded ? 'was stopped' : `may still be running (process ${child.pid})`;
      fail(new SvcError('interrupted', `${file} ${still}.`));
    };
    const pass = () => {
      child.kill(
        signal.reason instanceof Error && signal.reason.message === 'SIGTERM' ? 'SIGTERM' : 'SIGINT',
      );
      setTimeout(interrupted, END_WITHIN_MS).unref();
    };
    signal.addEventListener('abort', pass, { once: true });
    child.on('error', (cause) => {
      const hint = 'It must be a program: an executable file that, if it is a script, begins with #!.';
      // The file itself was found before.
      const isMissing = errorCodeOf(cause) === 'ENOENT';
      const why = isMissing ? 'the interpreter in its first line does not exist' : describeFileError(cause);
      fail(new SvcError('bad_input', `${file} cannot be started: ${why}.`, { hint, cause }));
    });
    child.on('exit', (code, killedBy) => {
      signal.removeEventListener('abort', pass);
      if (signal.aborted && code !== 0) interrupted();
      else done(killedBy ?? code ?? 1);
    });
  });
}

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
