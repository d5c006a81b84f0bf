import { serveThread } from '../../runtime/threads.js';
import { SyntaxParser } from '../syntax.js';
import { type FixPlan, type FixRequest, planFix } from './fix-files.js';

export type FixThread = { readonly run: (request: FixRequest) => Promise<FixPlan> };

/** The thread that plans patches: a parser cannot be interrupted, so a signal ends the thread. */
serveThread<FixThread>(({ isStopped, onProgress }) => ({
  run: async (request) => planFix(request, { isStopped, onProgress }, await SyntaxParser.create()),
}));
