import type { CommandSpec, Given } from '../command.js';
import type { ExportCommand } from '../export-generation.js';
import { ACCEPTED } from './baseline.js';
import { MAX_WAIT, withMaxWait } from './max-wait.js';
import { COMPANY, MODEL, narrowed, OUTPUTS, outputsOf, RESTART, WAITING, waitingOf } from './options.js';

export const EXPORT_V3: CommandSpec = {
  name: 'export v3',
  says: 'page every V3 list into the database',
  more: 'Continues by itself where an earlier run stopped; a finished export is topped up with what changed since.',
  options: [MODEL, COMPANY, RESTART, MAX_WAIT],
  examples: [
    { line: 'svc-migrate export v3', does: 'read V3, go on where the last run stopped, or top up' },
    {
      line: 'svc-migrate export v3 --model accounting/invoices --restart',
      does: 'read one model again from its start',
    },
  ],
  run: async (given, io) => {
    const { runExportV3 } = await import('../export-v3.js');
    return runExportV3(await exportOptions(given), io);
  },
};

export const EXPORT_V4: CommandSpec = {
  name: 'export v4',
  says: 'page every V4 list into the database',
  more: 'Reads V4 anew, or finishes an unfinished reading; what V4 no longer shows is dropped.',
  options: [MODEL, COMPANY, RESTART, MAX_WAIT, ...WAITING],
  examples: [
    { line: 'svc-migrate export v4', does: 'read V4 anew, or finish what was begun' },
    { line: 'svc-migrate export v4 --company 4711', does: 'read one V4 company' },
    {
      line: 'svc-migrate export v4 --wait --settle 10m',
      does: 'read once no count has changed for ten minutes',
    },
  ],
  run: async (given, io) => {
    const { runExportV4 } = await import('../export-v4.js');
    return runExportV4(await exportOptions(given), io);
  },
};

export const RUN: CommandSpec = {
  name: 'run',
  says: 'export v3, export v4, remap and check, in one go',
  more: 'Goes on after an incomplete export, so that the report shows what is known; then exits with 4.',
  options: [MODEL, COMPANY, RESTART, MAX_WAIT, ...WAITING, ACCEPTED, ...OUTPUTS],
  examples: [
    { line: 'svc-migrate run', does: 'the whole job, with a readable summary' },
    {
      line: 'svc-migrate run --quiet --json report.json --ndjson findings.ndjson',
      does: 'the same in CI, with files for scripts',
    },
    {
      line: 'svc-migrate run --baseline baseline.json',
      does: 'the same, without the findings accepted there',
    },
  ],
  run: async (given, io) => {
    const { runRun } = await import('../run.js');
    const baselineFile = given.text('baseline');
    return runRun({ ...(await exportOptions(given)), outputs: outputsOf(given), baselineFile }, io);
  },
};

async function exportOptions(given: Given): Promise<ExportCommand> {
  const { config, ...narrowing } = await narrowed(given);
  const restart = given.isSet('restart');
  return { ...narrowing, config: withMaxWait(config, given), restart, wait: waitingOf(given) };
}
