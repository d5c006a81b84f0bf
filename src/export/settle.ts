import type { Api } from '../api/client.js';
import type { Config } from '../config/config.js';
import type { Clock, ListPage, ModelPair, OnProgress, StreamKey } from '../domain.js';
import { isNotFound, SvcError } from '../errors.js';
import { COMPANY_LIST_PLAN, streamName } from '../store/streams.js';
import { must } from '../text/at.js';
import { countOf, formatDuration, listFirst } from '../text/numbers.js';
import { planV4 } from './plan.js';

export interface SettleOptions {
  readonly config: Config;
  readonly api: Pick<Api, 'fetchPage'>;
  /** How long every count must stay the same, ms. */
  readonly settleMs: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onProgress: OnProgress;
}

/** The counts of V4's lists by `streamName`; null if a list answered 404. */
export type ListCounts = ReadonlyMap<string, number | null>;

/** Observations within the settling time; more would only cost requests. */
const OBSERVATIONS = 10;
const MAX_POLL_MS = 30_000;

/**
 * Waits until V4's backfill has settled: no list's count changed for the settling time. Returns these counts.
 *
 * @throws SvcError `not_settled` after the timeout, or if V4 gives no counts to watch; and as requests do
 */
export async function waitSettled(options: SettleOptions): Promise<ListCounts> {
  const { settleMs, timeoutMs, clock, sleep, onProgress } = options;
  const pollMs = Math.min(MAX_POLL_MS, Math.max(1, Math.ceil(settleMs / OBSERVATIONS)));
  const startedMs = clock.now();
  let state = beginSettling(await fetchObservation(options));
  for (;;) {
    const waitedMs = clock.now() - startedMs;
    onProgress(describe(state, settleMs, timeoutMs - waitedMs));
    if (hasSettled(state, settleMs)) return state.last.counts;
    if (waitedMs >= timeoutMs) throw notSettled(state, timeoutMs);
    await sleep(Math.min(pollMs, timeoutMs - waitedMs));
    state = addObservation(state, await fetchObservation(options));
  }
}

export interface Observation {
  readonly atMs: number;
  readonly counts: ListCounts;
}

export interface Settling {
  readonly last: Observation;
  /** Since when every list has had its current count. */
  readonly quietSinceMs: number;
  readonly moved: readonly string[];
}

export function beginSettling(first: Observation): Settling {
  return { last: first, quietSinceMs: first.atMs, moved: [] };
}

/** Adds an observation: any change of counts or of the set of lists restarts the quiet time. */
export function addObservation({ last, quietSinceMs }: Settling, now: Observation): Settling {
  const names = new Set([...last.counts.keys(), ...now.counts.keys()]);
  const moved = [...names].filter((list) => last.counts.get(list) !== now.counts.get(list));
  return { last: now, quietSinceMs: moved.length === 0 ? quietSinceMs : now.atMs, moved };
}

export function hasSettled({ last, quietSinceMs }: Settling, settleMs: number): boolean {
  return last.atMs - quietSinceMs >= settleMs;
}

function labelOf(name: string): string {
  const [, , model, companyId]: readonly unknown[] = JSON.parse(name);
  return `${model} of company ${companyId}`;
}

async function fetchObservation(options: SettleOptions): Promise<Observation> {
  const { config, clock } = options;
  const companyIds = config.v4.companies.length > 0 ? config.v4.companies : await fetchCompanyIds(options);
  // The client limits the requests of a host.
  const counts = planV4(config, companyIds).map(async ({ key }): Promise<[string, number | null]> => {
    const pair = must(config.models.find(({ v3 }) => v3 === key.model));
    return [streamName(key), await fetchCount(options, key, pair)];
  });
  return { counts: new Map(await Promise.all(counts)), atMs: clock.now() };
}

async function fetchCompanyIds({ api }: SettleOptions): Promise<bigint[]> {
  const ids = new Set<bigint>();
  const cursors = new Set<string | null>();
  let cursor: string | null = null;
  do {
    if (cursors.has(cursor))
      throw new SvcError('cursor_loop', 'The server sent a cursor that it had sent before in this walk.');
    cursors.add(cursor);
    const request = { stream: COMPANY_LIST_PLAN.key, pair: null, cursor, updatedSince: null };
    const page: ListPage = await api.fetchPage(request);
    for (const { svcId } of page.records) ids.add(BigInt(svcId));
    cursor = page.next;
  } while (cursor !== null);
  return [...ids];
}

/** The count of a list, asked for like the export asks, but with one record. */
async function fetchCount(
  { api }: SettleOptions,
  stream: StreamKey,
  pair: ModelPair,
): Promise<number | null> {
  try {
    const page = await api.fetchPage({ stream, pair, cursor: null, updatedSince: null, limit: 1 });
    if (page.totalCount !== null) return page.totalCount;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
  throw new SvcError('not_settled', `V4 gives no total_count for ${labelOf(streamName(stream))}.`, {
    hint: 'Without counts a backfill cannot be watched: leave out --wait, and export once you know that it is over.',
  });
}

function describe(
  { moved, last, quietSinceMs }: Settling,
  settleMs: number,
  leftMs: number,
): Parameters<OnProgress>[0] {
  const records = [...last.counts.values()].reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const text = [
    countOf(records, 'record'),
    `quiet ${formatDuration(last.atMs - quietSinceMs)} of ${formatDuration(settleMs)}`,
    `≤ ${formatDuration(Math.max(0, leftMs))} left`,
    ...(moved.length === 0 ? [] : [`moving: ${listFirst(moved.map(labelOf))}`]),
  ].join(' · ');
  return { kind: 'step', name: 'watching the backfill', done: 0, total: null, text };
}

function notSettled({ moved }: Settling, timeoutMs: number): SvcError {
  const why =
    moved.length === 0
      ? 'it has not been quiet for long enough'
      : `still moving: ${listFirst(moved.map(labelOf))}`;
  const text = `V4's backfill has not settled in ${formatDuration(timeoutMs)}; ${why}.`;
  return new SvcError('not_settled', text, { hint: 'Run again later.' });
}
