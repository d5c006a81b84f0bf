import { beforeAll, describe, expect, it } from 'vitest';
import { campaignCases } from '../support/campaign.js';
import { serveFile } from '../support/serve-http.js';
import { keysOf, makeFolder } from './run-cli.js';
import { runShell, spawnCli } from './spawn-cli.js';

const silent = serveFile(() => {});
let config: object;

beforeAll(() => {
  const baseUrl = silent.origin;
  config = {
    v3: { regions: { default: { baseUrl } } },
    v4: { baseUrl },
    http: { attempts: 1, timeoutMs: 60_000 },
  };
});

/** Runs the program with a module loaded before it, in the main thread or in the others. */
function runWith(code: string, args: readonly string[], where: 'main' | 'threads' = 'main') {
  const guard = `import { isMainThread } from 'node:worker_threads'; if (isMainThread === ${where === 'main'})`;
  const module = `data:text/javascript,${encodeURIComponent(`${guard} { ${code} }`)}`;
  const env = { ...keysOf('k'), NODE_OPTIONS: `--import ${module}` };
  return spawnCli(args, { cwd: makeFolder(config), env });
}

/** Runs code in the main thread as soon as a command runs, which then listens for signals. */
const onceRunning = (code: string) => `const poll = setInterval(() => {
  if (process.listenerCount("SIGINT") === 0) return;
  clearInterval(poll);
  ${code}
}, 10);`;

const THROW = 'throw new Error("boom");';
const REJECT = 'Promise.reject(new Error("boom"));';

describe.concurrent('an error that nothing catches', () => {
  const ERRORS = [
    ['thrown in the main thread', onceRunning(THROW), 'main'],
    ['rejected in the main thread', onceRunning(REJECT), 'main'],
    ['thrown in a thread', `setTimeout(() => { ${THROW} }, 500);`, 'threads'],
    ['rejected in a thread', `setTimeout(() => { ${REJECT} }, 500);`, 'threads'],
    ['thrown while a thread starts', THROW, 'threads'],
  ] as const;
  it.each(campaignCases(ERRORS, 2))(
    '%s is exit 70, called a bug, and says what to report',
    async (_, code, where) => {
      const { code: exitCode, stderr } = await runWith(code, ['export', 'v3'], where);
      expect(stderr).toMatch(/svc-migrate: this is a bug: Error: boom\n {4}at [\s\S]*\n {2}→ Please report/);
      expect(exitCode).toBe(70);
    },
  );

  it('is hidden by no output that was under way', async () => {
    const { code, stdout } = await runWith('process.on("exit", () => { throw new Error("boom"); });', [
      '--version',
    ]);
    expect([code, stdout]).toEqual([70, expect.stringMatching(/^\d/)]);
  });
});

describe.concurrent('what the machine lacks', () => {
  const OUT_OF_MEMORY = 'WebAssembly.Instance(): Out of memory: Cannot allocate Wasm memory for new instance';
  const LACKS = [
    ['open files', 'Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" })'],
    ['memory for WebAssembly', `new RangeError(${JSON.stringify(OUT_OF_MEMORY)})`],
    ['memory for a buffer', 'new RangeError("Array buffer allocation failed")'],
  ] as const;
  it.each(campaignCases(LACKS, 1))('%s: exit 6, one sentence, no stack', async (_, error) => {
    const { code, stderr } = await runWith(onceRunning(`throw ${error};`), ['export', 'v3']);
    expect(stderr).toMatch(/^svc-migrate: The system .*\.$/m);
    expect(stderr).not.toMatch(/\n\s+at |bug/);
    expect(code).toBe(6);
  });

  it('is said while modules are loaded, too', async () => {
    // How many files Node.js itself opens depends on its version.
    const ended = [];
    for (const limit of [20, 21, 22, 23, 24, 25]) {
      const { code, stderr } = await runShell(`ulimit -n ${limit}; svc-migrate demo`, { cwd: makeFolder() });
      if (stderr.startsWith('svc-migrate: The system')) ended.push({ code, stderr });
      if (ended.length > 0) break;
    }
    expect(ended).toEqual([
      {
        code: 6,
        stderr: expect.stringMatching(
          /^svc-migrate: The system allows this process no more open files\.\n {2}→ Raise/,
        ),
      },
    ]);
  });

  it('is said by the client of the API, which asks for WebAssembly first', async () => {
    const broken = `const fail = () => { throw new RangeError(${JSON.stringify(OUT_OF_MEMORY)}); };
      WebAssembly.compile = async () => fail(); WebAssembly.instantiate = async () => fail();
      WebAssembly.Instance = WebAssembly.Module = function () { fail(); };`;
    const { code, stderr } = await runWith(broken, ['export', 'v3']);
    expect(stderr).toMatch(/^svc-migrate: The system has no memory left/m);
    expect(code).toBe(6);
  });
});
