import { sleepForReal } from '../api/sleep.js';
import type { ApplyContext, Tuning } from '../apply/context.js';
import type { Policy } from '../apply/plan.js';
import { SvcError } from '../errors.js';
import { type RemapRun, readRemapRuns } from '../store/evidence.js';
import type { Db } from '../store/open.js';
import { assertDigests } from '../store/remap-digest.js';
import { readVersion } from '../version.js';
import type { WorkIo } from './io.js';

export interface ContextOptions {
  readonly db: Db;
  readonly file: string;
  readonly policy: Policy;
  readonly tuning: Tuning;
}

/**
 * What applying needs of the world, with the remap as it is on disk.
 *
 * @throws SvcError `incomplete` without a remap, `corrupt_database` where its rows are not those that were built
 */
export function buildContext({ db, file, policy, tuning }: ContextOptions, io: WorkIo): ApplyContext {
  const [last] = readRemapRuns(db, 1);
  if (last === undefined) {
    throw new SvcError('incomplete', 'There is no remap yet.', { hint: 'Run `svc-migrate run` first.' });
  }
  io.onProgress({ kind: 'step', name: 'checking the remap', done: 0, total: null });
  assertDigests(db);
  return contextOf({ db, file, policy, tuning }, last, io);
}

/** Ids are put back as they were: no policy plays a part. */
const NO_POLICY: Policy = {
  mode: 'new',
  missing: 'fail',
  unknown: 'fail',
  others: 'fail',
  mapDeleted: false,
  again: false,
};

/** What taking back needs: whatever remap there is, or none. */
export function buildUndoContext(options: Omit<ContextOptions, 'policy'>, io: WorkIo): ApplyContext {
  const [last] = readRemapRuns(options.db, 1);
  return contextOf({ ...options, policy: NO_POLICY }, last ?? { sha256: '', built_at: '' }, io);
}

function contextOf(
  { db, file, policy, tuning }: ContextOptions,
  last: Pick<RemapRun, 'sha256' | 'built_at'>,
  io: WorkIo,
): ApplyContext {
  return {
    remap: db,
    idMaps: new Map(),
    remapFile: file,
    facts: { sha256: last.sha256, builtAt: last.built_at },
    policy,
    tool: `svc-migrate ${readVersion()}`,
    now: io.clock.now,
    sleep: (ms) => sleepForReal(ms, io.signal),
    random: Math.random,
    env: io.env,
    signal: io.signal,
    onProgress: io.onProgress,
    tuning,
  };
}
