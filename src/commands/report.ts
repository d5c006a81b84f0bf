import { Command } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import type { Report } from '../report/report-schema.js';
import type { Scope } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import type { DefineCommand, Io, Result } from './command.js';
import { narrowingOf, repeatable, repeatableId } from './options.js';

export const REPORT_OUTPUTS = ['json', 'ndjson', 'markdown', 'html', 'junit'] as const;

/** Starts the definition of a command that ends with a report: its scope and its files. */
export const defineReporting = (name: string) =>
  new Command(name)
    .option('--model <path>', 'only this V3 model (repeatable)', repeatable)
    .option('--company <id>', 'only this V3 company (repeatable)', repeatableId)
    .option('--json <file>', 'write the report as JSON (- is stdout)')
    .option('--ndjson <file>', 'write every finding, one a line')
    .option('--markdown <file>', 'write the report as Markdown')
    .option('--html <file>', 'write the report as one HTML page')
    .option('--junit <file>', 'write limits and lists as JUnit XML');

export const reportCommand: DefineCommand = (run) =>
  defineReporting('report')
    .summary('what matched and what did not, and why; no network')
    .description(
      'Shows what the last remap found. It works on incomplete and outdated data and says so; only check judges.',
    )
    .addHelpText('after', '\nExample:\n  svc-migrate report --html report.html')
    .action((options, command) =>
      run(command, REPORT_OUTPUTS, async (io) => {
        const config = await io.config();
        const scope = narrowingOf(options, config);
        const report = await readReport(io, config, scope);
        if (report.outcome === 'incomplete') {
          for (const { text } of report.blockers) io.onProgress({ kind: 'note', level: 'warning', text });
        }
        return { ...(await printReport(report, config, scope)), exitCode: 0 };
      }),
    );

/** @param inspect runs first, on the same snapshot */
export async function readReport(
  io: Io,
  config: Config,
  scope: Required<Scope>,
  inspect: (db: Db) => void = () => {},
): Promise<Report> {
  io.onProgress({ kind: 'stage', name: 'report' });
  const { buildReport } = await import('../report/build-report.js');
  const { readDatabase } = await import('./database.js');
  return readDatabase(config, (db) => {
    inspect(db);
    assertCompanies(db, scope.companies);
    return buildReport(db, { config, scope, nowMs: io.clock.now(), toolVersion: io.version });
  });
}

/** @throws SvcError `usage` if the remap does not know a company */
export function assertCompanies(db: Db, companies: readonly bigint[]): void {
  const find = db.prepare('select 1 from company where v3_company_id = ?');
  if (db.prepare('select 1 from remap_run').get() === undefined) return;
  for (const id of companies) {
    if (find.get(id) !== undefined) continue;
    throw new SvcError('usage', `The database has no V3 company ${id}.`, {
      hint: '`svc-migrate report --verbose` lists them.',
    });
  }
}

export async function printReport(report: Report, config: Config, scope: Scope): Promise<Result> {
  const { buildDocument } = await import('../report/document.js');
  const { readFindingLines } = await import('./remap-lines.js');
  const { renderHtml } = await import('../report/render-html.js');
  const { renderJunit } = await import('../report/render-junit.js');
  const { renderMarkdown } = await import('../report/render-markdown.js');
  const { renderText } = await import('../report/render-text.js');
  const document = buildDocument(report);
  return {
    exitCode: report.exitCode,
    json: report,
    text: (style) => renderText(document, style),
    outputs: {
      ndjson: () => readFindingLines(config, scope, report.evidence.remap?.sha256 ?? null),
      markdown: () => [renderMarkdown(document)],
      html: () => [renderHtml(document, report)],
      junit: () => renderJunit(report),
    },
  };
}
