import { setFlagsFromString } from 'node:v8';
import type { Config } from '../config/config.js';
import type { Decision, NamedCompanyPair } from '../config/user-files.js';
import { SvcError } from '../errors.js';
import { buildRemap, type RemapSummary } from '../match/build-remap.js';
import { serveThread } from '../runtime/threads.js';
import { assertSameExport } from '../store/fingerprint.js';
import { guardDatabase } from '../store/open.js';
import { withDatabase } from './database.js';

/** The inputs of a remap. */
export interface RemapRequest {
  readonly config: Config;
  readonly fingerprint: Readonly<Record<string, string>>;
  readonly named: readonly NamedCompanyPair[];
  readonly decisions: readonly Decision[];
  readonly inputs: Readonly<Record<string, string>>;
  readonly nowMs: number;
}

export type RemapThread = { readonly run: (request: RemapRequest) => Promise<RemapSummary> };

// Between two company pairs most of the heap is garbage: by V8's own rule it would grow to five times what is in use.
setFlagsFromString('--heap-growing-percent=40');

/**
 * The thread that builds the remap: its long statements would keep the main thread from handling signals and showing
 * progress.
 */
serveThread<RemapThread>(({ isStopped, onProgress }) => {
  const throwIfStopped = (): void => {
    if (isStopped()) throw new SvcError('interrupted', 'Stopped; the previous remap is unchanged.');
  };
  return {
    run: ({ config, fingerprint, nowMs, ...request }) => {
      const hold = { file: config.database, mode: 'write', command: 'remap', nowMs } as const;
      return withDatabase(hold, async (db) =>
        guardDatabase(config.database, () => {
          assertSameExport(db, fingerprint);
          const clock = { now: () => nowMs };
          return buildRemap({ ...request, db, config, clock, throwIfStopped, onProgress });
        }),
      );
    },
  };
});
