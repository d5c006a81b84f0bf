import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { freeMemory } from '../../src/api/free-memory.js';

describe('memory that is given back', () => {
  it('is empty at once, named once or twice', () => {
    const [one, other, kept] = [new ArrayBuffer(65_536), new ArrayBuffer(8), new ArrayBuffer(8)];
    freeMemory([one, other, one]);
    expect([one.byteLength, other.byteLength, kept.byteLength]).toEqual([0, 0, 8]);
  });

  it('stays where it is shared with another thread', () => {
    const shared = new SharedArrayBuffer(8);
    freeMemory([shared]);
    expect(shared.byteLength).toBe(8);
  });

  it('waits for no garbage collector', async () => {
    // the end that listens to nothing closes in a later turn of the event loop
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 64; i++) freeMemory([new ArrayBuffer(1_048_576)]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1_048_576);
  });
});
