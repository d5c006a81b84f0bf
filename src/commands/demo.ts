import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { loadConfig } from '../config/load-config.js';
import { SvcError } from '../errors.js';
import { renderText } from '../report/render-text.js';
import { writeText } from '../runtime/write-output.js';
import { type Sandbox, startSandbox } from '../sandbox/start.js';
import type { Io } from './command.js';
import type { Given } from './define-command.js';
import { outputsOf, type ReportOutputs } from './option-values.js';
import { rebuildRemap } from './remap.js';
import { type ReportOptions, writeReport } from './report.js';
import { runExports } from './run.js';

const CONFIG_FILE = 'svc-migrate.config.json';
const FILES = {
  json: 'report.json',
  ndjson: 'findings.ndjson',
  markdown: 'report.md',
  html: 'report.html',
  junit: 'junit.xml',
} as const satisfies ReportOutputs;

interface DemoOptions extends ReportOutputs {
  readonly seed: number;
  readonly output?: string | undefined;
}

/**
 * `demo`: runs a whole migration (both exports over HTTP, remap, report) against a sandbox on a free port. Exits like
 * `check`.
 */
export async function runDemo({ options }: Given<DemoOptions>, io: Io): Promise<number> {
  const folder = makeFolder(options.output);
  const sandbox = await startSandbox({ seed: options.seed });
  try {
    return await runJob(folder, sandbox, outputsOf(options), io);
  } finally {
    await sandbox.close();
  }
}

async function runJob(folder: string, sandbox: Sandbox, outputs: ReportOutputs, io: Io): Promise<number> {
  const file = join(folder, CONFIG_FILE);
  writeFileSync(file, `${JSON.stringify(sandbox.config(), null, 2)}\n`, { mode: 0o600 });
  const { apiKey } = sandbox;
  const demoIo: Io = { ...io, env: { SVC_MIGRATE_V3_API_KEY: apiKey, SVC_MIGRATE_V4_API_KEY: apiKey } };
  const config = loadConfig({ env: {}, flags: { config: file }, nowMs: io.clock.now() });
  const everything = { config, models: [], companies: [], restart: false };
  await runExports(everything, demoIo);
  await rebuildRemap(config, demoIo);
  const toStdout = Object.values(outputs).includes('-');
  const inFolder = Object.entries(FILES).map(([flag, name]) => [flag, join(folder, name)]);
  const files: ReportOutputs = { ...Object.fromEntries(inFolder), ...outputs };
  const options: ReportOptions = { ...everything, outputs: files, ...(toStdout ? {} : { verdict: 'omit' }) };
  return writeReport(options, demoIo, async (report) => {
    if (toStdout) return report.exitCode;
    const closing = { lines: describeFolder(folder), next: 'svc-migrate init' };
    await writeText(io.stdout, [renderText(report, { ...io, closing })]);
    return report.exitCode;
  });
}

function makeFolder(given: string | undefined): string {
  if (given === undefined) return mkdtempSync(join(tmpdir(), 'svc-migrate-demo-'));
  const folder = resolve(given);
  try {
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) return folder;
  } catch (cause) {
    throw new SvcError('bad_input', `The folder ${folder} cannot be created.`, {
      hint: 'Name another one.',
      cause,
    });
  }
  throw new SvcError('bad_input', `The folder ${folder} exists already; nothing was changed.`, {
    hint: 'Name a new one with --output, or leave it out for a temporary folder.',
  });
}

function describeFolder(folder: string): string[] {
  return [
    `This was a rehearsal against a sandbox; its files are in ${folder}:`,
    `  ${CONFIG_FILE}, svc-migrate.db, ${Object.values(FILES).join(', ')}`,
  ];
}
