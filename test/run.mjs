// `npm test` checks the code, builds it and runs every test. `npm test -- FILE …` builds and runs these test files only;
// so do `npm run test:campaign` and `npm run soak` with theirs. In CI, a few files that failed are run once more, by themselves.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const VITEST = ['run', '--config', 'test/vitest.config.ts'];
const REPORT = process.env.SVC_REPORT ?? process.env.CAMPAIGN ?? 'small';
/** More failed files than the noise of a busy machine explains are not run again. */
const MOST_AGAIN = 3;

process.chdir(ROOT);
const args = process.argv.slice(2);
const isWhole = args.length === 0 && process.env.CAMPAIGN === undefined;
// The tests do not wait for the types: the compiler has one thread, and fills the time that they spend waiting.
const types = isWhole ? typecheck() : null;
const failed = await inOrder(...(isWhole ? [lint, unused, build] : [build]));
if (failed.length > 0) giveUp([...failed, await types], ' No test was run.');
// Ctrl-C reaches Vitest too, which ends in order.
process.on('SIGINT', () => {});
let code = await runTests(args, REPORT);
const again = code !== 0 && process.env.CI !== undefined ? failedFiles() : [];
if (again.length > 0 && again.length <= MOST_AGAIN) code = await runTests(again, `${REPORT}-again`);
const wrong = await types;
if (wrong !== null) giveUp([wrong]);
process.exit(code);

async function runTests(names, report) {
  const env = { ...process.env, SVC_REPORT: report };
  const [status] = await once(
    spawn(tool('vitest'), [...VITEST, ...names], { stdio: 'inherit', env }),
    'exit',
  );
  return status ?? 1;
}

/** The test files that the report names as failed. */
function failedFiles() {
  const file = `.vitest/${REPORT}.json`;
  if (!existsSync(file)) return [];
  const { testResults } = JSON.parse(readFileSync(file, 'utf8'));
  return testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
}

function giveUp(names, result = '') {
  process.stderr.write(`Failed: ${names.filter((name) => name !== null).join(', ')}.${result}\n`);
  process.exit(1);
}

/** Names of the steps that failed. */
async function inOrder(...all) {
  const names = [];
  for (const step of all) names.push(await step());
  return names.filter((name) => name !== null);
}

function lint() {
  return check('lint', 'biome', ['ci', '--error-on-warnings', '.']);
}

function unused() {
  return check('unused', 'knip', []);
}

function typecheck() {
  return check('typecheck', 'tsc', ['-b', 'test/tsconfig.json']);
}

async function build() {
  // The compiler leaves the output of a source file that is gone.
  if (hasOrphans('dist')) rmSync('dist', { recursive: true });
  const failure = await check('build', 'tsc', ['-b', 'tsconfig.json']);
  if (failure !== null) return failure;
  const bundled = await check('bundle', 'rolldown', ['-c', '.rolldown.mjs']);
  if (bundled !== null) return bundled;
  cpSync('src/docs', 'dist/docs', { recursive: true, filter: (file) => !file.endsWith('.ts') });
  return runToEnd(process.execPath, ['dist/write-assets.js']) === 0 ? null : 'schemas and manual page';
}

function hasOrphans(folder) {
  if (!existsSync(folder)) return false;
  const scripts = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.js'));
  const compiled = scripts.filter((file) => !file.startsWith('bundle'));
  return compiled.some((file) => !existsSync(join('src', file.replace(/\.js$/, '.ts'))));
}

/** Runs a tool and prints its output if it fails. Resolves to the name of the step if it failed, else to null. */
function check(name, program, programArgs) {
  const startedMs = performance.now();
  const child = spawn(tool(program), programArgs, { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = [];
  child.stdout.on('data', (chunk) => said.push(chunk));
  child.stderr.on('data', (chunk) => said.push(chunk));
  return new Promise((resolve) => {
    child.on('close', (code) => {
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
      process.stdout.write(`${name}: ${code === 0 ? 'ok' : 'failed'} (${seconds} s)\n`);
      if (code !== 0) process.stdout.write(Buffer.concat(said));
      resolve(code === 0 ? null : name);
    });
  });
}

function runToEnd(program, programArgs) {
  return spawnSync(program, programArgs, { stdio: 'inherit' }).status ?? 1;
}

function tool(name) {
  return join('node_modules', '.bin', name);
}
