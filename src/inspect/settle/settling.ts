/** What webhook events mean for a backfill: it continues, or a sync reports that it is over. */
export type EventMeaning = 'moving' | 'completed';

/** The counts of V4's lists at one moment, by the list's name; null where a list answered 404. */
export interface Observation {
  readonly atMs: number;
  readonly counts: ReadonlyMap<string, number | null>;
}

/** What is known of a backfill that is being watched. */
export interface Settling {
  readonly last: Observation;
  /** Since when every list has had its current count. */
  readonly quietSinceMs: number;
  /** Lists whose count changed at the last look, and by how much. */
  readonly moved: readonly {
    readonly list: string;
    readonly before: number | null;
    readonly now: number | null;
  }[];
  /** Lists that lost records at some look: a backfill only adds. */
  readonly shrunk: readonly string[];
  /** Whether a sync reported its end after the last sign of movement. */
  readonly completed: boolean;
}

/** When a backfill counts as settled. */
export interface SettleRules {
  /** How long every count must stay the same. */
  readonly settleMs: number;
  readonly pollMs: number;
}

/** Looks that must agree after a sync reported its end; the full time is for services that report nothing. */
const LOOKS_AFTER_COMPLETION = 2;

/** The first look. */
export function beginSettling(first: Observation): Settling {
  return { last: first, quietSinceMs: first.atMs, moved: [], shrunk: [], completed: false };
}

/** Takes the next look into account: any change, also of which lists there are, restarts the quiet time. */
export function observe({ last, quietSinceMs, shrunk, completed }: Settling, now: Observation): Settling {
  const names = [...new Set([...last.counts.keys(), ...now.counts.keys()])].sort();
  const moved = names.flatMap((list) => {
    const change = { list, before: last.counts.get(list) ?? null, now: now.counts.get(list) ?? null };
    const isSame = change.before === change.now && last.counts.has(list) === now.counts.has(list);
    return isSame ? [] : [change];
  });
  const lost = moved.filter((change) => (change.now ?? 0) < (change.before ?? 0)).map(({ list }) => list);
  return {
    last: now,
    quietSinceMs: moved.length > 0 ? now.atMs : quietSinceMs,
    moved,
    shrunk: [...new Set([...shrunk, ...lost])].sort(),
    completed: completed && moved.length === 0,
  };
}

/** Takes an event into account: movement restarts the quiet time, a completed sync shortens it. */
export function recordEvent(before: Settling, meaning: EventMeaning, atMs: number): Settling {
  if (meaning === 'completed') return { ...before, completed: true };
  return { ...before, quietSinceMs: Math.max(atMs, before.quietSinceMs), completed: false };
}

/** The quiet time that is needed, ms. */
export function quietNeeded({ completed }: Settling, { settleMs, pollMs }: SettleRules): number {
  return completed ? Math.min(settleMs, LOOKS_AFTER_COMPLETION * pollMs) : settleMs;
}

/** Whether the backfill has settled as of the last look. */
export function hasSettled(state: Settling, rules: SettleRules): boolean {
  return state.last.atMs - state.quietSinceMs >= quietNeeded(state, rules);
}
