import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { describe, expect, it } from 'vitest';
import { readBody } from '../../src/api/body.js';

const RULES = { maxBytes: 1_000_000, contentLength: null, encoding: null };

/** What undici gives, as far as it is used. */
function bodyOf(chunks: readonly Buffer[]): Dispatcher.ResponseData['body'] {
  return Readable.from(chunks, { objectMode: true }) as unknown as Dispatcher.ResponseData['body'];
}

/** A chunk with memory of its own. */
function ownChunk(size: number, byte: number): Buffer {
  return Buffer.from(new ArrayBuffer(size)).fill(byte);
}

describe('the chunks of a body', () => {
  it('are joined, and those with memory of their own give it back', async () => {
    const chunks = [ownChunk(65_536, 1), ownChunk(100, 2)];
    const body = await readBody(bodyOf(chunks), RULES);
    expect(body).toEqual(Buffer.concat([Buffer.alloc(65_536, 1), Buffer.alloc(100, 2)]));
    expect(chunks.map(({ buffer }) => buffer.byteLength)).toEqual([0, 0]);
  });

  it('leave memory alone that others use too', async () => {
    const slab = ownChunk(65_536, 3);
    const pooled = Buffer.from('short');
    const [first, second, kept] = [
      slab.subarray(0, 30_000),
      slab.subarray(30_000, 60_000),
      slab.subarray(60_000),
    ];
    const body = await readBody(bodyOf([first, pooled, second]), RULES);
    expect(body).toHaveLength(60_005);
    expect(kept).toEqual(Buffer.alloc(5_536, 3));
    expect(pooled.toString()).toBe('short');
  });

  it('are the body where there is one', async () => {
    const chunk = ownChunk(65_536, 1);
    const body = await readBody(bodyOf([chunk]), RULES);
    expect(body).toHaveLength(65_536);
    expect(body[65_535]).toBe(1);
  });
});
