import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the space for young objects as small as it is, in the heaps of all threads: pages are large and short-lived, so
 * that more room for them costs memory and, once the collector takes the old space for nearly full because of it, time.
 *
 * Call it again when another thread has started: V8 sets the factor back to 2 whenever a heap begins.
 */
export function keepYoungSpaceSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
