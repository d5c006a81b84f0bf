import { Argument, Command, Option } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import { GENERATIONS, type Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import type { ExportSummary } from '../export/run-export.js';
import type { Scope } from '../store/remap.js';
import { groupDigits } from '../text/numbers.js';
import type { DefineCommand, Io, Result, Style } from './command.js';
import { durationMs, narrowingOf, repeatable, repeatableId } from './options.js';

const WAIT_TIMEOUT_MS = 7_200_000;

export const WAIT = new Option(
  '--wait [duration]',
  'read V4 once its counts stay the same for this long; waits up to 2h',
)
  .preset('5m')
  .argParser(durationMs);

export const exportCommand: DefineCommand = (run) =>
  new Command('export')
    .summary('read every list of V3, V4 or both into the database')
    .description(
      'Reads V3 and V4 at the same time and continues where an earlier run stopped. If V3 was read in full before, reads only what changed since; V4 is always read again in full.',
    )
    .addArgument(new Argument('[generation]', 'v3 or v4; both without it').choices(GENERATIONS))
    .option('--model <path>', 'only this V3 model (repeatable)', repeatable)
    .option('--company <id>', 'only this company (repeatable)', repeatableId)
    .option('--restart', 'read everything again from the start')
    .addOption(WAIT)
    .addHelpText('after', '\nExample:\n  svc-migrate export v4 --wait')
    .action((generation, options, command) =>
      run(command, [], async (io) => {
        const config = await io.config();
        if (generation === 'v3' && options.wait !== undefined) {
          throw new SvcError('usage', '--wait is for V4, which `export v3` does not read.');
        }
        const generations = generation === undefined ? GENERATIONS : [generation];
        const request = requestOf(options, config, generations);
        const ended = await exportGenerations(request, config, io);
        return resultOf(ended, config, io);
      }),
    );

export interface ExportRequest extends Required<Scope> {
  readonly generations: readonly Generation[];
  readonly restart: boolean;
  /** How to wait for the backfill before V4 is read; null: do not wait. */
  readonly wait: { readonly settleMs: number; readonly timeoutMs: number } | null;
}

export function requestOf(
  options: {
    readonly model?: readonly string[] | undefined;
    readonly company?: readonly bigint[] | undefined;
    readonly restart?: true | undefined;
    readonly wait?: number | undefined;
  },
  config: Config,
  generations: readonly Generation[],
): ExportRequest {
  return {
    ...narrowingOf(options, config),
    generations,
    restart: options.restart === true,
    wait: options.wait === undefined ? null : { settleMs: options.wait, timeoutMs: WAIT_TIMEOUT_MS },
  };
}

/**
 * Reads the lists of the generations into the database. An incomplete generation does not stop the other one.
 *
 * @throws SvcError, see `runExport`
 */
export async function exportGenerations(
  request: ExportRequest,
  config: Config,
  io: Io,
): Promise<ExportSummary> {
  const { listSecrets, loadKeys } = await import('../config/api-keys.js');
  // Before the database is created: without keys nothing is written.
  const keys = await loadKeys(config, io.env, request.generations);
  const secrets = await listSecrets(config, io.env);
  const { createApi } = await import('../api/client.js');
  const { runExport } = await import('../export/run-export.js');
  const { writeDatabase } = await import('./database.js');
  const { clock, onProgress, signal } = io;
  return writeDatabase(config, 'create', async (db) => {
    const api = createApi({ config, keys, secrets, onProgress, signal });
    try {
      return await runExport({ ...request, db, config, api, clock, onProgress, signal });
    } catch (error) {
      throw orInterrupted(error, signal);
    } finally {
      await api.close();
    }
  });
}

function orInterrupted(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted || error instanceof SvcError) return error;
  return new SvcError('interrupted', 'Stopped before the end.', { hint: RESUME, cause: error });
}

const RESUME = 'Run the same command again: it continues where it stopped.';

/**
 * What an export did, as a table; an incomplete export is its error.
 *
 * @throws SvcError the error of a generation with the lowest exit code
 */
async function resultOf({ generations }: ExportSummary, config: Config, io: Io): Promise<Result> {
  const errors = generations.flatMap(({ error }) => error ?? []);
  const [worst, ...others] = errors.toSorted((a, b) => a.exitCode - b.exitCode);
  for (const { message } of others) io.onProgress({ kind: 'note', level: 'warning', text: message });
  if (worst !== undefined) throw worst;
  const { assertListsExist } = await import('../store/readiness.js');
  const { readDatabase } = await import('./database.js');
  await readDatabase(config, (db) => {
    for (const { generation } of generations) assertListsExist(db, generation);
  });
  const { renderTable } = await import('../text/table.js');
  const rows = generations.map(({ generation, streams }) => rowOf(generation, streams));
  const next = generations.length === GENERATIONS.length ? 'remap' : 'status';
  return {
    exitCode: 0,
    text: ({ width }: Style) =>
      `${[...renderTable(COLUMNS, rows, width, ''), `Next: svc-migrate ${next}`].join('\n')}\n`,
  };
}

const COLUMNS = [
  { title: 'Generation' },
  ...['Lists', 'Read in full', 'Short', 'Absent', 'Records', 'Rejected'].map((title) => ({
    title,
    numeric: true,
  })),
];

type Streams = ExportSummary['generations'][number]['streams'];

function rowOf(generation: Generation, streams: Streams): string[] {
  const lists = streams.filter(({ model }) => model !== 'core/companies');
  const countIn = (state: string) => lists.filter((list) => list.state === state).length;
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const counts = [
    lists.length,
    countIn('complete'),
    countIn('short'),
    countIn('absent'),
    sum(lists.map(({ uniqueRecords }) => uniqueRecords)),
    sum(lists.map(({ rejected }) => rejected)),
  ];
  return [generation.toUpperCase(), ...counts.map((count) => groupDigits(count))];
}
