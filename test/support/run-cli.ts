import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chdir, cwd } from 'node:process';
import { Readable, Writable } from 'node:stream';
import type { ProgramHost } from '../../src/program.js';

export interface Ended {
  /** As a shell sees it: 128 + its number where a signal ended it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Columns of the terminal that stdin and stderr are; without it, they are none. */
  readonly columns?: number;
  readonly signal?: AbortSignal;
}

/** Command lines with a folder run one after the other: a process has one working directory. */
let last: Promise<unknown> = Promise.resolve();

/** Runs a command line in this process. Use `spawnCli` if the test is about signals, pipes or the process itself. */
export function runCli(args: readonly string[], options: RunOptions): Promise<Ended> {
  const ended = last.then(() => runHere(args, options));
  last = ended.catch(() => {});
  return ended;
}

async function runHere(args: readonly string[], options: RunOptions): Promise<Ended> {
  const before = cwd();
  chdir(options.cwd);
  try {
    return await runAnywhere(args, options);
  } finally {
    chdir(before);
  }
}

/** Runs a command line that names no relative path, at the same time as others. */
export async function runAnywhere(args: readonly string[], options: Omit<RunOptions, 'cwd'>): Promise<Ended> {
  const { runProgram } = await import('../../src/program.js');
  const stdout = new Collector();
  const stderr = new Collector();
  if (options.columns !== undefined) Object.assign(stderr, { isTTY: true, columns: options.columns });
  const host: ProgramHost = {
    stdout,
    stderr,
    env: { PATH: process.env['PATH'], ...options.env },
    signal: options.signal ?? new AbortController().signal,
    openInput: () =>
      Object.assign(Readable.from([options.input ?? '']), { isTTY: options.columns !== undefined }),
    runUninterruptible: async (work) => work(),
  };
  const code = await runProgram(args, host);
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Collector extends Writable {
  readonly #chunks: Buffer[] = [];

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }
}

/** A new folder, with a configuration if one is given. */
export function makeFolder(config?: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  if (config !== undefined) {
    writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(config, null, 2));
  }
  return folder;
}

/** Files of a folder, without SQLite's side files. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !/-(journal|wal|shm|writer)$/.test(name))
    .sort();
}

/** Keys under the names that configurations expect. */
export function keysOf(key: string): Record<string, string> {
  return { SVC_MIGRATE_V3_API_KEY: key, SVC_MIGRATE_V4_API_KEY: key };
}
