import { setTimeout } from 'node:timers/promises';
import type { Api } from '../api/client.js';
import { loadKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { GENERATIONS, type Generation, isUnfinished, progressOf } from '../domain.js';
import { EXIT_BY_CODE, isNotFound, SvcError } from '../errors.js';
import { createPageSupply } from '../export/prefetch.js';
import type { ExportSummary } from '../export/run-export.js';
import { listenForEvents, type WebhookListener, waitSettled } from '../inspect/settle/wait-settled.js';
import { writeText } from '../runtime/write-output.js';
import { areRefused, isExported, type Readiness, readReadiness } from '../store/readiness.js';
import { EVERYTHING } from '../store/remap-rows.js';
import { shellLine } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { wrapLines } from '../text/text-layout.js';
import { narrowingOf, withMaxWait } from './catalogue/options.js';
import type { exportBoth } from './catalogue/run-commands.js';
import type { GivenTo, Io, OptionsOf } from './command.js';
import { readDatabase } from './database.js';
import { assertListsExist, describeGeneration, noSuchList } from './described-lists.js';
import { type Exporter, type ExportRequest, holdInThread } from './export-thread.js';
import { type ApiIo, orInterrupted, withClient, withHostWaits } from './with-api.js';
import { printText } from './with-outputs.js';

export interface ExportCommandOptions extends ExportRequest {
  /** How to wait for the backfill before reading V4; undefined: do not wait. */
  readonly wait?: WaitSettings | undefined;
}

/** The options of `run` that `export` has too. */
type ReadOptions = Omit<OptionsOf<typeof exportBoth>, 'generation'>;

/** What became of the export of one generation. */
export interface Exported {
  readonly generation: Generation;
  /** Null if the export ended with an error before its end. */
  readonly summary: ExportSummary | null;
  /** Why it was not read in full: an error that does not keep the other generation from being read. */
  readonly error: SvcError | null;
}

/** `export`: reads V3, V4, or both at the same time into the database, and prints summaries. */
export async function run(given: GivenTo<typeof exportBoth>, io: Io): Promise<number> {
  const { generation, wait } = given.options;
  if (wait && generation === 'v3') {
    throw new SvcError('usage', '--wait is for V4, which `export v3` does not read.');
  }
  const options = exportOptions(given.options, await given.config());
  const generations = generation === undefined ? GENERATIONS : [generation];
  const name = ['export', generation ?? []].flat().join(' ');
  const ended = await exportInThread(generations, name, options, io);
  if (ended.some(({ summary }) => summary !== null)) {
    const { config } = options;
    const readiness = await readDatabase(config, async (db) => readReadiness(db, config, EVERYTHING));
    const lines = ended.flatMap(({ generation: one, summary }) =>
      summary === null ? [] : describeGeneration(readiness, one, io.clock.now()),
    );
    const next = nextCommand(ended, readiness, options);
    await printText(`${wrapLines(lines, io.width)}${next === null ? '' : `Next: ${next}\n`}`, io);
  }
  await throwWorst(ended, io);
  return 0;
}

/** The command to run next; null if the error that follows says what to do. */
function nextCommand(
  ended: readonly Exported[],
  readiness: Readiness,
  { models }: ExportCommandOptions,
): string | null {
  if (ended.some(({ summary }) => summary === null)) return null;
  const only = models.flatMap((model) => ['--model', model]);
  const [open, ...more] = ended.filter(({ summary }) => summary?.complete !== true);
  if (open !== undefined) {
    // Lists that were not selected may not have been asked for yet.
    const failed = open.summary?.streams.filter((one) => isUnfinished(one) && one.endReason !== null);
    if (areRefused(failed ?? [])) return 'svc-migrate doctor';
    return shellLine(['svc-migrate', 'export', ...(more.length > 0 ? [] : [open.generation]), ...only]);
  }
  const missing = GENERATIONS.find(
    (generation) =>
      !ended.some((one) => one.generation === generation) &&
      (generation === 'v4' || !isExported(readiness, generation)),
  );
  return missing === undefined ? 'svc-migrate remap' : shellLine(['svc-migrate', 'export', missing, ...only]);
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
  return withHostWaits(config.database, io, (own) =>
    holdInThread(hold, own, (exporter, within) => exportGenerations(generations, exporter, options, within)),
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
  io: ApiIo,
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

export function exportOptions(options: ReadOptions, configured: Config): ExportCommandOptions {
  const { wait, settle: settleMs, waitTimeout: timeoutMs, listen = null, restart } = options;
  return {
    ...narrowingOf(options, configured),
    config: withMaxWait(configured, options),
    restart,
    wait: wait ? { settleMs, timeoutMs, listen } : undefined,
  };
}

/** Requests the pages of one generation and exports them. */
export async function exportGeneration(
  generation: Generation,
  exporter: Exporter,
  options: ExportCommandOptions,
  api: Api,
  io: ApiIo,
): Promise<ExportSummary> {
  const { config, wait, models, companies, restart, mayBeEmpty } = options;
  try {
    const settledCounts =
      generation === 'v4' && wait !== undefined
        ? await waitForV4(config, wait, { ...io, onProgress: progressOf(generation, io.onProgress) })
        : undefined;
    const request = { config, models, companies, restart, mayBeEmpty, settledCounts };
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
  { complete, firstError, selectedLists, openLists }: ExportSummary,
): SvcError | null {
  if (complete) return null;
  const why = firstError === null ? '' : ` First: ${firstError.message}`;
  return new SvcError(
    'incomplete',
    `${openLists} of ${countOf(selectedLists, `${generation.toUpperCase()} list`)} could not be read to the end.${why}`,
    {
      hint: firstError?.hint,
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
 * Waits until V4's backfill has settled, judged by the counts of all its lists and, if requested, by webhook events. Returns
 * these counts.
 */
async function waitForV4(
  config: Config,
  settings: WaitSettings,
  io: ApiIo,
): Promise<ExportRequest['settledCounts']> {
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
    const text = `The backfill has settled: ${countOf(settled.records, 'record')} in ${countOf(settled.counts.size, 'list')}.`;
    onProgress({ kind: 'note', level: 'info', text });
    return settled.counts;
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
    throw new SvcError('interrupted', 'Stopped waiting; nothing of V4 was read.', { cause });
  }
}
