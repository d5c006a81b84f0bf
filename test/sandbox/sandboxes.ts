import { afterEach } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/start-sandbox.js';

/** Starts sandboxes, small ones unless told, that are closed after each test of the file. */
export function sandboxStarter(): (options: SandboxOptions) => Promise<Sandbox> {
  const open: Sandbox[] = [];
  afterEach(async () => {
    for (const sandbox of open.splice(0)) await sandbox.close();
  });
  return async (options) => {
    const sandbox = await startSandbox({ scale: 200, ...options });
    open.push(sandbox);
    return sandbox;
  };
}

/** Address of the service's first region. */
export function firstRegion(sandbox: Sandbox): string {
  const [base] = Object.values(sandbox.v3);
  if (base === undefined) throw new Error('The sandbox has no region.');
  return base;
}
