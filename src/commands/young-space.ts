import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the space for young objects of this thread's heap as small as it is: pages are large and short-lived, so that
 * more room for them costs memory and, once the collector takes the old space for nearly full because of it, time.
 *
 * Call it again when another thread has started: V8 sets the factor to 2 for the heap of each, and for all heaps.
 */
export function keepYoungSpaceSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}
