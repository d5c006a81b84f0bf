import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SpilledNumbers } from '../../src/match/spilled-numbers.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-migrate-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Ids in no order, some of them beyond 2^32; each comes once unless `count` is larger than there are. */
function scattered(count: number, stride: number): number[] {
  return Array.from({ length: count }, (_, at) => 1 + ((at * 7_919) % count) * stride);
}

describe('spilled numbers', () => {
  // 100,000 of them are written in four goes; 150,000 apart they lie in 40,000 spans, up to id 6,000,000,000
  it.each([
    [0, 1],
    [1, 1],
    [32_767, 1],
    [32_768, 1],
    [32_769, 3],
    [100_000, 13],
    [40_000, 150_000],
  ])('are what was set last: %i ids, %i apart', (count, stride) => {
    const numbers = new SpilledNumbers(folder);
    const oracle = new Map<number, number>();
    for (const [at, id] of scattered(count, stride).entries()) {
      numbers.set(id, at + 2 ** 40);
      oracle.set(id, at + 2 ** 40);
    }
    for (const id of scattered(Math.min(count, 500), stride)) {
      numbers.set(id, id + 7);
      oracle.set(id, id + 7);
    }
    const asked = [...oracle.keys()].flatMap((id) => [id - 1, id, id + 1]).sort((a, b) => a - b);
    const wrong = asked.filter((id) => numbers.get(id) !== (oracle.get(id) ?? 0));
    expect(wrong).toEqual([]);
    numbers.close();
  });

  it('are right in any order of asking, and between settings', () => {
    const numbers = new SpilledNumbers(folder);
    const ids = scattered(300, 100_003);
    for (const id of ids) {
      numbers.set(id, id * 2);
      expect(numbers.get(id)).toBe(id * 2);
      expect(numbers.get(1)).toBe(2);
    }
    expect(ids.filter((id) => numbers.get(id) !== id * 2)).toEqual([]);
    numbers.close();
  });

  it('are not those from before more were written', () => {
    const numbers = new SpilledNumbers(folder);
    expect(numbers.get(5)).toBe(0);
    // as many as are written at once, so that none waits when they are asked for
    for (let id = 1; id <= 32_768; id++) numbers.set(id, id);
    expect(numbers.get(5)).toBe(5);
    numbers.close();
  });

  it('leave no file, not even while they are used', () => {
    const numbers = new SpilledNumbers(folder);
    for (const id of scattered(40_000, 1)) numbers.set(id, 1);
    expect(readdirSync(folder)).toEqual([]);
    numbers.close();
  });

  it('say where they cannot be', () => {
    const make = () => new SpilledNumbers(join(folder, 'none'));
    const hint = 'Name another folder in TMPDIR, then run the same command again.';
    expect(make).toThrow(expect.objectContaining({ code: 'disk', hint, facts: { error: 'ENOENT' } }));
  });
});
