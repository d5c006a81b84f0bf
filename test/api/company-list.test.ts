import { describe, expect, it } from 'vitest';
import { type CompanyWalk, judgeWalks, type WalkVerdict } from '../../src/api/company-list.js';

function walk(ids: readonly number[], totalCount: number | null, added = 0, pages = 2): CompanyWalk {
  return { pages, totalCount, added, ids: new Set(ids.map(BigInt)) };
}

describe('what follows a walk of the V4 company list', () => {
  it.each<[string, CompanyWalk[], number, WalkVerdict]>([
    ['a count that is reached: it is read', [walk([1, 2], 2, 2)], 2, 'complete'],
    ['a count below what was found: it is read', [walk([1, 2], 1, 2)], 2, 'complete'],
    ['an empty list without a count: it is read', [walk([], null, 0, 1)], 0, 'complete'],
    ['one page without a count: it is read', [walk([1], null, 1, 1)], 1, 'complete'],
    ['several pages without a count: once more', [walk([1, 2], null, 2)], 2, 'again'],
    ['without a count, nothing new: it is read', [walk([1, 2], null, 2), walk([1], null)], 2, 'complete'],
    ['without a count, something new: once more', [walk([1], null, 1), walk([2], null, 1)], 2, 'again'],
    ['a higher count: once more', [walk([1, 2], 3, 2)], 2, 'again'],
    [
      'a count that two walks reach together: it is read',
      [walk([1, 2], 3, 2), walk([2, 3], 3, 1)],
      3,
      'complete',
    ],
    ['two walks that agree against the count: short', [walk([1, 2], 3, 2), walk([1, 2], 3)], 2, 'short'],
    [
      'two walks that agree and an earlier one that did not: short',
      [walk([1], 4, 1), walk([2, 3], 4, 2), walk([2, 3], 4)],
      3,
      'short',
    ],
    [
      'two walks that disagree, under the count: once more',
      [walk([1, 2], 4, 2), walk([2, 3], 4, 1)],
      3,
      'again',
    ],
    ['five walks that disagree: not read', [1, 2, 3, 4, 5].map((id) => walk([id], 9, 1)), 5, 'incomplete'],
  ])('%s', (_, walks, found, verdict) => {
    expect(judgeWalks(walks, found)).toBe(verdict);
  });
});
