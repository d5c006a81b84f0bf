import { statSync } from 'node:fs';
import { Command } from '@commander-js/extra-typings';
import { type Generation, isUnfinished, STREAM_STATES } from '../domain.js';
import type { Report } from '../report/report-schema.js';
import { sumOf } from '../text/rows.js';
import type { DefineCommand, Io, Result, Style } from './command.js';
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

async function status(io: Io): Promise<Result> {
  const config = await io.config();
  const report = await readReport(io, config, { models: [], companies: [] });
  const { renderStatus } = await import('../report/render-status.js');
  const database = { file: config.database, bytes: statSync(config.database).size };
  return {
    exitCode: 0,
    json: buildStatus(report, database),
    text: ({ width, verbose }: Style) => renderStatus({ report, database, width, verbose }),
  };
}

function buildStatus(report: Report, database: { readonly file: string; readonly bytes: number }): object {
  const { completeness, evidence, lists, totals } = report;
  const { remap } = evidence;
  return {
    schemaVersion: 1,
    exitCode: 0,
    database,
    v3: describeGeneration(lists, 'v3'),
    v4: describeGeneration(lists, 'v4'),
    unfinished: completeness.filter(isUnfinished).map((list) => ({
      generation: list.generation,
      region: list.region === '' ? null : list.region,
      model: list.model,
      companyId: list.companyId,
      state: list.state,
      pages: list.pages,
      records: list.uniqueRecords,
      totalCount: list.totalCountLast,
      endReason: list.endReason,
    })),
    remap:
      remap === null
        ? null
        : {
            builtAt: remap.builtAt,
            sha256: remap.sha256,
            isCurrent: !remap.stale,
            changed: remap.changed,
            byStatus: totals.byStatus,
          },
    oldestReadAt: evidence.oldestReadAt,
    outcome: report.outcome,
    next: report.next,
  };
}

function describeGeneration(lists: Report['lists'], generation: Generation) {
  const groups = lists.filter((group) => group.generation === generation);
  const countIn = (state: string) => sumOf(groups, (group) => (group.state === state ? group.lists : 0));
  return {
    lists: Object.fromEntries(STREAM_STATES.map((state) => [state, countIn(state)])),
    records: sumOf(groups, ({ records }) => records),
    rejected: sumOf(groups, ({ rejected }) => rejected),
  };
}
