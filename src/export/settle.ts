import type { Api } from '../api/client.js';
import type { Config } from '../config/config.js';
import type { Clock, ModelPair, OnProgress, StreamKey } from '../domain.js';
import { isNotFound, SvcError } from '../errors.js';
import { COMPANY_LIST_PLAN, streamName } from '../store/streams.js';
import { must } from '../text/at.js';
import { countOf, formatDuration, listFirst } from '../text/numbers.js';
import { sumOf } from '../text/rows.js';
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
 * Waits until V4's backfill has settled: for the settling time, no list's count changed, and no list came or went. Returns
 * these counts.
 *
 * @throws SvcError `not_settled` after the timeout, or if V4 gives no counts to watch; and as requests do
 */
export async function waitSettled(options: SettleOptions): Promise<ListCounts> {
  const { settleMs, timeoutMs, clock, sleep, onProgress } = options;
  const pollMs = Math.min(MAX_POLL_MS, Math.max(1, Math.ceil(settleMs / OBSERVATIONS)));
  const startedMs = clock.now();
  let counts = await fetchCounts(options);
  let quietSinceMs = clock.now();
  let moved: readonly string[] = [];
  for (;;) {
    const nowMs = clock.now();
    const [quietMs, leftMs] = [nowMs - quietSinceMs, timeoutMs - (nowMs - startedMs)];
    const text = [
      countOf(
        sumOf(counts.values(), (count) => count ?? 0),
        'record',
      ),
      `unchanged for ${formatDuration(quietMs)} of ${formatDuration(settleMs)}`,
      `≤ ${formatDuration(Math.max(0, leftMs))} left`,
      ...(moved.length === 0 ? [] : [`changed: ${listFirst(moved)}`]),
    ].join(' · ');
    onProgress({ kind: 'step', name: 'watching the backfill', done: 0, total: null, text });
    if (quietMs >= settleMs) return counts;
    if (leftMs <= 0) throw notSettled(moved, timeoutMs);
    await sleep(Math.min(pollMs, leftMs));
    const next = await fetchCounts(options);
    const names = new Set([...counts.keys(), ...next.keys()]);
    moved = [...names].filter((name) => counts.get(name) !== next.get(name)).map(labelOf);
    counts = next;
    if (moved.length > 0) quietSinceMs = clock.now();
  }
}

function labelOf(name: string): string {
  const [, , model, companyId]: readonly unknown[] = JSON.parse(name);
  return `${model} of company ${companyId}`;
}

async function fetchCounts(options: SettleOptions): Promise<ListCounts> {
  const { config } = options;
  const companyIds = config.v4.companies.length > 0 ? config.v4.companies : await fetchCompanyIds(options);
  // The client limits the requests of a host.
  const counts = planV4(config, companyIds).map(async ({ key }) => {
    const pair = must(config.models.find(({ v3 }) => v3 === key.model));
    return [streamName(key), await fetchCount(options, key, pair)] as const;
  });
  return new Map(await Promise.all(counts));
}

async function fetchCompanyIds({ api }: SettleOptions): Promise<bigint[]> {
  const ids = new Set<bigint>();
  const cursors = new Set<string | null>();
  for (let cursor: string | null = null; cursor !== null || cursors.size === 0; ) {
    if (cursors.has(cursor))
      throw new SvcError('cursor_loop', 'The server sent a cursor that it had sent before in this walk.');
    cursors.add(cursor);
    const request = { stream: COMPANY_LIST_PLAN.key, pair: null, cursor, updatedSince: null };
    const { records, next } = await api.fetchPage(request);
    for (const { svcId } of records) ids.add(BigInt(svcId));
    cursor = next;
  }
  return [...ids];
}

/** The count of a list, from the request that the export makes, with a page size of one. */
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
    hint: 'Without counts a backfill cannot be watched: leave out --wait, and export once the operator says that it is done.',
  });
}

function notSettled(moved: readonly string[], timeoutMs: number): SvcError {
  const why =
    moved.length === 0
      ? 'its counts have not been stable for long enough'
      : `still changing: ${listFirst(moved)}`;
  const text = `V4's backfill has not settled in ${formatDuration(timeoutMs)}; ${why}.`;
  return new SvcError('not_settled', text, {
    hint: 'Run the same command again later, or wait longer with --wait-timeout.',
  });
}
