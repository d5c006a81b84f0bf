import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Ended } from './run-cli.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The built program; `SVC_DIST` names another folder than `dist`. */
export const CLI = join(resolve(ROOT, process.env['SVC_DIST'] ?? 'dist'), 'cli.js');

export interface SpawnOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** null: stdin stays open. */
  readonly input?: string | null;
  /** Called as soon as the process runs. */
  readonly onStart?: (child: ChildProcess) => void;
}

/** Runs the built program as a process, in an environment of its own. */
export function spawnCli(args: readonly string[], options: SpawnOptions): Promise<Ended> {
  return spawnProgram(process.execPath, [CLI, ...args], options);
}

/** Runs a line of bash in which `svc-migrate` is the built program. */
export function runShell(line: string, options: SpawnOptions): Promise<Ended> {
  const program = `svc-migrate() { exec ${JSON.stringify(process.execPath)} ${JSON.stringify(CLI)} "$@"; }`;
  return spawnProgram('bash', ['--norc', '-c', `${program}; ${line}`], options);
}

function spawnProgram(file: string, args: readonly string[], options: SpawnOptions): Promise<Ended> {
  const { PATH = '' } = process.env;
  const child = spawn(file, args, { cwd: options.cwd, env: { PATH, ...options.env }, stdio: 'pipe' });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk) => out.push(chunk));
  child.stderr.on('data', (chunk) => err.push(chunk));
  child.stdin.on('error', () => {});
  if (options.input !== null) child.stdin.end(options.input ?? '');
  options.onStart?.(child);
  return new Promise((done, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) =>
      done({
        code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]),
        stdout: Buffer.concat(out).toString(),
        stderr: Buffer.concat(err).toString(),
      }),
    );
  });
}
