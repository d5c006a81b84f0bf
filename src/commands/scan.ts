import { existsSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config/config.js';
import { findConfigFile } from '../config/load-config.js';
import { SvcError } from '../errors.js';
import type { Serve } from '../runtime/thread.js';
import { runInThread, type ThreadOptions } from '../runtime/threads.js';
import { readVersion } from '../runtime/version.js';
import { writeOutput } from '../runtime/write-output.js';
import { readTraffic } from '../scan/read-traffic.js';
import {
  describeUses,
  renderGitlab,
  renderSarif,
  renderUseAnnotations,
  renderUses,
} from '../scan/render-uses.js';
import { buildScanSettings } from '../scan/rules/rule.js';
import type { ScanRequest } from '../scan/scan-files.js';
import { buildScanReport, type ScanReport, type ScanResult } from '../scan/scan-report.js';
import { plainKindOf } from '../scan/source-text.js';
import { languageOf, SyntaxParser } from '../scan/syntax.js';
import { isOwnJson } from '../scan/walk-files.js';
import { toUrl } from '../text/addresses.js';
import { renderJson } from '../text/escape.js';
import type { scan } from './catalogue/use-commands.js';
import { configFlags, type GivenTo, type Io, type RawOptions } from './command.js';
import { withAnnotations } from './github-actions.js';
import { ownFilesOf, printText } from './with-outputs.js';

export { scanSchema as schema } from '../scan/scan-report.js';

const RENDERERS: Readonly<Record<string, (report: ScanReport) => string>> = {
  json: renderJson,
  sarif: renderSarif,
  gitlab: renderGitlab,
};

type ScanThread = { readonly run: (request: ScanRequest) => Promise<ScanResult> };

/** The thread that parses files. A parser cannot be interrupted, so the thread is terminated soon after a signal. */
const THREAD: ThreadOptions<ScanThread> = {
  name: 'scan',
  module: new URL('./scan.js', import.meta.url),
  end: { afterMs: 500, error: () => new SvcError('interrupted', 'Stopped; nothing was written.') },
};

export const serve: Serve<ScanThread> = (io) => ({
  run: async (request) => {
    const { scanFiles } = await import('../scan/scan-files.js');
    return scanFiles(request, io, await SyntaxParser.create());
  },
});

/**
 * `scan`: finds uses of V3 in source code. Exits with 1 if uses remain that are at least as sure as
 * `--fail-on` says, with 2 if nothing could be read, else with 0.
 */
export async function run(given: GivenTo<typeof scan>, io: Io): Promise<number> {
  return withAnnotations(io, renderUseAnnotations, (onReport) => scanAndJudge(given, io, onReport));
}

async function scanAndJudge(
  given: GivenTo<typeof scan>,
  io: Io,
  onReport: (report: ScanReport) => Promise<void>,
): Promise<number> {
  const { json, sarif, gitlab, traffic } = given.options;
  const outputs = { json, sarif, gitlab };
  const config = isConfigured(given, io) ? await given.config() : null;
  const named = [...Object.values(outputs), traffic].filter((file) => file !== undefined);
  const ownFiles = [...(config === null ? [] : ownFilesOf(config)), ...named];
  const report = await scanSources(given, { config, ownFiles }, io);
  await writeFindings(report, outputs, config !== null, io);
  await onReport(report);
  return report.exitCode;
}

interface ScanScope {
  readonly config: Config | null;
  /** Files that belong to this program; they are not scanned. */
  readonly ownFiles: readonly string[];
}

async function scanSources(
  given: GivenTo<typeof scan>,
  { config, ownFiles }: ScanScope,
  io: Io,
): Promise<ScanReport> {
  const settings = buildScanSettings(config, given.options.v3Host.map(hostOf));
  const paths = given.options.paths.length === 0 ? ['.'] : given.options.paths;
  const hidden = ownFiles.map((file) => resolve(file));
  const request = { paths, folder: resolve('.'), ownFiles: hidden, settings };
  const { failOn } = given.options;
  io.onProgress({ kind: 'stage', name: 'scan' });
  const result = await runInThread(THREAD, io, request);
  const traffic = given.options.traffic;
  const seen = traffic === undefined ? null : await readTraffic(traffic, settings);
  const scale = { seen, failOn, hosts: settings.v3Urls, toolVersion: readVersion() };
  return buildScanReport(result, scale);
}

/** The outputs that would replace source code: an output replaces the file of its name. */
export function listInputs(raw: RawOptions): readonly string[] {
  const targets = Object.keys(RENDERERS).map((name) => raw[name]);
  return targets
    .filter((target) => typeof target === 'string' && target !== '-' && isSource(target))
    .map(String);
}

function isSource(target: string): boolean {
  const isRead = languageOf(target) !== null || plainKindOf(target) !== null;
  const isFile = statSync(target, { throwIfNoEntry: false })?.isFile() === true;
  return isRead && isFile && !isOwnJson(readFileSync(target, 'utf8'));
}

async function writeFindings(
  report: ScanReport,
  outputs: Readonly<Record<string, string | undefined>>,
  isConfigured: boolean,
  io: Io,
): Promise<void> {
  const files = Object.entries(RENDERERS).flatMap(([name, render]) => {
    const target = outputs[name];
    return target === undefined ? [] : [{ target, chunks: () => [render(report)] }];
  });
  for (const file of files) await writeOutput(file, io);
  if (files.length === 0) return printText(renderUses(report, io.width, isConfigured), io);
  io.onProgress({ kind: 'note', level: 'info', text: describeUses(report) });
}

/** Whether a configuration is named or exists; `scan` needs none. */
function isConfigured(given: GivenTo<typeof scan>, io: Io): boolean {
  const isNamed = configFlags(given.raw).config !== undefined || (io.env['SVC_MIGRATE_CONFIG'] ?? '') !== '';
  return isNamed || existsSync(findConfigFile(io.env, undefined));
}

function hostOf(text: string): string {
  if (toUrl(/^https?:\/\//i.test(text) ? text : `https://${text}`) !== null) return text;
  throw new SvcError('usage', `--v3-host takes a host or an address, not "${text}".`);
}
