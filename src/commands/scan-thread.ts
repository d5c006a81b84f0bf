import { serveThread } from '../runtime/threads.js';
import { type ScanRequest, type ScanResult, scanFiles } from '../scan/scan-files.js';
import { SyntaxParser } from '../scan/syntax.js';

export type ScanThread = {
  readonly scan: (request: ScanRequest) => Promise<ScanResult>;
};

/** The thread that parses: a parser cannot be interrupted, so a signal ends the thread. */
serveThread<ScanThread>((io) => ({
  scan: async (request) => scanFiles(request, io, await SyntaxParser.create()),
}));
