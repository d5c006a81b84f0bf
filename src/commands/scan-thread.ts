import type { Serve } from '../runtime/thread.js';
import { type ScanRequest, scanFiles } from '../scan/scan-files.js';
import type { ScanResult } from '../scan/scan-report.js';
import { SyntaxParser } from '../scan/syntax.js';

export type ScanThread = { readonly run: (request: ScanRequest) => Promise<ScanResult> };

/** The thread that parses: a parser cannot be interrupted. */
export const serve: Serve<ScanThread> = (io) => ({
  run: async (request) => scanFiles(request, io, await SyntaxParser.create()),
});
