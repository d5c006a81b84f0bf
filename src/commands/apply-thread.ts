import type { ApplyResult } from '../apply/actions.js';
import { serveThread } from '../runtime/threads.js';
import { type ApplyJob, doApply } from './apply-work.js';
import type { WorkIo } from './io.js';
import { doUndo, type UndoJob } from './undo-work.js';

/** The job, and what it needs of the process. */
export interface ApplyThreadInput extends Pick<WorkIo, 'env' | 'width' | 'startMs'> {
  readonly job: ApplyJob | UndoJob;
}

export type ApplyThread = { readonly run: (input: ApplyThreadInput) => Promise<ApplyResult> };

/**
 * The thread that applies and undoes: SQLite's long statements would keep the main thread from hearing a signal and
 * from showing progress.
 */
serveThread<ApplyThread>(({ signal, onProgress }) => ({
  run: ({ job, ...given }) => {
    const io: WorkIo = { ...given, signal, onProgress, clock: { now: Date.now } };
    return job.kind === 'apply' ? doApply(job, io) : doUndo(job, io);
  },
}));
