import type { OpenRow } from '../../store/open-findings.js';
import type { RoundResult } from './round.js';

/** A finding that was open at the start and is not any more. */
export interface HealedFinding {
  readonly row: OpenRow;
  /** `status/reason`. */
  readonly before: string;
  /** null: no row bears its id any more. */
  readonly after: string | null;
}

/** What a recheck found out. */
export interface RecheckResult {
  /** Findings that were open at the start. */
  readonly open: number;
  readonly rounds: readonly RoundResult[];
  readonly healed: readonly HealedFinding[];
  /** Open from the start to the end, by `status/reason` as it is now. */
  readonly persisted: Readonly<Record<string, number>>;
  /** Open at the end and not at the start, by `status/reason`. */
  readonly appeared: Readonly<Record<string, number>>;
}

/** `unmatched/unexplained`. */
function outcomeOf({ status, reason }: Pick<OpenRow, 'status' | 'reason'>): string {
  return reason === null ? status : `${status}/${reason}`;
}

/** Open findings by their identity: the id of either side with its place. */
export function indexOpen(rows: Iterable<OpenRow>): Map<string, OpenRow> {
  const open = new Map<string, OpenRow>();
  for (const row of rows) open.set(identityOf(row), row);
  return open;
}

function identityOf({ model, path, region, v3CompanyId, v3SvcId, v4CompanyId, v4SvcId }: OpenRow): string {
  return v3SvcId === null
    ? `v4 ${model} ${path} ${v4CompanyId} ${v4SvcId}`
    : `v3 ${model} ${path} ${region} ${v3CompanyId} ${v3SvcId}`;
}

/** Holds the open findings of the end against those of the start. */
export function compareOpen(
  before: ReadonlyMap<string, OpenRow>,
  after: ReadonlyMap<string, OpenRow>,
  outcomeNow: (row: OpenRow) => string | null,
): Pick<RecheckResult, 'healed' | 'persisted' | 'appeared'> {
  const healed: HealedFinding[] = [];
  const persisted: Record<string, number> = {};
  const appeared: Record<string, number> = {};
  for (const [identity, row] of before) {
    if (!after.has(identity)) healed.push({ row, before: outcomeOf(row), after: outcomeNow(row) });
  }
  for (const [identity, row] of after) {
    const counts = before.has(identity) ? persisted : appeared;
    counts[outcomeOf(row)] = (counts[outcomeOf(row)] ?? 0) + 1;
  }
  return { healed, persisted, appeared };
}

/** 0 everything was asked, 4 something could not be. */
export function judgeRecheck({ rounds }: RecheckResult): 0 | 4 {
  const last = rounds.at(-1);
  return last !== undefined && last.failed + last.unfinished > 0 ? 4 : 0;
}
