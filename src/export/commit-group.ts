/** Added work waits at most this long for more, unless `flushSoon` is called. */
const MAX_WAIT_MS = 40;

/** Combines the work of several callers in one transaction. */
export interface CommitGroup {
  /** Resolves with the result of `work` once it is committed. If any work of a transaction fails, all of it does. */
  add<T>(work: () => T): Promise<T>;
  /** Commits soon, because a caller waits for work that was added or is about to be. */
  flushSoon(): void;
}

interface Entry {
  /** Does the work within the transaction; returns a function that reports success after the commit. */
  readonly run: () => () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Creates a commit group. Committing eight pages takes about as long as committing one. `inTransaction` runs its
 * argument in a transaction, which is committed when it returns.
 */
export function createCommitGroup(inTransaction: <T>(work: () => T) => T): CommitGroup {
  let waiting: Entry[] = [];
  let isUrgent = false;
  let isDue = false;
  let timer: NodeJS.Timeout | undefined;
  const commit = (): void => {
    const entries = waiting;
    waiting = [];
    isUrgent = false;
    isDue = false;
    clearTimeout(timer);
    timer = undefined;
    try {
      const succeed = inTransaction(() => entries.map(({ run }) => run()));
      for (const report of succeed) report();
    } catch (error) {
      for (const { fail } of entries) fail(error);
    }
  };
  const commitSoon = (): void => {
    // two turns of the event loop, to send pending requests and receive responses before the commit blocks
    if (!isDue) setImmediate(() => setImmediate(commit));
    isDue = true;
  };
  return {
    add: (work) =>
      new Promise((resolve, fail) => {
        const run = () => {
          const value = work();
          return () => resolve(value);
        };
        waiting.push({ run, fail });
        if (isUrgent) commitSoon();
        else timer ??= setTimeout(commitSoon, MAX_WAIT_MS);
      }),
    flushSoon: () => {
      isUrgent = true;
      if (waiting.length > 0) commitSoon();
    },
  };
}
