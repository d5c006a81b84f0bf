import { describe, expect, it } from 'vitest';
import type { StoredChild } from '../../src/json/stored-lists.js';
import { judgeChildren } from '../../src/match/judge-children.js';
import { cpuMsOf, growthOf } from '../support/growth.js';

/** Children in which everything is compared with everything, unless each is looked up. */
const CROWDS: readonly (readonly [string, (gen: 3 | 4, at: number) => StoredChild])[] = [
  ['of one key', (gen, at) => ['line_items', `${gen}${at}`, 'a', null, 0]],
  [
    'of one key, deleted but for one',
    (gen, at) => ['line_items', `${gen}${at}`, 'a', null, at === 0 ? 0 : 1],
  ],
  ['of one key with unique ids', (gen, at) => ['line_items', `${gen}${at}`, 'a', `u${at}`, 0]],
  ['of one folded key', (gen, at) => ['line_items', `${gen}${at}`, `${'0'.repeat(gen)}${at % 2}`, null, 0]],
  ['of one unique id', (gen, at) => ['line_items', `${gen}${at}`, `${gen}-${at}`, 'u', 0]],
  [
    'of the same keys in another order',
    (gen, at) => ['line_items', `${gen}${at}`, `${gen === 3 ? at : -at}`, null, 0],
  ],
];

describe('many children', () => {
  const FEW = 2000;
  const TIMES = 8;
  it.each(CROWDS)(`%s take time in proportion, and so do their rows (${TIMES} × ${FEW})`, (_, childOf) => {
    const crowd = (count: number) => {
      const listOf = (gen: 3 | 4) => Array.from({ length: count }, (_unused, at) => childOf(gen, at));
      return [listOf(3), listOf(4)] as const;
    };
    const [few, many] = [crowd(FEW), crowd(FEW * TIMES)];
    const sizeOf = ([v3, v4]: ReturnType<typeof crowd>) => JSON.stringify(judgeChildren(v3, v4, null)).length;
    expect(sizeOf(many)).toBeLessThan(sizeOf(few) * TIMES * 1.5);
    const growth = growthOf(
      () => cpuMsOf(() => judgeChildren(...few, null)),
      () => cpuMsOf(() => judgeChildren(...many, null)),
      TIMES * 4,
    );
    expect(growth).toBeLessThan(TIMES * 4);
  });
});
