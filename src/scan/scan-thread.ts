import { serveThread } from '../runtime/threads.js';
import { type ScanRequest, type ScanResult, scanFiles } from './scan-files.js';

export type ScanThread = { readonly run: (request: ScanRequest) => Promise<ScanResult> };

/** The thread that parses: a parser cannot be interrupted, so a signal ends the thread. */
serveThread<ScanThread>(({ isStopped, onProgress }) => ({
  run: (request) => scanFiles(request, { isStopped, onProgress }),
}));
