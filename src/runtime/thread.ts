import { serveThread } from './threads.js';

/** The only file that a thread begins with. It runs the module that it was started for. */
await serveThread();
