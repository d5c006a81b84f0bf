import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Ended } from './run-cli.js';

/** The built program. */
export const BIN = fileURLToPath(new URL('../../bin/svc-migrate.js', import.meta.url));

export interface SpawnOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** null: stdin stays open. */
  readonly input?: string | null;
  /** Sees the process as soon as it runs. */
  readonly onStart?: (child: ChildProcess) => void;
}

/** Runs the built program as a process, in an environment of its own. */
export function spawnCli(args: readonly string[], options: SpawnOptions): Promise<Ended> {
  return run(process.execPath, [BIN, ...args], options);
}

/** Runs a line of a shell in which `svc-migrate` is the built program. */
export function runShell(line: string, options: SpawnOptions): Promise<Ended> {
  const program = `svc-migrate() { exec ${JSON.stringify(process.execPath)} ${JSON.stringify(BIN)} "$@"; }`;
  return run('bash', ['--norc', '-c', `${program}; ${line}`], options);
}

function run(file: string, args: readonly string[], options: SpawnOptions): Promise<Ended> {
  const { PATH = '' } = process.env;
  const child = spawn(file, args, { cwd: options.cwd, env: { PATH, ...options.env }, stdio: 'pipe' });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk) => out.push(chunk));
  child.stderr.on('data', (chunk) => err.push(chunk));
  child.stdin.on('error', () => {});
  if (options.input !== null) child.stdin.end(options.input ?? '');
  options.onStart?.(child);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) =>
      resolve({
        code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]),
        stdout: Buffer.concat(out).toString(),
        stderr: Buffer.concat(err).toString(),
      }),
    );
  });
}
