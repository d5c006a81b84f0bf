import type { OnProgress } from '../../domain.js';
import type { OpenRow } from '../../store/open-findings.js';
import { formatDuration } from '../../text/numbers.js';
import { compareOpen, type RecheckResult } from './result.js';
import type { RoundResult } from './round.js';

export interface RecheckOptions {
  /** How often to ask, from 1 up. */
  readonly times: number;
  /** Between two rounds. */
  readonly everyMs: number;
  /** Asks again and stores what has changed. */
  readonly runRound: () => Promise<RoundResult>;
  readonly rebuildRemap: () => Promise<unknown>;
  /** The open findings of the remap as it is, by identity. */
  readonly readOpen: () => Promise<ReadonlyMap<string, OpenRow>>;
  /** What rows of before are now, in their order. */
  readonly readOutcomes: (rows: readonly OpenRow[]) => Promise<readonly (string | null)[]>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onProgress: OnProgress;
}

/**
 * Asks again about the open findings, as often as wanted, and rebuilds the remap after each round. A finding
 * persists if it is open at the end as it was at the start. Ends early where none is open.
 */
export async function recheck(options: RecheckOptions): Promise<RecheckResult> {
  const { times, everyMs, onProgress } = options;
  const before = await options.readOpen();
  const rounds: RoundResult[] = [];
  let open = before;
  while (rounds.length < times && open.size > 0) {
    if (rounds.length > 0) {
      const name = `wait ${formatDuration(everyMs)} for round ${rounds.length + 1} of ${times}`;
      onProgress({ kind: 'stage', name });
      await options.sleep(everyMs);
    }
    onProgress({ kind: 'stage', name: `recheck, round ${rounds.length + 1} of ${times}` });
    rounds.push(await options.runRound());
    await options.rebuildRemap();
    open = await options.readOpen();
  }
  const gone = [...before].filter(([identity]) => !open.has(identity)).map(([, row]) => row);
  const outcomes = await options.readOutcomes(gone);
  const outcomeOf = new Map(gone.map((row, at) => [row, outcomes[at] ?? null]));
  return { open: before.size, rounds, ...compareOpen(before, open, (row) => outcomeOf.get(row) ?? null) };
}
