/** Pages wait for each other at most so long, ms. */
const LONGEST_WAIT_MS = 20;

export interface CommitGroupOptions {
  /** Runs `work` in one transaction, committed when it returns. */
  readonly inTransaction: <T>(work: () => T) => T;
  /** How many callers there are that may add: with all of them here there is nobody to wait for. */
  readonly callers: () => number;
}

/**
 * Commits what several callers add in one transaction: a commit costs the disk about the same for one page as for
 * eight. Who adds waits for others only while commits are the bottleneck: the last one ended a moment ago, less than it
 * took. The promise resolves once committed; if one work fails, all of its group do.
 */
export function createCommitGroup({
  inTransaction,
  callers,
}: CommitGroupOptions): <T>(work: () => T) => Promise<T> {
  let waiting: Entry[] = [];
  let timer: NodeJS.Timeout | null = null;
  let endedAt = Number.NEGATIVE_INFINITY;
  let tookMs = 0;
  const commit = (): void => {
    const entries = waiting;
    waiting = [];
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const startedAt = performance.now();
    settle(entries, inTransaction);
    endedAt = performance.now();
    tookMs = endedAt - startedAt;
  };
  return (work) =>
    new Promise((resolve, reject) => {
      waiting.push(entryOf(work, resolve, reject));
      const isBusy = performance.now() - endedAt < tookMs;
      if (!isBusy || waiting.length >= callers()) commit();
      else timer ??= setTimeout(commit, Math.min(tookMs, LONGEST_WAIT_MS));
    });
}

interface Entry {
  /** Does the work within a transaction. */
  readonly run: () => void;
  readonly succeed: () => void;
  readonly fail: (error: unknown) => void;
}

function entryOf<T>(work: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): Entry {
  let done: { readonly value: T } | null = null;
  return {
    run: () => {
      done = { value: work() };
    },
    succeed: () => {
      if (done !== null) resolve(done.value);
    },
    fail: reject,
  };
}

function settle(entries: readonly Entry[], inTransaction: CommitGroupOptions['inTransaction']): void {
  try {
    inTransaction(() => {
      for (const { run } of entries) run();
    });
  } catch (error) {
    for (const { fail } of entries) fail(error);
    return;
  }
  for (const { succeed } of entries) succeed();
}
