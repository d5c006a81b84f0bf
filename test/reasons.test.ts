import { describe, expect, it } from 'vitest';
import { describeOutcome, REASONS, reasonsOf, STATUSES } from '../src/reasons.js';

const OUTCOMES = STATUSES.flatMap((status) => reasonsOf(status).map((reason) => [status, reason] as const));

describe('the text of a reason', () => {
  it.each(OUTCOMES)('%s/%s has a short title, a sentence and an action', (status, reason) => {
    const { title, meaning, action } = describeOutcome(status, reason);
    expect(title).toMatch(/^[A-Z].{0,44}[^.]$/);
    for (const text of [meaning, action]) expect(text).toMatch(/^[A-Z].*\.$/);
  });

  it('has a title of its own for each status and reason, but where the reason says all', () => {
    const titles = OUTCOMES.map(([status, reason]) => describeOutcome(status, reason).title);
    const shared = titles.filter((title, at) => titles.indexOf(title) !== at);
    expect([...new Set(shared)].sort()).toEqual([
      'Company could not be paired for certain',
      'Company not in V4',
      'Likely twin has another platform_id',
      'List not read to its end',
      'Model not in V4',
      'No platform_id',
    ]);
  });

  it('exists for every reason under at least one status', () => {
    expect(REASONS.filter((reason) => !OUTCOMES.some(([, one]) => one === reason))).toEqual([]);
  });

  it.each([
    [
      'unmatched',
      'parent_outside_backfill_window',
      "Parent: older than V4's history",
      'Its parent: all its dates',
    ],
    ['unmatched', 'parent_model_not_in_v4', 'Parent: model not in V4', 'Its parent: V4 has no such model'],
    ['v4_only', 'unexplained', 'Missing from V3, cause unknown', 'V3 does not have it'],
    ['matched', null, 'Matched', 'It has exactly one twin.'],
  ])('says what %s/%s is', (status, reason, title, meaning) => {
    const text = describeOutcome(status, reason);
    expect(text.title).toBe(title);
    expect(text.meaning.startsWith(meaning), text.meaning).toBe(true);
  });

  it('is empty for a reason that does not exist', () => {
    for (const reason of ['nonsense', 'parent_', 'constructor', 'parent_parent_unexplained']) {
      expect(describeOutcome('unmatched', reason).title).toBe('');
    }
  });
});
