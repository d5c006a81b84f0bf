import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import { CAMPAIGN_SIZE } from './support/campaign.js';
import { makeFastFolder } from './support/fast-folder.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Of one test; a campaign on a busy machine may need minutes. */
const TIMEOUT_MS = { small: 120_000, full: 900_000, soak: 3_600_000 } as const;

/** Loads .sql, .md and .jsonc files as texts, as the build does. */
const texts: Plugin = {
  name: 'texts',
  enforce: 'pre',
  load: (id) =>
    /\.(sql|md|jsonc)$/.test(id) ? `export default ${JSON.stringify(readFileSync(id, 'utf8'))};` : null,
};

/**
 * The test files of a run. `npm test` runs all but `*.campaign.test.ts`; at larger sizes, those and the files with a
 * campaign of that size.
 */
const FILES = {
  small: (file: string) => !isCampaign(file),
  full: (file: string) => isCampaign(file) || hasSize(file, 'full') || hasSize(file, 'soak'),
  soak: (file: string) => hasSize(file, 'soak'),
} as const;

/** Whether a file measures time or memory, waits long, opens a browser, or installs the program. */
function isCampaign(file: string): boolean {
  return file.endsWith('.campaign.test.ts');
}

function hasSize(file: string, size: 'full' | 'soak'): boolean {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return text.includes('/campaign.js') && new RegExp(`\\b${size}: |campaignCases\\(`).test(text);
}

/** Whether a test of this run imports a support file; file names on the command line narrow a run. */
function imports(files: readonly string[], support: string): boolean {
  const names = process.argv.slice(2).filter((word) => word.includes('.test.ts') || word.endsWith('/'));
  const selected = files.filter((file) => names.length === 0 || names.some((name) => file.includes(name)));
  return selected.some((file) => readFileSync(join(ROOT, file), 'utf8').includes(support));
}

const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test', name))
  .filter(FILES[CAMPAIGN_SIZE]);

/** Holds all temporary files of this run, in memory if possible: tests commit tens of thousands of times. */
const temporary = makeFastFolder();
process.env['TMPDIR'] = temporary;
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }));

export default defineConfig({
  plugins: [texts],
  test: {
    root: ROOT,
    include: files,
    globalSetup: [
      ...(imports(files, 'spawn-cli') ? ['test/support/build-program.ts'] : []),
      ...(imports(files, 'support/servers') ? ['test/apply/support/launch-servers.ts'] : []),
    ],
    testTimeout: TIMEOUT_MS[CAMPAIGN_SIZE],
    hookTimeout: 120_000,
    // Other programs on a machine of CI can make a test of time fail once.
    retry: process.env['CI'] === undefined ? 0 : 1,
    // Threads cannot change their working directory. Files of a worker share the modules they import, so that each is
    // transformed and compiled once: tests must undo what they change of the process.
    pool: 'forks',
    isolate: false,
    // Most tests wait for processes and sockets: more files at once than there may be cores.
    maxWorkers: CAMPAIGN_SIZE === 'soak' ? 2 : 3,
    // `.ci/run` counts from the JSON files.
    reporters:
      process.env['CI'] === undefined
        ? ['default']
        : ['default', ['json', { outputFile: `.vitest/${process.env['SVC_REPORT'] ?? CAMPAIGN_SIZE}.json` }]],
  },
});
