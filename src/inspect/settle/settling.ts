/** What webhook events mean for a backfill: it goes on, or somebody says that it is over. */
export type EventMeaning = 'moving' | 'completed';

/** The counts of V4's lists at one moment, by the list's name; null where a list answered 404. */
export interface Observation {
  readonly atMs: number;
  readonly counts: ReadonlyMap<string, number | null>;
}

/** What is known of a backfill that is being watched. */
export interface Settling {
  readonly last: Observation;
  /** Since when every list has had the count it has now. */
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

/** Looks that must agree after a sync reported its end; the full time is for services that report nothing. */
const LOOKS_AFTER_COMPLETION = 2;

/** The first look. */
export function beginSettling(first: Observation): Settling {
  return { last: first, quietSinceMs: first.atMs, moved: [], shrunk: [], completed: false };
}

/** Takes the next look into account: any change, also of which lists there are, starts the quiet time anew. */
export function observe(before: Settling, now: Observation): Settling {
  const names = [...new Set([...before.last.counts.keys(), ...now.counts.keys()])].sort();
  const moved = names.flatMap((list) => {
    const change = { list, before: before.last.counts.get(list) ?? null, now: now.counts.get(list) ?? null };
    const isSame = change.before === change.now && before.last.counts.has(list) === now.counts.has(list);
    return isSame ? [] : [change];
  });
  const shrunk = moved.filter((change) => (change.now ?? 0) < (change.before ?? 0)).map(({ list }) => list);
  return {
    last: now,
    quietSinceMs: moved.length > 0 ? now.atMs : before.quietSinceMs,
    moved,
    shrunk: [...new Set([...before.shrunk, ...shrunk])].sort(),
    completed: before.completed && moved.length === 0,
  };
}

/** Takes an event into account: movement starts the quiet time anew, a completed sync shortens it. */
export function hearEvent(before: Settling, meaning: EventMeaning, atMs: number): Settling {
  return meaning === 'moving'
    ? { ...before, quietSinceMs: Math.max(atMs, before.quietSinceMs), completed: false }
    : { ...before, completed: true };
}

/** The quiet time that is needed, ms. */
export function quietNeeded(
  state: Settling,
  rules: { readonly settleMs: number; readonly pollMs: number },
): number {
  return state.completed ? Math.min(rules.settleMs, LOOKS_AFTER_COMPLETION * rules.pollMs) : rules.settleMs;
}

/** Whether the backfill has settled as of the last look. */
export function hasSettled(
  state: Settling,
  rules: { readonly settleMs: number; readonly pollMs: number },
): boolean {
  return state.last.atMs - state.quietSinceMs >= quietNeeded(state, rules);
}
