/** What was added waits for more at most so long, ms, unless somebody cannot go on without it. */
const MAX_WAIT_MS = 40;

/** Work of several callers on its way into one transaction. */
export interface CommitGroup {
  /** Resolves with what `work` returned once that is committed; if one work of a transaction fails, all of them do. */
  add<T>(work: () => T): Promise<T>;
  /** Somebody waits for what was added, or is about to be: it is committed next. */
  flushSoon(): void;
}

interface Entry {
  /** Does the work within a transaction; what it returns reports success once that is committed. */
  readonly run: () => () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Commits what several callers add in one transaction: a commit costs the disk about the same for one page as for
 * eight. `inTransaction` runs its work in one, committed when it returns.
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
    // two turns of the event loop: what was just asked for leaves, and what has arrived is taken, before a commit
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
