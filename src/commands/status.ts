import { statSync } from 'node:fs';
import { Command } from '@commander-js/extra-typings';
import { GENERATIONS, isUnfinished, shownState } from '../domain.js';
import type { Report } from '../report/report-schema.js';
import type { ListRow } from '../store/report-rows.js';
import { countOf, formatBytes, formatTime, groupDigits } from '../text/numbers.js';
import { sumOf } from '../text/rows.js';
import type { DefineCommand, Io, Result, Style } from './command.js';
import { describeLists } from './export.js';
import { readReport } from './report.js';

export const statusCommand: DefineCommand = (run) =>
  new Command('status')
    .summary('what the database holds, what is unfinished, what to run next')
    .description(
      'Shows lists, records, the remap, what changed since it was built, and what check would say.',
    )
    .option('--json <file>', 'write the status as JSON (- is stdout)')
    .addHelpText('after', '\nExample:\n  svc-migrate status')
    .action((_options, command) => run(command, ['json'], (io) => status(io)));

interface DatabaseFile {
  readonly file: string;
  readonly bytes: number;
}

async function status(io: Io): Promise<Result> {
  const config = await io.config();
  const report = await readReport(io, config, { models: [], companies: [] });
  const { buildDocument } = await import('../report/document.js');
  const { nameOfStream } = await import('../store/readiness.js');
  const { escapeUnseen } = await import('../text/escape.js');
  const { wrapLines } = await import('../text/wrap.js');
  const database = { file: config.database, bytes: statSync(config.database).size };
  const { title, lead } = buildDocument(report);
  const unfinished = report.completeness.filter(isUnfinished);
  const text = ({ width, verbose }: Style) => {
    const shown = verbose ? unfinished : unfinished.slice(0, MAX_UNFINISHED);
    const more = sumOf(report.lists.filter(isUnfinished), ({ lists }) => lists) - shown.length;
    const lines = [
      ...describeDatabase(report, database),
      ...(shown.length === 0 ? [] : ['Unfinished:']),
      ...shown.map((list) => `  ${nameOfStream(list)}: ${describeReading(list)}`),
      ...(more > 0 ? [`  … and ${groupDigits(more)} more`] : []),
      ...describeRemap(report),
      `Verdict: ${title}. ${lead.join(' ')}`,
      `Next: ${report.next}`,
    ];
    return wrapLines(lines.map(escapeUnseen), width);
  };
  return { exitCode: 0, json: buildStatus(report, database), text };
}

const MAX_UNFINISHED = 10;

function buildStatus(
  { completeness, evidence, lists, totals, outcome, next }: Report,
  database: DatabaseFile,
) {
  const { remap, oldestReadAt } = evidence;
  return {
    schemaVersion: 1,
    exitCode: 0,
    database,
    lists,
    unfinished: completeness.filter(isUnfinished),
    remap: remap === null ? null : { ...remap, byStatus: totals.byStatus },
    oldestReadAt,
    outcome,
    next,
  };
}

function describeDatabase({ lists, evidence }: Report, { file, bytes }: DatabaseFile): string[] {
  const { oldestReadAt, ageHours } = evidence;
  const age = ageHours === null ? '' : `, ${ageHours === 0 ? 'less than 1' : ageHours} h ago`;
  return [
    `Database: ${file} (${formatBytes(bytes)})`,
    ...GENERATIONS.map((generation) => describeLists(generation, lists)),
    ...(oldestReadAt === null ? [] : [`Oldest list: read ${formatTime(oldestReadAt)}${age}`]),
  ];
}

function describeReading({ state, pages, uniqueRecords, totalCountLast, endReason }: ListRow): string {
  const shown = shownState(state, pages > 0);
  if (shown === 'not started') return shown;
  const total = totalCountLast === null ? '' : ` of ${groupDigits(totalCountLast)}`;
  const why = endReason === null ? '' : ` (${endReason})`;
  return `${shown}${why} after ${countOf(pages, 'page')}, ${groupDigits(uniqueRecords)}${total} records`;
}

function describeRemap({ evidence: { remap }, totals }: Report): string[] {
  if (remap === null) return ['Remap: none yet'];
  const state = remap.stale ? `stale: changed since: ${remap.changed.join(', ')}` : 'current';
  const ids = Object.values(totals.v3ByStatus).reduce((sum, count) => sum + count, 0);
  const named = Object.entries(totals.v3ByStatus).map(([name, count]) => `${groupDigits(count)} ${name}`);
  const alone = remap.rows - ids;
  return [
    `Remap: built ${formatTime(remap.builtAt)}, ${state}`,
    `  ${countOf(ids, 'V3 id')}: ${named.join(', ')}`,
    ...(alone === 0 ? [] : [`  ${countOf(alone, 'V4 id')} without a V3 id`]),
  ];
}
