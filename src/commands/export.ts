import { setTimeout } from 'node:timers/promises';
import type { Api } from '../api/client.js';
import { loadKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { type Generation, isUnfinished, progressOf } from '../domain.js';
import { EXIT_BY_CODE, isNotFound, SvcError } from '../errors.js';
import { createPageSupply } from '../export/prefetch.js';
import type { ExportSummary } from '../export/run-export.js';
import { waitSettled } from '../inspect/settle/wait-settled.js';
import { listenForEvents, type WebhookListener } from '../inspect/settle/webhook-events.js';
import { writeText } from '../runtime/write-output.js';
import { countOf } from '../text/numbers.js';
import type { CommandLine, Io } from './command.js';
import { type Exporter, type ExportRequest, holdInThread } from './export-in-thread.js';
import { assertListsExist, noSuchList, renderExportSummary } from './export-result.js';
import { flagOf } from './option.js';
import { configWithMaxWait, durationOption, narrowingOf, needsOption } from './option-values.js';
import { orInterrupted, withClient, withHostWaits } from './with-api.js';
import { printText } from './with-outputs.js';

export interface ExportCommandOptions extends ExportRequest {
  /** How to wait for the backfill before reading V4; undefined: do not wait. */
  readonly wait?: WaitSettings | undefined;
}

/** Defaults of `--settle` and `--wait-timeout`. */
const SETTLE_MS = 300_000;
const WAIT_TIMEOUT_MS = 7_200_000;
const WAIT_OPTIONS = ['wait', 'settle', 'waitTimeout', 'listen'];

/** What became of the export of one generation. */
export interface Exported {
  readonly generation: Generation;
  /** Null if the export ended with an error before its end. */
  readonly summary: ExportSummary | null;
  /** Why it was not read in full: an error that does not keep the other generation from being read. */
  readonly error: SvcError | null;
}

const BOTH: readonly Generation[] = ['v3', 'v4'];

/** `export`: reads V3, V4, or both at the same time into the database, and prints summaries. */
export async function runExport(given: CommandLine, io: Io): Promise<number> {
  const generations = generationsOf(given);
  const options = await exportOptions(given);
  const ended = await exportInThread(generations, ['export', ...given.args].join(' '), options, io);
  if (ended.some(({ summary }) => summary !== null)) {
    await printText(renderExportSummary(ended, options.config, io.width), io);
  }
  await throwWorst(ended, io);
  return 0;
}

function generationsOf(given: CommandLine): readonly Generation[] {
  const [name] = given.args;
  const generations = name === undefined ? BOTH : BOTH.filter((generation) => generation === name);
  if (generations.length === 0) {
    throw new SvcError('usage', `There is no generation "${name}".`, {
      hint: 'Write v3 or v4; without either, both are read at the same time.',
    });
  }
  const waiting = WAIT_OPTIONS.find((option) => given.isSet(option) || given.text(option) !== undefined);
  if (waiting === undefined || generations.includes('v4')) return generations;
  throw new SvcError('usage', `${flagOf(waiting)} is for V4, which \`export v3\` does not read.`);
}

/** Throws the error with the most weight, if any, and prints the others as warnings. */
export async function throwWorst(ended: readonly Exported[], io: Io): Promise<void> {
  const failed = ended.filter(({ error }) => error !== null);
  const [worst, ...others] = failed.toSorted((a, b) => weightOf(a) - weightOf(b));
  for (const other of others) await warn(other, io);
  if (worst?.error) throw worst.error;
}

/** Prints that a generation was not read in full, and why. */
export async function warn({ generation, error }: Exported, io: Io): Promise<void> {
  const why = error === null ? '' : ` ${error.message}`;
  await writeText(io.stderr, [`Warning: ${generation.toUpperCase()} was not read in full.${why}\n`]);
}

/** Errors of the configuration come before those that another run may mend. */
function weightOf({ error }: Exported): number {
  return error?.exitCode ?? 0;
}

/**
 * Reads the generations into the database at the same time.
 *
 * @throws SvcError, see `exportGenerations`
 */
export function exportInThread(
  generations: readonly Generation[],
  command: string,
  options: ExportCommandOptions,
  io: Io,
): Promise<readonly Exported[]> {
  const { config } = options;
  // Before the database is created: without keys nothing is written.
  loadKeys(config, io.env, generations);
  const hold = { file: config.database, mode: 'create', command, nowMs: io.clock.now() } as const;
  return withHostWaits(config.database, io, () =>
    holdInThread(hold, io, (exporter, within) => exportGenerations(generations, exporter, options, within)),
  );
}

/**
 * Reads the generations at the same time, through one client. If one fails, the others are read to their end, unless its
 * error concerns all of them: a refused key, a signal, the database, or a bug.
 *
 * @throws that error
 */
async function exportGenerations(
  generations: readonly Generation[],
  exporter: Exporter,
  options: ExportCommandOptions,
  io: Io,
): Promise<readonly Exported[]> {
  const { config } = options;
  const stop = new AbortController();
  const within = { ...io, signal: AbortSignal.any([io.signal, stop.signal]) };
  let fatal: { readonly error: unknown } | undefined;
  const exportOne = async (generation: Generation, api: Api): Promise<Exported> => {
    try {
      const summary = await exportGeneration(generation, exporter, options, api, within);
      return { generation, summary, error: incompleteError(generation, summary) };
    } catch (error) {
      if (!concernsOne(error)) {
        fatal ??= { error };
        stop.abort(new SvcError('interrupted', 'Stopped, because the other export failed.'));
        throw error;
      }
      return { generation, summary: null, error };
    }
  };
  const keys = loadKeys(config, io.env, generations);
  const settled = await withClient(config, keys, within, (api) =>
    Promise.allSettled(generations.map((generation) => exportOne(generation, api))),
  );
  if (fatal !== undefined) throw orInterrupted(fatal.error, io.signal);
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

/** Whether the error of one generation leaves the other one to be read. */
function concernsOne(error: unknown): error is SvcError {
  if (!(error instanceof SvcError)) return false;
  const { code, exitCode } = error;
  return (
    [EXIT_BY_CODE.incomplete, EXIT_BY_CODE.not_settled].some((own) => own === exitCode) ||
    code === 'config' ||
    code === 'redirect'
  );
}

/** Parses the options of exports. */
export async function exportOptions(given: CommandLine): Promise<ExportCommandOptions> {
  const narrowing = narrowingOf(given, await given.config());
  const config = await configWithMaxWait(given);
  return { ...narrowing, config, restart: given.isSet('restart'), wait: waitOptions(given) };
}

function waitOptions(given: CommandLine): WaitSettings | undefined {
  if (!given.isSet('wait')) {
    const alone = WAIT_OPTIONS.find((name) => given.text(name) !== undefined);
    if (alone === undefined) return undefined;
    throw needsOption(flagOf(alone), '--wait');
  }
  return {
    settleMs: durationOption(given, 'settle') ?? SETTLE_MS,
    timeoutMs: durationOption(given, 'waitTimeout') ?? WAIT_TIMEOUT_MS,
    listen: parseAddress(given.text('listen')),
  };
}

function parseAddress(text: string | undefined): WaitSettings['listen'] {
  if (text === undefined) return null;
  const [, host = '127.0.0.1', port = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port !== '' && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new SvcError('usage', `--listen takes a port or host:port, not "${text}".`);
}

/** Requests the pages of one generation and exports them. */
export async function exportGeneration(
  generation: Generation,
  exporter: Exporter,
  options: ExportCommandOptions,
  api: Api,
  io: Io,
): Promise<ExportSummary> {
  const { config, wait, models, companies, restart } = options;
  if (generation === 'v4' && wait !== undefined) {
    await waitForV4(config, wait, { ...io, onProgress: progressOf(generation, io.onProgress) });
  }
  const request = { config, models, companies, restart };
  try {
    const summary = await exporter(generation, request, createPageSupply(api, io.clock));
    assertListsExist(generation, summary.streams, config);
    return summary;
  } catch (error) {
    // Only V4's company list throws a 404; that of other lists is stored as their state.
    throw isNotFound(error) ? noSuchList(generation, ['its company list'], [config.v4]) : error;
  }
}

/** The error of an export that did not read all lists to their end, with the first reason; null if it did. */
function incompleteError(
  generation: Generation,
  { complete, firstError, streams }: ExportSummary,
): SvcError | null {
  if (complete) return null;
  const open = streams.filter(isUnfinished).length;
  const why = firstError === null ? '' : ` First: ${firstError.message}`;
  return new SvcError(
    'incomplete',
    `${open} of ${countOf(streams.length, `${generation.toUpperCase()} list`)} could not be read to the end.${why}`,
    {
      hint: `Run \`svc-migrate export ${generation}\` again: it continues where it stopped.`,
      facts: firstError?.facts,
      cause: firstError ?? undefined,
    },
  );
}

interface WaitSettings {
  /** How long all counts must stay the same. */
  readonly settleMs: number;
  readonly timeoutMs: number;
  /** Address to receive webhook events at; null: do not listen. */
  readonly listen: { readonly host: string; readonly port: number } | null;
}

/**
 * Waits until V4's backfill has settled, judged by the counts of all its lists and, if requested, by webhook events.
 */
async function waitForV4(config: Config, settings: WaitSettings, io: Io): Promise<void> {
  const { signal, clock, onProgress } = io;
  onProgress({ kind: 'stage', name: 'backfill' });
  const onePerPage = { ...config, v4: { ...config.v4, pageSize: 1 } };
  const keys = loadKeys(config, io.env, ['v4']);
  const events = await listen(config, settings, io);
  const sleep = (ms: number): Promise<void> => pause(ms, signal);
  const takeEvents = (): ReturnType<WebhookListener['take']> => events?.take() ?? [];
  try {
    const settled = await withClient(onePerPage, keys, io, (source) =>
      waitSettled({ config, source, ...settings, clock, sleep, takeEvents, onProgress }),
    );
    const text = `The backfill has settled: ${countOf(settled.records, 'record')} in ${countOf(settled.lists, 'list')}.`;
    onProgress({ kind: 'note', level: 'info', text });
  } finally {
    await events?.close();
  }
}

async function listen(config: Config, { listen: at }: WaitSettings, io: Io): Promise<WebhookListener | null> {
  if (at === null) return null;
  const events = await listenForEvents(at.host, at.port, config.v4.eventTypeField);
  io.onProgress({
    kind: 'note',
    level: 'info',
    text: `Listening for webhook events on http://${at.host}:${events.port}/`,
  });
  return events;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal });
  } catch (cause) {
    throw new SvcError('interrupted', 'Stopped waiting; nothing was read.', { cause });
  }
}
