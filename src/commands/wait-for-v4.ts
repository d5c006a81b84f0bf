import { setTimeout } from 'node:timers/promises';
import { loadKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { type EventListener, listenForEvents } from '../inspect/settle/event-listener.js';
import { waitSettled } from '../inspect/settle/wait-settled.js';
import { countOf } from '../text/numbers.js';
import type { Io } from './command.js';
import { withClient } from './with-api.js';

/** How to wait for the backfill. */
export interface WaitSettings {
  /** How long all counts must stay the same. */
  readonly settleMs: number;
  readonly timeoutMs: number;
  /** Address to receive webhook events at; null: do not listen. */
  readonly listen: { readonly host: string; readonly port: number } | null;
}

/**
 * Waits until V4's backfill has settled, judged by the counts of all its lists and, if requested, by webhook events.
 *
 * @throws SvcError as `waitSettled` and `listenForEvents` do; `interrupted`
 */
export async function waitForV4(config: Config, settings: WaitSettings, io: Io): Promise<void> {
  const { signal, clock, onProgress } = io;
  onProgress({ kind: 'stage', name: 'backfill' });
  const onePerPage = { ...config, v4: { ...config.v4, pageSize: 1 } };
  const keys = loadKeys(config, io.env, ['v4']);
  const events = await listen(config, settings, io);
  const sleep = (ms: number): Promise<void> => pause(ms, signal);
  const takeEvents = (): ReturnType<EventListener['take']> => events?.take() ?? [];
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

async function listen(config: Config, { listen: at }: WaitSettings, io: Io): Promise<EventListener | null> {
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
