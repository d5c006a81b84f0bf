import { SvcError } from '../errors.js';
import { runInThread } from '../runtime/threads.js';
import type { ScanRequest, ScanResult } from '../scan/scan-files.js';
import type { ScanThread } from '../scan/scan-thread.js';
import type { Io } from './io.js';

/** After a signal, the thread has this long to stop before it is terminated, ms. */
const STOP_MS = 500;

/** Options of a thread that parses files and writes none. */
export function scanThread(module: string) {
  return {
    name: 'scan',
    module: new URL(module, import.meta.url),
    end: { afterMs: STOP_MS, error: () => new SvcError('interrupted', 'Stopped; nothing was written.') },
  };
}

export function findUses(request: ScanRequest, io: Io): Promise<ScanResult> {
  io.onProgress({ kind: 'stage', name: 'scan' });
  return runInThread<ScanThread>(scanThread('../scan/scan-thread.js'), io, request);
}
