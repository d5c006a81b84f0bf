import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { type Ended, keysOf, makeFolder, runCli } from './run-cli.js';

/** A service and a folder with a configuration for it, until the tests of the file are done. */
export interface Project {
  readonly sandbox: Sandbox;
  /** Where commands run: the folder, and the service's keys. */
  readonly at: { readonly cwd: string; readonly env: Readonly<Record<string, string>> };
  readonly cwd: string;
  /** Runs a command line in this process. */
  readonly run: (...args: readonly string[]) => Promise<Ended>;
}

/** @param change makes the configuration from that of the service */
export async function openProject(
  options: SandboxOptions,
  change: (sandbox: Sandbox) => object = (sandbox) => sandbox.config(),
): Promise<Project> {
  const sandbox = await startSandbox(options);
  afterAll(() => sandbox.close());
  const cwd = makeFolder();
  writeFileSync(join(cwd, 'svc-migrate.config.json'), JSON.stringify(change(sandbox)));
  const at = { cwd, env: keysOf(sandbox.apiKey) };
  return { sandbox, at, cwd, run: (...args) => runCli(args, at) };
}
