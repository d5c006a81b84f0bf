import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { CAMPAIGN_SIZE } from './support/campaign.js';
import { makeFastFolder } from './support/fast-folder.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Of one test; a campaign on a busy machine may need minutes. */
const TIMEOUT_MS = { small: 120_000, full: 900_000, soak: 3_600_000 } as const;

/** The test files of `npm test`, `npm run test:campaign` and `npm run soak`. */
const FILES = {
  small: () => listTestFiles().filter((file) => !isOnline(file) && !isCampaign(file)),
  full: () => listTestFiles().filter((file) => isOnline(file) || isCampaign(file) || does(file, 'full')),
  soak: () => listTestFiles().filter((file) => does(file, 'soak')),
} as const;

/** Whether a test file does more at a size than at the smaller ones. */
function does(file: string, size: 'full' | 'soak'): boolean {
  const text = readTestFile(file);
  if (!text.includes('/campaign.js')) return false;
  return text.includes(`${size}: `) || (size === 'full' && text.includes('campaignCases('));
}

/** Whether the tests of a file need the npm registry. */
function isOnline(file: string): boolean {
  return file.endsWith('.online.test.ts');
}

/**
 * Whether a file is run at full size only: it measures time and memory, waits long, opens a browser or a terminal, installs or packs
 * the program, or holds a format to its schema, which decides nothing about an id.
 */
function isCampaign(file: string): boolean {
  return file.endsWith('.campaign.test.ts');
}

/** What leaves traces in a process, or measures it. Files without these share processes: each saves a third of a second. */
const NEEDS_PROCESS =
  /\bnock\b|nock-hosts|\bvi\.(mock|spyOn|stub)|support\/(serve|engines)\.js|process\.(env|on)\b|memoryUsage|cpuUsage|global\.gc|expose-gc/;

function needsProcess(file: string): boolean {
  return CAMPAIGN_SIZE === 'soak' || NEEDS_PROCESS.test(readTestFile(file));
}

function readTestFile(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function listTestFiles(): string[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name));
}

/**
 * Gives tests the built modules for those of `src`: Node.js loads and runs them as they are, where Vitest would transform
 * each. While it watches, Vitest needs the sources to know what to run again.
 */
const builtModules: Plugin = {
  name: 'built-modules',
  enforce: 'pre',
  apply: () => process.argv.includes('run'),
  resolveId: (id, importer) => {
    if (importer === undefined || !id.startsWith('.')) return null;
    const file = resolve(dirname(importer), id);
    return file.startsWith(join(ROOT, 'src/')) ? file.replace(join(ROOT, 'src'), join(ROOT, 'dist')) : null;
  },
};

const files = FILES[CAMPAIGN_SIZE]();

/**
 * Options of Node.js 20 for small tests: little of their code runs so often that it gains by V8's optimizing compiler, which
 * takes a tenth of their time. Here it waits longer.
 */
const OPTIMIZE_LATER =
  CAMPAIGN_SIZE === 'small' && process.version.startsWith('v20.') ? ['--interrupt-budget=400000'] : [];

/**
 * Of campaigns, the files that work longest go first, so that none goes on alone at the end: what waits for the registry,
 * then the short files, which are one campaign and nothing else.
 */
class CampaignsFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    if (CAMPAIGN_SIZE === 'small') return super.sort(specs);
    const places = specs.map((spec) => {
      const text = readFileSync(spec.moduleId, 'utf8');
      return { spec, project: spec.project.name, length: isOnline(spec.moduleId) ? 0 : text.length };
    });
    places.sort((a, b) => a.project.localeCompare(b.project) || a.length - b.length);
    return places.map(({ spec }) => spec);
  }
}

/** Holds all temporary files of this run. */
const temporary = makeFastFolder();
process.env['TMPDIR'] = temporary;
process.on('exit', () => rmSync(temporary, { recursive: true, force: true }));

export default defineConfig({
  plugins: [builtModules],
  test: {
    root: ROOT,
    projects: [
      { extends: true, test: { name: 'alone', include: files.filter(needsProcess) } },
      {
        extends: true,
        test: {
          name: 'shared',
          include: files.filter((file) => !needsProcess(file)),
          isolate: false,
          execArgv: OPTIMIZE_LATER,
        },
      },
    ],
    testTimeout: TIMEOUT_MS[CAMPAIGN_SIZE],
    hookTimeout: 120_000,
    pool: 'forks',
    sequence: { sequencer: CampaignsFirst },
    // Most tests wait for processes and sockets: more files at once than there may be cores.
    maxWorkers: CAMPAIGN_SIZE === 'soak' ? 2 : 3,
    // Modules of the built program are loaded as they are.
    server: { deps: { external: [/\/dist\//] } },
    // `.ci/run` counts from the JSON files.
    reporters:
      process.env['CI'] === undefined
        ? ['default']
        : ['default', ['json', { outputFile: `.vitest/${process.env['SVC_REPORT'] ?? CAMPAIGN_SIZE}.json` }]],
  },
});
