/** What was added waits for more at most so long, ms, unless somebody cannot go on without it. */
const LONGEST_WAIT_MS = 40;

/** Work of several callers on its way into one transaction. */
export interface CommitGroup {
  /** Resolves with what `work` returned once that is committed; if one work of a transaction fails, all of them do. */
  add<T>(work: () => T): Promise<T>;
  /** Somebody waits for what was added, or is about to be: it is committed next. */
  hurry(): void;
}

/**
 * Commits what several callers add in one transaction: a commit costs the disk about the same for one page as for
 * eight. `inTransaction` runs its work in one, committed when it returns.
 */
export function createCommitGroup(inTransaction: <T>(work: () => T) => T): CommitGroup {
  let waiting: Entry[] = [];
  let isUrgent = false;
  let isDue = false;
  let timer: NodeJS.Timeout | null = null;
  const commit = (): void => {
    const entries = waiting;
    waiting = [];
    isUrgent = false;
    isDue = false;
    if (timer !== null) clearTimeout(timer);
    timer = null;
    settle(entries, inTransaction);
  };
  const commitSoon = (): void => {
    // two turns of the event loop: what was just asked for leaves, and what has arrived is taken, before a commit
    if (!isDue) setImmediate(() => setImmediate(commit));
    isDue = true;
  };
  return {
    add: (work) =>
      new Promise((resolve, reject) => {
        waiting.push(entryOf(work, resolve, reject));
        if (isUrgent) commitSoon();
        else timer ??= setTimeout(commitSoon, LONGEST_WAIT_MS);
      }),
    hurry: () => {
      isUrgent = true;
      if (waiting.length > 0) commitSoon();
    },
  };
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

function settle(entries: readonly Entry[], inTransaction: <T>(work: () => T) => T): void {
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
