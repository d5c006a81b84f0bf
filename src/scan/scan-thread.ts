import { serveThread } from '../runtime/threads.js';
import { type ScanRequest, type ScanResult, scanFiles } from './scan-files.js';
import { SyntaxParser } from './syntax.js';

export type ScanThread = { readonly run: (request: ScanRequest) => Promise<ScanResult> };

/** The thread that parses: a parser cannot be interrupted, so a signal ends the thread. */
serveThread<ScanThread>(({ isStopped, onProgress }) => ({
  run: async (request) => scanFiles(request, { isStopped, onProgress }, await SyntaxParser.create()),
}));
