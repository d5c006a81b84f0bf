import type { ApplyResult } from '../apply/actions.js';
import type { Serve } from '../runtime/thread.js';
import { type ApplyJob, runApplyJob } from './apply-work.js';
import type { WorkIo } from './command.js';
import { runUndoJob } from './undo-work.js';

/** The job, and the parts of `Io` that can be sent to a thread. */
export interface ApplyThreadInput extends Pick<WorkIo, 'env' | 'width' | 'startMs'> {
  readonly job: ApplyJob;
}

export type ApplyThread = { readonly run: (input: ApplyThreadInput) => Promise<ApplyResult> };

/**
 * The thread of the commands of `apply`: long SQLite statements would keep the main thread from handling signals and showing
 * progress.
 */
export const serve: Serve<ApplyThread> = ({ signal, onProgress }) => ({
  run: ({ job, ...given }) => {
    const io: WorkIo = { ...given, signal, onProgress, clock: { now: Date.now } };
    const { action } = job.request;
    return action === 'undo' || action === 'runs' ? runUndoJob(job, io) : runApplyJob(job, io);
  },
});
