import { Argument, Command, Option } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import { GENERATIONS, type Generation, STREAM_STATES } from '../domain.js';
import { SvcError } from '../errors.js';
import type { GenerationExport } from '../export/run-export.js';
import type { Scope } from '../store/remap.js';
import type { ListGroup } from '../store/report-rows.js';
import { countOf, groupDigits } from '../text/numbers.js';
import { sumOf } from '../text/rows.js';
import type { DefineCommand, Io, Result } from './command.js';
import { durationMs, narrowingOf, repeatable, repeatableId } from './options.js';

export const WAIT = new Option('--wait', 'wait until the backfill of V4 has settled before reading V4');
export const SETTLE = new Option('--settle <duration>', 'with --wait: how long all counts must stay the same')
  .argParser(durationMs)
  .default(300_000, '5m');
export const WAIT_TIMEOUT = new Option('--wait-timeout <duration>', 'with --wait: longest time to wait')
  .argParser(durationMs)
  .default(7_200_000, '2h');

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
    .addOption(SETTLE)
    .addOption(WAIT_TIMEOUT)
    .addHelpText('after', '\nExample:\n  svc-migrate export v4 --wait')
    .action((generation, options, command) =>
      run(command, [], async (io) => {
        const config = await io.config();
        if (generation === 'v3' && options.wait === true) {
          throw new SvcError('usage', '--wait is for V4, which `export v3` does not read.');
        }
        const generations = generation === undefined ? GENERATIONS : [generation];
        const request = requestOf(options, config, generations);
        const ended = await exportGenerations(request, config, io);
        return resultOf(ended, io);
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
    readonly wait?: true | undefined;
    readonly settle: number;
    readonly waitTimeout: number;
  },
  config: Config,
  generations: readonly Generation[],
): ExportRequest {
  return {
    ...narrowingOf(options, config),
    generations,
    restart: options.restart === true,
    wait: options.wait === true ? { settleMs: options.settle, timeoutMs: options.waitTimeout } : null,
  };
}

/** Reads the lists of the generations into the database. @throws SvcError, see `runExport` */
export async function exportGenerations(
  request: ExportRequest,
  config: Config,
  io: Io,
): Promise<GenerationExport[]> {
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

/** What an export did. @throws SvcError the error of a generation with the lowest exit code */
async function resultOf(exported: readonly GenerationExport[], io: Io): Promise<Result> {
  const errors = exported.flatMap(({ error }) => error ?? []);
  const [worst, ...others] = errors.toSorted((a, b) => a.exitCode - b.exitCode);
  for (const { message } of others) io.onProgress({ kind: 'note', level: 'warning', text: message });
  if (worst !== undefined) throw worst;
  const lines = exported.map(({ generation, streams }) =>
    describeLists(
      generation,
      streams.map((list) => ({ ...list, lists: 1, records: list.uniqueRecords })),
    ),
  );
  const next = exported.length === GENERATIONS.length ? 'remap' : 'status';
  return { exitCode: 0, text: () => `${[...lines, `Next: svc-migrate ${next}`].join('\n')}\n` };
}

type ListCounts = Pick<ListGroup, 'generation' | 'model' | 'state' | 'lists' | 'records' | 'rejected'>;

/** The lists of records of a generation in one line. */
export function describeLists(generation: Generation, all: readonly ListCounts[]): string {
  const name = generation.toUpperCase();
  const groups = all.filter((group) => group.generation === generation && group.model !== 'core/companies');
  if (groups.length === 0) return `${name}: not exported yet`;
  const sum = (what: 'lists' | 'records' | 'rejected', rows = groups) => sumOf(rows, (group) => group[what]);
  const states = STREAM_STATES.flatMap((state) => {
    const lists = sum(
      'lists',
      groups.filter((group) => group.state === state),
    );
    return lists === 0 ? [] : [`${groupDigits(lists)} ${state}`];
  });
  const rejected = sum('rejected') === 0 ? '' : `, ${groupDigits(sum('rejected'))} rejected`;
  return `${name}: ${countOf(sum('lists'), 'list')} (${states.join(', ')}), ${countOf(sum('records'), 'record')}${rejected}`;
}
