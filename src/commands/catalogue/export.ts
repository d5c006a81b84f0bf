import type { CommandSpec, Given } from '../command.js';
import type { ExportCommand } from '../export-generation.js';
import { ACCEPTED } from './baseline.js';
import { MAX_WAIT, withMaxWait } from './max-wait.js';
import { COMPANY, MODEL, narrowed, OUTPUTS, outputsOf, RESTART, WAITING, waitingOf } from './options.js';

export const EXPORT_V3: CommandSpec = {
  name: 'export v3',
  says: 'read every V3 list into the database',
  more: 'Continues where an earlier run stopped. If V3 was read in full before, reads only what changed since.',
  options: [MODEL, COMPANY, RESTART, MAX_WAIT],
  examples: [
    {
      line: 'svc-migrate export v3',
      does: 'read V3, continue where the last run stopped, or read what changed',
    },
    {
      line: 'svc-migrate export v3 --model accounting/invoices --restart',
      does: 'read one model again from the start',
    },
  ],
  run: async (given, io) => {
    const { runExportV3 } = await import('../export-v3.js');
    return runExportV3(await exportOptions(given), io);
  },
};

export const EXPORT_V4: CommandSpec = {
  name: 'export v4',
  says: 'read every V4 list into the database',
  more: 'Reads V4 again in full, or continues an unfinished export. Records that V4 no longer returns are removed from the database.',
  options: [MODEL, COMPANY, RESTART, MAX_WAIT, ...WAITING],
  examples: [
    { line: 'svc-migrate export v4', does: 'read V4 again, or continue an unfinished export' },
    { line: 'svc-migrate export v4 --company 4711', does: 'read one V4 company' },
    {
      line: 'svc-migrate export v4 --wait --settle 10m',
      does: 'read V4 once all counts have stayed the same for ten minutes',
    },
  ],
  run: async (given, io) => {
    const { runExportV4 } = await import('../export-v4.js');
    return runExportV4(await exportOptions(given), io);
  },
};

export const RUN: CommandSpec = {
  name: 'run',
  says: 'run export v3, export v4, remap and check',
  more: 'After an incomplete export it continues, so that the report shows what is known, and then exits with 4.',
  options: [MODEL, COMPANY, RESTART, MAX_WAIT, ...WAITING, ACCEPTED, ...OUTPUTS],
  examples: [
    { line: 'svc-migrate run', does: 'the whole migration up to the report, with a readable summary' },
    {
      line: 'svc-migrate run --quiet --json report.json --ndjson findings.ndjson',
      does: 'the same in CI, with files for scripts',
    },
    {
      line: 'svc-migrate run --baseline baseline.json',
      does: 'the same, with the findings in baseline.json accepted',
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
