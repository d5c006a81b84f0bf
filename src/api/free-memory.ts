import { MessageChannel } from 'node:worker_threads';

/** Nobody listens at its other end: what is moved into it is gone. */
const { port1: nowhere, port2: deafEnd } = new MessageChannel();
deafEnd.close();

/** False where others may use the same memory: Node's pool of small buffers, or what several sockets receive. */
export function ownsMemory(bytes: Uint8Array): boolean {
  return bytes.byteLength === bytes.buffer.byteLength;
}

/**
 * Gives the memory of buffers back now. It would wait for the garbage collector otherwise, which does not see how
 * much hangs on the small objects that it counts. Nobody may look at the buffers again: they are empty from here on.
 *
 * Each must be the caller's alone, and can be given once: Node 20 passes over what cannot be moved, such as its pool of
 * small buffers, and later versions throw DataCloneError. Before the first turn of the event loop nothing is freed yet.
 */
export function freeMemory(buffers: readonly ArrayBufferLike[]): void {
  const own = buffers.filter((buffer) => buffer instanceof ArrayBuffer);
  nowhere.postMessage(null, [...new Set(own)]);
}
