import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { Api } from '../../api/client.js';
import type { Config } from '../../config/config.js';
import type { ModelPair, OnProgress } from '../../domain.js';
import { isNotFound, SvcError } from '../../errors.js';
import { listLabel } from '../../export/begin-export.js';
import { countOf, formatDuration, groupDigits } from '../../text/numbers.js';

export interface WaitOptions {
  readonly config: Config;
  /** Requests pages of one record: only the counts matter. */
  readonly source: Pick<Api, 'fetchPage' | 'fetchV4Companies'>;
  /** How long every count must stay the same. */
  readonly settleMs: number;
  /** Longest wait. */
  readonly timeoutMs: number;
  readonly clock: { readonly now: () => number };
  /** Rejects when the wait is interrupted. */
  readonly sleep: (ms: number) => Promise<void>;
  /** The webhook events since the last call. */
  readonly takeEvents: () => readonly EventMeaning[];
  readonly onProgress: OnProgress;
}

export interface Settled {
  readonly waitedMs: number;
  readonly records: number;
  /** By `listLabel`. */
  readonly counts: Observation['counts'];
}

/** Observations within the settling time; more would only cost requests. */
const OBSERVATIONS = 10;
const MAX_POLL_MS = 30_000;
const MAX_NAMED = 3;

/**
 * Waits until V4's backfill has settled: no list's count changed for the settling time.
 *
 * @throws SvcError `not_settled` after the timeout, or if V4 gives no counts to watch; and as requests do
 */
export async function waitSettled(options: WaitOptions): Promise<Settled> {
  const { settleMs, timeoutMs, clock, onProgress } = options;
  const rules = { settleMs, pollMs: Math.min(MAX_POLL_MS, Math.max(1, Math.ceil(settleMs / OBSERVATIONS))) };
  const startedMs = clock.now();
  let state = beginSettling(await fetchObservation(options, true));
  for (;;) {
    const waitedMs = clock.now() - startedMs;
    reportProgress(state, rules, timeoutMs - waitedMs, onProgress);
    if (hasSettled(state, rules)) {
      return { waitedMs, records: recordsIn(state.last), counts: state.last.counts };
    }
    if (waitedMs >= timeoutMs) throw notSettled(state, timeoutMs);
    await options.sleep(Math.min(rules.pollMs, timeoutMs - waitedMs));
    for (const meaning of options.takeEvents()) state = recordEvent(state, meaning, clock.now());
    state = addObservation(state, await fetchObservation(options));
  }
}

/** Requests the count of every list of every V4 company. */
async function fetchObservation(
  { config, source, clock, onProgress }: WaitOptions,
  isFirst = false,
): Promise<Observation> {
  const counts = new Map<string, number | null>();
  const { companies } = await source.fetchV4Companies();
  const models = config.models.filter(({ v4 }) => v4 !== null);
  const lists = companies.flatMap(({ companyId }) => models.map((pair) => ({ companyId, pair })));
  await Promise.all(
    lists.map(async ({ companyId, pair }) => {
      const name = listLabel({ model: pair.v3, companyId });
      counts.set(name, await fetchCount(source, pair, companyId, name));
      const [done, total] = [counts.size, lists.length];
      if (isFirst) onProgress({ kind: 'step', name: 'counting the lists', done, total });
    }),
  );
  return { atMs: clock.now(), counts };
}

async function fetchCount(
  source: WaitOptions['source'],
  pair: ModelPair,
  companyId: bigint,
  name: string,
): Promise<number | null> {
  const stream = { generation: 'v4', region: '', model: pair.v3, companyId } as const;
  try {
    const { totalCount } = await source.fetchPage({ stream, pair, cursor: null, updatedSince: null });
    if (totalCount !== null) return totalCount;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
  throw new SvcError('not_settled', `V4 gives no total_count for ${name}.`, {
    hint: 'Without counts a backfill cannot be watched: leave out --wait, and export once you know that it is over.',
  });
}

function reportProgress(state: Settling, rules: SettleRules, leftMs: number, onProgress: OnProgress): void {
  const { moved, last, quietSinceMs } = state;
  const change = moved.reduce((sum, { before, now }) => sum + (now ?? 0) - (before ?? 0), 0);
  const names = moved
    .slice(0, MAX_NAMED)
    .map(({ list, before, now }) => `${list} ${before ?? 0} → ${now ?? 0}`);
  const more = moved.length > MAX_NAMED ? ` and ${moved.length - MAX_NAMED} more` : '';
  const sign = change < 0 ? '−' : '+';
  const text = [
    `${countOf(recordsIn(last), 'record')} (${sign}${groupDigits(Math.abs(change))})`,
    `quiet ${formatDuration(last.atMs - quietSinceMs)} of ${formatDuration(quietNeeded(state, rules))}`,
    `≤ ${formatDuration(Math.max(0, leftMs))} left`,
    ...(moved.length === 0 ? [] : [`moving: ${names.join(', ')}${more}`]),
  ].join(' · ');
  // No total, and so no bar: the quiet time starts again whenever a list changes.
  onProgress({ kind: 'step', name: 'watching the backfill', done: 0, total: null, text });
  // A backfill should only add.
  for (const { list } of moved.filter(({ before, now }) => (now ?? 0) < (before ?? 0))) {
    onProgress({ kind: 'note', level: 'warning', text: `${list} lost records while V4 was filling.` });
  }
}

function notSettled({ moved }: Settling, timeoutMs: number): SvcError {
  const names = moved.slice(0, MAX_NAMED).map(({ list }) => list);
  const why =
    names.length === 0 ? 'it has not been quiet for long enough' : `still moving: ${names.join(', ')}`;
  return new SvcError(
    'not_settled',
    `V4's backfill has not settled in ${formatDuration(timeoutMs)}; ${why}.`,
    {
      hint: 'Run again later, or allow more with --wait-timeout.',
    },
  );
}

function recordsIn({ counts }: Observation): number {
  return [...counts.values()].reduce<number>((sum, n) => sum + (n ?? 0), 0);
}

/** The counts of V4's lists at one moment, by `listLabel`; null if a list answered 404. */
export interface Observation {
  readonly atMs: number;
  readonly counts: ReadonlyMap<string, number | null>;
}

/** The state of a backfill that is being watched. */
export interface Settling {
  readonly last: Observation;
  /** Since when every list has had its current count. */
  readonly quietSinceMs: number;
  /** Lists whose count changed in the last observation. */
  readonly moved: readonly {
    readonly list: string;
    readonly before: number | null;
    readonly now: number | null;
  }[];
  /** Whether a sync reported its end after the last sign of movement. */
  readonly completed: boolean;
}

/** When a backfill counts as settled. */
export interface SettleRules {
  /** How long every count must stay the same. */
  readonly settleMs: number;
  readonly pollMs: number;
}

/** Observations that must agree after a sync reported its end; without such an event, the full time is needed. */
const OBSERVATIONS_AFTER_COMPLETION = 2;

/** The state after the first observation. */
export function beginSettling(first: Observation): Settling {
  return { last: first, quietSinceMs: first.atMs, moved: [], completed: false };
}

/** Adds an observation: any change of counts or of the set of lists restarts the quiet time. */
export function addObservation({ last, quietSinceMs, completed }: Settling, now: Observation): Settling {
  const names = [...new Set([...last.counts.keys(), ...now.counts.keys()])].sort();
  const moved = names
    .filter((list) => last.counts.get(list) !== now.counts.get(list))
    .map((list) => ({ list, before: last.counts.get(list) ?? null, now: now.counts.get(list) ?? null }));
  const isStill = moved.length === 0;
  return {
    last: now,
    quietSinceMs: isStill ? quietSinceMs : now.atMs,
    moved,
    completed: completed && isStill,
  };
}

/** Adds an event: movement restarts the quiet time, a completed sync shortens it. */
export function recordEvent(before: Settling, meaning: EventMeaning, atMs: number): Settling {
  if (meaning === 'completed') return { ...before, completed: true };
  return { ...before, quietSinceMs: Math.max(atMs, before.quietSinceMs), completed: false };
}

/** The quiet time that is needed, ms. */
function quietNeeded({ completed }: Settling, { settleMs, pollMs }: SettleRules): number {
  return completed ? Math.min(settleMs, OBSERVATIONS_AFTER_COMPLETION * pollMs) : settleMs;
}

/** Whether the backfill has settled as of the last observation. */
export function hasSettled(state: Settling, rules: SettleRules): boolean {
  return state.last.atMs - state.quietSinceMs >= quietNeeded(state, rules);
}

/** What a webhook event says of a backfill. `moving`: a sync started or data changed; `completed`: a sync is over. */
type EventMeaning = 'moving' | 'completed';

/** The service's event types that concern a backfill. */
const MEANINGS: ReadonlyMap<unknown, EventMeaning> = new Map([
  ['SYNC_STARTED', 'moving'],
  ['DATA_MODEL_CHANGES', 'moving'],
  ['SYNC_COMPLETED', 'completed'],
]);

/** Largest accepted body; events are small. */
const MAX_EVENT_BYTES = 1 << 20;

export interface WebhookListener {
  readonly port: number;
  /** The events received since the last call. */
  take(): EventMeaning[];
  close(): Promise<void>;
}

/**
 * Receives webhook events over HTTP. Payload shapes are unknown: any JSON is accepted, and `typeField` names the member
 * that holds the type, as a dotted path. Events change only the times at which counts are requested.
 *
 * @throws SvcError `usage` if it cannot listen on this host and port
 */
export async function listenForEvents(
  host: string,
  port: number,
  typeField: string,
): Promise<WebhookListener> {
  const received: EventMeaning[] = [];
  const server = createServer((request, response) => {
    readEvent(request).then(
      (event) => {
        const meaning = meaningOf(event, typeField);
        if (meaning !== null) received.push(meaning);
        response.writeHead(204).end();
      },
      () => response.writeHead(400).end(),
    );
  });
  server.listen(port, host);
  await once(server, 'listening').catch((cause: unknown) => {
    throw new SvcError('usage', `Cannot listen on ${host}:${port}.`, {
      hint: 'Name a free port with --listen.',
      cause,
    });
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    take: () => received.splice(0),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function readEvent(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_EVENT_BYTES) throw new RangeError('larger than an event');
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

/** What an event means; null for types that do not concern a backfill. */
export function meaningOf(event: unknown, typeField: string): EventMeaning | null {
  let value = event;
  for (const name of typeField.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = Reflect.get(value, name);
  }
  return MEANINGS.get(value) ?? null;
}
