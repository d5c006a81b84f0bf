import type { Api } from '../../api/client.js';
import type { Config } from '../../config/config.js';
import type { ModelPair, OnProgress } from '../../domain.js';
import { SvcError } from '../../errors.js';
import {
  beginSettling,
  type EventMeaning,
  hasSettled,
  hearEvent,
  type Observation,
  observe,
  quietNeeded,
  type Settling,
} from './settling.js';

export interface WaitOptions {
  readonly config: Config;
  /** Asked with a page size of 1: only the counts matter. */
  readonly source: Pick<Api, 'fetchPage' | 'fetchV4Companies'>;
  /** How long every count must stay as it is. */
  readonly settleMs: number;
  /** How long to wait at most. */
  readonly timeoutMs: number;
  readonly clock: { readonly now: () => number };
  /** Rejects when the wait is interrupted. */
  readonly sleep: (ms: number) => Promise<void>;
  /** What webhook events said since the last call. */
  readonly takeEvents: () => readonly EventMeaning[];
  readonly onProgress: OnProgress;
}

export interface Settled {
  readonly waitedMs: number;
  readonly looks: number;
  readonly lists: number;
  readonly records: number;
}

/** Looks within the settling time; more would only cost requests. */
const LOOKS = 10;
const LONGEST_POLL_MS = 30_000;
const NAMED = 3;

/**
 * Waits until V4's backfill has settled: no list's count changed for the settling time.
 *
 * @throws SvcError `not_settled` after the timeout, or where V4 gives no counts to watch; what asking throws
 */
export async function waitSettled(options: WaitOptions): Promise<Settled> {
  const { settleMs, timeoutMs, clock } = options;
  const rules = { settleMs, pollMs: Math.min(LONGEST_POLL_MS, Math.max(1, Math.ceil(settleMs / LOOKS))) };
  const startedMs = clock.now();
  let state = beginSettling(await look(options));
  for (let looks = 1; ; looks += 1) {
    tell(options, state, rules);
    if (hasSettled(state, rules)) return describeSettled(state, clock.now() - startedMs, looks);
    const leftMs = startedMs + timeoutMs - clock.now();
    if (leftMs <= 0) throw notSettled(state, timeoutMs);
    await options.sleep(Math.min(rules.pollMs, leftMs));
    for (const meaning of options.takeEvents()) state = hearEvent(state, meaning, clock.now());
    state = observe(state, await look(options));
  }
}

/** Asks every list of every V4 company for its count. */
async function look({ config, source, clock }: WaitOptions): Promise<Observation> {
  const counts = new Map<string, number | null>();
  const { companies } = await source.fetchV4Companies();
  const asked = companies.flatMap(({ companyId }) =>
    config.models
      .filter(({ v4 }) => v4 !== null)
      .map(async (pair) => {
        counts.set(`${pair.v3} of company ${companyId}`, await readCount(source, pair, companyId));
      }),
  );
  await Promise.all(asked);
  return { atMs: clock.now(), counts };
}

async function readCount(
  source: WaitOptions['source'],
  pair: ModelPair,
  companyId: bigint,
): Promise<number | null> {
  const stream = { generation: 'v4', region: '', model: pair.v3, companyId } as const;
  try {
    const { totalCount } = await source.fetchPage({ stream, pair, cursor: null, updatedSince: null });
    if (totalCount !== null) return totalCount;
  } catch (error) {
    if (error instanceof SvcError && error.facts['status'] === 404) return null;
    throw error;
  }
  throw new SvcError('not_settled', `V4 gives no total_count for ${pair.v3} of company ${companyId}.`, {
    hint: 'Whether the backfill goes on cannot be seen: leave out --wait and export once you know it is over.',
  });
}

function tell(
  { onProgress }: WaitOptions,
  state: Settling,
  rules: { settleMs: number; pollMs: number },
): void {
  const quietMs = state.last.atMs - state.quietSinceMs;
  const names = state.moved
    .slice(0, NAMED)
    .map(({ list, before, now }) => `${list} ${before ?? 0} → ${now ?? 0}`);
  const more = state.moved.length > NAMED ? ` and ${state.moved.length - NAMED} more` : '';
  const what = state.moved.length === 0 ? 'backfill is quiet' : `backfill moves: ${names.join(', ')}${more}`;
  onProgress({
    kind: 'step',
    name: what,
    done: Math.round(quietMs / 1000),
    total: Math.ceil(quietNeeded(state, rules) / 1000),
  });
  for (const list of state.moved.length > 0 ? state.shrunk : []) {
    onProgress({ kind: 'note', level: 'warning', text: `${list} lost records while V4 was filling.` });
  }
}

function describeSettled(state: Settling, waitedMs: number, looks: number): Settled {
  const counts = [...state.last.counts.values()];
  return {
    waitedMs,
    looks,
    lists: counts.length,
    records: counts.reduce<number>((sum, n) => sum + (n ?? 0), 0),
  };
}

function notSettled(state: Settling, timeoutMs: number): SvcError {
  const names = state.moved.slice(0, NAMED).map(({ list }) => list);
  const moving =
    names.length === 0 ? 'it has not been quiet for long enough' : `still moving: ${names.join(', ')}`;
  return new SvcError(
    'not_settled',
    `V4's backfill has not settled in ${Math.round(timeoutMs / 1000)} s; ${moving}.`,
    {
      hint: 'Run again later, or allow more with --wait-timeout.',
    },
  );
}
