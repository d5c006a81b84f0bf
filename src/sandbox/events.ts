import { writeJson } from './fields.js';
import { hashOf, hexOf, mix } from './seeded-random.js';
import type { World } from './world.js';

/** One webhook event that the service sent. */
export interface EventLogEntry {
  readonly type: string;
  /** Status of the listener's answer; null if there was none. */
  readonly status: number | null;
}

/** Runs work later; returns a function that cancels it. */
export type Schedule = (delayMs: number, work: () => void) => () => void;

export interface EventsOptions {
  readonly world: World;
  readonly url: string;
  readonly backfillMs: number;
  readonly now: () => number;
  readonly schedule: Schedule;
}

const STEPS = 4;

/**
 * Posts the backfill's events as JSON: SYNC_STARTED for each V4 company at once, DATA_MODEL_CHANGES for each of
 * its models in steps, SYNC_COMPLETED at the end. Deliveries that fail are logged, not repeated.
 */
export function startEvents(options: EventsOptions): { log: readonly EventLogEntry[]; stop: () => void } {
  const { world, backfillMs, schedule } = options;
  const log: EventLogEntry[] = [];
  const abort = new AbortController();
  let sent = 0;
  const send = (type: string, facts: Readonly<Record<string, bigint | string>>): void => {
    const event = {
      event_id: `evt_${hexOf(mix(hashOf(world.seed, 'event'), sent++))}`,
      type,
      occurred_at: new Date(options.now()).toISOString(),
      ...facts,
    };
    void deliver(options.url, writeJson(event), abort.signal).then((status) => log.push({ type, status }));
  };
  const companies = world.connections.filter(({ kind }) => kind !== 'inert').flatMap(({ v4 }) => v4);
  const sendAll = (type: string): void => {
    for (const { id } of companies) send(type, { svc_company_id: id });
  };
  const sendChanges = (): void => {
    for (const [name, { members }] of world.v4) {
      for (const { company, block } of members) {
        if (block.generations.includes('v4'))
          send('DATA_MODEL_CHANGES', { svc_company_id: company.id, data_model: name });
      }
    }
  };
  const cancels = [
    schedule(0, () => sendAll('SYNC_STARTED')),
    ...Array.from({ length: STEPS }, (_, step) => schedule((backfillMs * (step + 1)) / STEPS, sendChanges)),
    schedule(backfillMs, () => sendAll('SYNC_COMPLETED')),
  ];
  const stop = (): void => {
    for (const cancel of cancels) cancel();
    abort.abort();
  };
  return { log, stop };
}

async function deliver(url: string, body: string, signal: AbortSignal): Promise<number | null> {
  try {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return null;
  }
}
