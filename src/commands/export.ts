import { setTimeout } from 'node:timers/promises';
import { loadKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { type Generation, isUnfinished } from '../domain.js';
import { isNotFound, SvcError } from '../errors.js';
import { createPageSupply } from '../export/prefetch.js';
import type { ExportSummary } from '../export/run-export.js';
import { waitSettled } from '../inspect/settle/wait-settled.js';
import { listenForEvents, type WebhookListener } from '../inspect/settle/webhook-events.js';
import { countOf } from '../text/numbers.js';
import type { CommandLine, Io } from './command.js';
import { type Exporter, type ExportRequest, holdInThread } from './export-in-thread.js';
import { assertListsExist, noSuchList, renderExportSummary } from './export-result.js';
import { configWithMaxWait, durationOption, flagOf, narrowingOf, needsOption } from './option-values.js';
import { withClient, withHostWaits } from './with-api.js';
import { printText } from './with-outputs.js';

export interface ExportCommandOptions extends ExportRequest {
  /** How to wait for the backfill before reading V4; undefined: do not wait. */
  readonly wait?: WaitSettings | undefined;
}

/** Defaults of `--settle` and `--wait-timeout`. */
const SETTLE_MS = 300_000;
const WAIT_TIMEOUT_MS = 7_200_000;

/** `export v3`: reads every V3 list, continues an unfinished export, or reads only the changes since a complete one. */
export async function runExportV3(given: CommandLine, io: Io): Promise<number> {
  return runExport('v3', await exportOptions(given), io);
}

/** `export v4`: reads every V4 list again, or continues an unfinished export. */
export async function runExportV4(given: CommandLine, io: Io): Promise<number> {
  return runExport('v4', await exportOptions(given), io);
}

/** Reads one generation into the database and prints a summary. */
async function runExport(generation: Generation, options: ExportCommandOptions, io: Io): Promise<number> {
  const summary = await exportInThread(generation, options, io);
  await printText(renderExportSummary(generation, summary, options.config, io.width), io);
  assertComplete(generation, summary);
  return 0;
}

/**
 * Reads one generation into the database.
 *
 * @throws SvcError `config` if the generation, or a V3 region, has none of the configured lists; and as `runExport` does
 */
export function exportInThread(
  generation: Generation,
  options: ExportCommandOptions,
  io: Io,
): Promise<ExportSummary> {
  const { config } = options;
  // Before the database is created: without keys nothing is written.
  loadKeys(config, io.env, [generation]);
  const command = `export ${generation}`;
  const hold = { file: config.database, mode: 'create', command, nowMs: io.clock.now() } as const;
  return withHostWaits(config.database, io, () =>
    holdInThread(hold, io, (exporter, within) => exportGeneration(generation, exporter, options, within)),
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
    const alone = ['settle', 'waitTimeout', 'listen'].find((name) => given.text(name) !== undefined);
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
  io: Io,
): Promise<ExportSummary> {
  const { config, wait, models, companies, restart } = options;
  if (generation === 'v4' && wait !== undefined) await waitForV4(config, wait, io);
  const request = { config, models, companies, restart };
  try {
    const summary = await withClient(config, loadKeys(config, io.env, [generation]), io, (api) =>
      exporter(generation, request, createPageSupply(api, io.clock)),
    );
    assertListsExist(generation, summary.streams, config);
    return summary;
  } catch (error) {
    // Only V4's company list throws a 404; that of other lists is stored as their state.
    throw isNotFound(error) ? noSuchList(generation, ['its company list'], [config.v4]) : error;
  }
}

/** @throws SvcError `incomplete` if lists were not read to their end, with the first error */
export function assertComplete(
  generation: Generation,
  { complete, firstError, streams }: ExportSummary,
): void {
  if (complete) return;
  const open = streams.filter(isUnfinished).length;
  const why = firstError === null ? '' : ` First: ${firstError.message}`;
  throw new SvcError(
    'incomplete',
    `${open} of ${countOf(streams.length, 'list')} could not be read to the end.${why}`,
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
