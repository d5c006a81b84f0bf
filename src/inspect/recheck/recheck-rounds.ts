import type { OnProgress } from '../../domain.js';
import type { OpenRow } from '../../store/open-findings.js';
import { formatDuration } from '../../text/numbers.js';
import type { RoundResult } from './run-round.js';

export interface RecheckOptions {
  /** Number of rounds, from 1 up. */
  readonly times: number;
  /** Between two rounds. */
  readonly everyMs: number;
  /** Requests again and stores what has changed. */
  readonly runRound: () => Promise<RoundResult>;
  readonly rebuildRemap: () => Promise<unknown>;
  /** The open findings of the current remap, by identity. */
  readonly readOpen: () => Promise<ReadonlyMap<string, OpenRow>>;
  /** What earlier rows are now, in their order. */
  readonly readOutcomes: (rows: readonly OpenRow[]) => Promise<readonly (string | null)[]>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onProgress: OnProgress;
}

/** A finding that was open at the start and is not any more. */
export interface HealedFinding {
  readonly row: OpenRow;
  /** `status/reason`. */
  readonly before: string;
  /** null: no row has its id any more. */
  readonly after: string | null;
}

/** What a recheck found out. */
export interface RecheckResult {
  /** Findings that were open at the start. */
  readonly open: number;
  readonly rounds: readonly RoundResult[];
  readonly healed: readonly HealedFinding[];
  /** Open from the start to the end, by current `status/reason`. */
  readonly persisted: Readonly<Record<string, number>>;
  /** Open at the end and not at the start, by `status/reason`. */
  readonly appeared: Readonly<Record<string, number>>;
}

/**
 * Requests the open findings again, as often as wanted, and rebuilds the remap after each round. A finding
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
  const closed = [...before].filter(([identity]) => !open.has(identity)).map(([, row]) => row);
  const outcomes = await options.readOutcomes(closed);
  const healed = closed.map((row, at) => ({ row, before: outcomeOf(row), after: outcomes[at] ?? null }));
  const persisted: Record<string, number> = {};
  const appeared: Record<string, number> = {};
  for (const [identity, row] of open) {
    const counts = before.has(identity) ? persisted : appeared;
    counts[outcomeOf(row)] = (counts[outcomeOf(row)] ?? 0) + 1;
  }
  return { open: before.size, rounds, healed, persisted, appeared };
}

/** `unmatched/unexplained`. */
function outcomeOf({ status, reason }: OpenRow): string {
  return reason === null ? status : `${status}/${reason}`;
}

/** Open findings by their identity: the id of either side with its place. */
export function indexOpen(rows: Iterable<OpenRow>): Map<string, OpenRow> {
  const open = new Map<string, OpenRow>();
  for (const row of rows) {
    const { model, path, region, v3CompanyId, v3SvcId, v4CompanyId, v4SvcId } = row;
    const identity =
      v3SvcId === null
        ? `v4 ${model} ${path} ${v4CompanyId} ${v4SvcId}`
        : `v3 ${model} ${path} ${region} ${v3CompanyId} ${v3SvcId}`;
    open.set(identity, row);
  }
  return open;
}

/** 0 everything was requested, 4 something could not be. */
export function judgeRecheck({ rounds }: RecheckResult): 0 | 4 {
  const last = rounds.at(-1);
  return last !== undefined && last.failed + last.unfinished > 0 ? 4 : 0;
}
