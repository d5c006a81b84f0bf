import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveFile } from '../support/serve-http.js';

// Needs the npm registry: `npm run test:campaign` runs it, `npm test` does not.

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PLATFORM = `${process.platform}-${process.arch}`;
const MINUTES_MS = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-install-'));
let tarball: string;

beforeAll(async () => {
  tarball = await pack(ROOT, '--ignore-scripts');
}, 2 * MINUTES_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What was compiled when the packages of this clone were installed: on Node.js before 22.14. */
const COMPILED = join(ROOT, 'bin/sqlite-node20/node_modules/better-sqlite3');
const RELEASE = 'build/Release/better_sqlite3.node';
const canServe = existsSync(join(COMPILED, RELEASE));

/** Serves it as better-sqlite3's own builds are, so that it is not compiled once more. */
const builds = serveFile(({ url = '' }, response) => {
  if (/^\/v12\.[\d.]+\/better-sqlite3-v12\.[\d.]+-node-v115-[\w-]+\.tar\.gz$/.test(url))
    spawn('tar', ['cz', '-C', COMPILED, RELEASE]).stdout.pipe(response);
  else response.writeHead(404).end();
});

/** Runs a program to its end with this Node first on the PATH. Resolves to its stdout; rejects with its output if it fails. */
async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  nodeFolder?: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  // What the npm that runs this test has set for itself does not concern the installation.
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_(?!config_cafile)/i.test(name));
  const path = [...(nodeFolder === undefined ? [] : [nodeFolder]), process.env['PATH']].join(delimiter);
  const { stdout } = await promisify(execFile)(program, args, {
    cwd,
    env: { ...Object.fromEntries(kept), ...settings, PATH: path },
    maxBuffer: 1 << 24,
  });
  return stdout;
}

/** Packs a folder or a package of the registry; the path of the tarball. */
async function pack(what: string, ...options: readonly string[]): Promise<string> {
  const printed = await run('npm', ['pack', '--silent', ...options, what], folder);
  return join(folder, printed.trim().split('\n').at(-1) ?? '');
}

/** The folder of the executables of a Node that comes from npm. */
async function fetchNode(major: string): Promise<string> {
  const unpacked = join(folder, `node${major}`);
  mkdirSync(unpacked);
  await run(
    'tar',
    ['xzf', await pack(`node-${PLATFORM}@${major}`), '-C', unpacked, '--strip-components=1'],
    folder,
  );
  return join(unpacked, 'bin');
}

/** An empty project with the packed svc-migrate installed; npm itself runs on that Node, too. */
async function install(
  major: string,
  ...options: readonly string[]
): Promise<{ project: string; bin: string }> {
  const bin = await fetchNode(major);
  const project = mkdtempSync(join(folder, `project${major}-`));
  writeFileSync(join(project, 'package.json'), '{"private":true}');
  await run('npm', ['install', '--prefix', project, ...options, tarball], project, bin);
  return { project, bin };
}

// At once: they wait for the registry.
describe.concurrent('the packed program, installed in an empty folder', () => {
  it.each(['22', '24'])(
    'runs the demo on Node %s, with nothing compiled',
    async (major) => {
      const { project, bin } = await install(major, '--ignore-scripts');
      const printed = await run(join(project, 'node_modules/.bin/svc-migrate'), ['demo'], project, bin);
      expect(printed).toMatch(/^SAFE TO CUT OVER/m);
      const example =
        "import { openRemap } from 'svc-migrate'; import { existsSync, readFileSync } from 'node:fs';" +
        "await import('svc-migrate/schema/report.schema.json', { with: { type: 'json' } });" +
        "const { $schema } = JSON.parse(readFileSync('svc-migrate.config.jsonc', 'utf8').replace(/^ *\\/\\/.*$/gm, '').replace(/,(\\s*[}\\]])/g, '$1'));" +
        "console.log(typeof openRemap, $schema, existsSync($schema), existsSync('node_modules/svc-migrate/man/svc-migrate.1'));";
      await run(join(project, 'node_modules/.bin/svc-migrate'), ['init'], project, bin);
      const ran = await run('node', ['--input-type=module', '-e', example], project, bin);
      expect(ran).toBe('function ./node_modules/svc-migrate/schema/config.schema.json true true\n');
      expect(existsSync(join(project, 'node_modules/better-sqlite3/build'))).toBe(false);
      expect(existsSync(join(project, 'node_modules/svc-migrate/bin/sqlite-node20/node_modules'))).toBe(
        false,
      );
    },
    5 * MINUTES_MS,
  );

  it.skipIf(!canServe)(
    'names the command that helps on Node 20 where install scripts are blocked, and that command helps',
    async () => {
      const { project, bin } = await install('20', '--ignore-scripts');
      const program = join(project, 'node_modules/.bin/svc-migrate');
      const refusal = await run(program, ['demo'], project, bin).catch((error) => error);
      expect(refusal).toMatchObject({ code: 6 });
      const command = /Run `node "(.+?)"`/.exec(refusal.stderr)?.[1] ?? 'no command';
      await run('node', [command], project, bin, {
        npm_config_better_sqlite3_binary_host: builds.origin,
        npm_config_cache: join(folder, 'cache'),
      });
      expect(await run(program, ['demo'], project, bin)).toMatch(/^SAFE TO CUT OVER/m);
    },
    10 * MINUTES_MS,
  );

  it(
    'is published without a warning but that nobody is logged in',
    async () => {
      // The user's own settings do not concern the package.
      const line = `npm publish --userconfig=none --dry-run --ignore-scripts '${tarball}' 2>&1`;
      const warnings = (await run('bash', ['-c', line], folder)).match(/^npm (?:warn|error).*$/gim) ?? [];
      expect(warnings.filter((text) => !text.includes('requires you to be logged in'))).toEqual([]);
    },
    2 * MINUTES_MS,
  );

  it(
    'says in one sentence that Node 18 is too old',
    async () => {
      const { project, bin } = await install('18', '--ignore-scripts');
      const program = join(project, 'node_modules/.bin/svc-migrate');
      const refusal = await run(program, ['demo'], project, bin).catch((error) => error);
      expect(refusal.stderr).toMatch(
        /^svc-migrate needs Node\.js 20\.18\.1 or later; this is 18\.[\d.]+\.\n$/,
      );
      expect(refusal.code).toBe(2);
    },
    5 * MINUTES_MS,
  );
});
