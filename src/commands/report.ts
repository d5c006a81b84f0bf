import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { buildReport } from '../report/build-report.js';
import { buildVerdict } from '../report/build-verdict.js';
import { renderAnnotations, renderJunit } from '../report/render-ci.js';
import { renderHtml } from '../report/render-html.js';
import { renderMarkdown } from '../report/render-markdown.js';
import { renderNdjson } from '../report/render-rows.js';
import { renderText, renderVerdict } from '../report/render-text.js';
import { type Report, reportSchema } from '../report/report-schema.js';
import { openFile } from '../runtime/programs.js';
import { readVersion } from '../runtime/version.js';
import { assertStdout, type Output, writeOutput, writeText } from '../runtime/write-output.js';
import { readFindings } from '../store/finding-rows.js';
import type { Db } from '../store/open.js';
import { TABLE_PARTS } from '../store/remap-blocks.js';
import type { RemapPart } from '../store/remap-digest.js';
import type { RemapRow, Scope } from '../store/remap-rows.js';
import { readDriftFindings } from '../store/remap-tables.js';
import { readRecordGroups } from '../store/scoped-streams.js';
import { streamJson } from '../text/rows.js';
import { narrowingOf, OUTPUTS, scopeOf } from './catalogue/options.js';
import type * as own from './catalogue/run-commands.js';
import type { GivenTo, Io } from './command.js';
import {
  assertCompanies,
  assertRemapIntact,
  describeOwner,
  isUsedHere,
  readDatabase,
  warnOf,
} from './database.js';
import { assertListsExist } from './described-lists.js';
import { withAnnotations } from './github-actions.js';

/** What reports are made from; `findings` reads them again at each call. */
interface RenderSource {
  readonly report: Report;
  /** Options to add to the command to run next. */
  readonly flags: string | undefined;
  readonly findings: () => Iterable<RemapRow>;
}

/** The formats for files, by the names of their options. */
export const RENDERERS = {
  json: ({ report }: RenderSource) => streamJson(report),
  ndjson: ({ findings }: RenderSource) => renderNdjson(findings()),
  markdown: ({ report, flags }: RenderSource) => renderMarkdown(report, flags),
  html: ({ report, flags }: RenderSource) => renderHtml(report, flags),
  junit: ({ report, flags }: RenderSource) => renderJunit(report, flags),
} as const satisfies Record<string, (source: RenderSource) => Iterable<string>>;

/** Files to write reports to, by format; `-` is stdout. Without any, a readable summary goes to stdout. */
export type ReportOutputs = { readonly [Format in keyof typeof RENDERERS]?: string | undefined };

export interface ReportOptions {
  readonly config: Config;
  readonly outputs: ReportOutputs;
  /** V3 model names to narrow the report to. */
  readonly models?: readonly string[] | undefined;
  /** V3 company ids to narrow the report to. */
  readonly companies?: readonly bigint[] | undefined;
  /**
   * Where the verdict goes if all formats go to files: `print`: to stdout, with what stands in the way; `omit`: nowhere.
   * Default: to stderr, as a note.
   */
  readonly verdict?: 'print' | 'omit';
}

/** `report`: shows what the database holds, without judging it. Exits with 0 unless an error occurs. */
async function runReport(given: GivenTo<typeof own.report>, io: Io): Promise<number> {
  const { options } = given;
  const config = await given.config();
  const page = options.open
    ? (options.html ?? join(mkdtempSync(join(tmpdir(), 'svc-migrate-')), 'report.html'))
    : null;
  if (page === '-') throw new SvcError('usage', '--open needs a file for --html, not stdout.');
  const outputs = { ...outputsOf(options), ...(page === null ? {} : { html: page }) };
  const code = await showReport({ config, ...narrowingOf(options, config), outputs }, io);
  if (page !== null) {
    const said = (await openFile(page)) ? 'Opened' : 'No program was found here to open';
    await writeText(io.stderr, [`${said} ${page}\n`]);
  }
  return code;
}

async function showReport(options: ReportOptions, io: Io): Promise<number> {
  return writeReport(options, io, async (report) => {
    if (report.outcome === 'incomplete') await warnOf(report.blockers, io);
    return 0;
  });
}

/**
 * Builds the report and writes it in every format asked for. Returns the result of `use`, which gets the report while
 * the database that its long sections are read from is open.
 *
 * @throws SvcError as `runReport` and `use` do
 */
export async function writeReport<T>(
  options: ReportOptions,
  io: Io,
  use: (report: Report) => Promise<T>,
): Promise<T> {
  const { config, outputs } = options;
  const targets = Object.values(outputs).filter((target) => target !== undefined);
  const scope = scopeOf(options);
  if (targets.includes('-')) assertStdout();
  io.onProgress({ kind: 'stage', name: 'report' });
  const { text, result } = await readDatabase(config, async (db) => {
    await assertRemapIntact(db, io, partsReadBy(options));
    assertCompanies(db, options.companies);
    const inputs = { config, scope, nowMs: io.clock.now(), toolVersion: readVersion() };
    const report = buildReport(db, inputs);
    const source = { report, flags: io.flags, findings: () => readReportFindings(db, scope) };
    for (const output of listOutputs(outputs, source)) await writeOutput(output, io);
    const rendered = renderForStdout(report, targets, options, io);
    if (rendered === null && options.verdict !== 'omit') noteVerdict(report, targets, io);
    return { text: rendered, result: await use(report) };
  });
  // A pager may keep stdout waiting for hours; the database is closed by now.
  if (text !== null) await writeText(io.stdout, [text]);
  return result;
}

function renderForStdout(
  report: Report,
  targets: readonly string[],
  { verdict, config: { database } }: ReportOptions,
  io: Io,
): string | null {
  const by = describeOwner(database);
  const next = isUsedHere(database) ? 'svc-migrate status' : null;
  const style = { ...io, ...(by === null ? {} : { inUse: { by, next } }) };
  if (targets.length === 0) return renderText(report, style);
  return verdict === 'print' && !targets.includes('-') ? renderVerdict(report, targets, style) : null;
}

/** The parts of the remap that this report reads, and so must verify: counts are in tables, and only findings are rows. */
function partsReadBy({ outputs }: ReportOptions): readonly RemapPart[] {
  return outputs.ndjson === undefined ? TABLE_PARTS : ['rows', 'v3', ...TABLE_PARTS];
}

/** Prints the verdict as a note, so that a log shows it even if all formats go to files. */
function noteVerdict(report: Report, targets: readonly string[], io: Io): void {
  const { title, sentence } = buildVerdict(report);
  const files = targets.filter((target) => target !== '-');
  const where = files.length === 0 ? '' : ` See ${files.join(', ')}.`;
  io.onProgress({ kind: 'note', level: 'info', text: `${title}: ${sentence}${where}` });
}

/** Every row that is not matched, then matched rows whose fields differ. */
function* readReportFindings(db: Db, scope: Scope): Generator<RemapRow> {
  yield* readFindings(db, scope);
  yield* readDriftFindings(db, scope);
}

/** What goes to stdout comes last: unlike a file, it cannot be taken back if another output fails. */
function listOutputs(outputs: ReportOutputs, source: RenderSource): Output[] {
  const targets = new Map<string, string | undefined>(Object.entries(outputs));
  const listed = Object.entries(RENDERERS).flatMap(([flag, render]) => {
    const target = targets.get(flag);
    return target === undefined ? [] : [{ target, chunks: () => render(source) }];
  });
  return listed.sort((a, b) => Number(a.target === '-') - Number(b.target === '-'));
}

/** The files to write reports to, by the names of the renderers. */
export function outputsOf(options: ReportOutputs): ReportOutputs {
  const names = Object.keys(OUTPUTS);
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name)));
}

export interface CheckOptions extends ReportOptions {
  /** Gets the report before the command ends. */
  readonly onReport?: ((report: Report) => Promise<void>) | undefined;
}

/**
 * `check`: writes the report and judges it. Exits with 0 if it passed, 1 if limits are exceeded, 4 if data are
 * incomplete, 5 if there is nothing to compare.
 */
async function runCheck(given: GivenTo<typeof own.check>, io: Io): Promise<number> {
  const { options } = given;
  return withAnnotations(io, renderAnnotations, async (onReport) => {
    const config = await given.config();
    return judgeRemap({ config, ...narrowingOf(options, config), outputs: outputsOf(options), onReport }, io);
  });
}

/** `check`, after the options are parsed. */
export async function judgeRemap(options: CheckOptions, io: Io): Promise<number> {
  await assertBothExist(options.config);
  return writeReport({ ...options, verdict: 'print' }, io, async (report) => {
    await options.onReport?.(report);
    return report.exitCode;
  });
}

/** @throws SvcError `config` if V3 or V4 has none of the configured lists; as `readDatabase` does */
async function assertBothExist(config: Config): Promise<void> {
  const groups = await readDatabase(config, async (db) => readRecordGroups(db));
  for (const generation of ['v3', 'v4'] as const) assertListsExist(generation, groups, config);
}

/** The commands of this module. */
export const report = { run: runReport, schema: reportSchema };
export const check = { run: runCheck, schema: reportSchema };
