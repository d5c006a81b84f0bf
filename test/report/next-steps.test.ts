import { describe, expect, it } from 'vitest';
import { COUNTERS } from '../../src/limits.js';
import { describeOutcome, reasonsOf, STATUSES } from '../../src/reasons.js';
import { actionFor, nextStep, titleOfKey } from '../../src/report/next-steps.js';

const KEYS = [
  ...STATUSES.flatMap((status) => reasonsOf(status).map((reason) => `${status}/${reason}`)),
  ...COUNTERS,
  'maxAge',
];

const FACTS = { windows: [], spareV4Companies: 0 };

describe('Next', () => {
  it.each(KEYS.filter((key) => !key.endsWith('decided_none')))(
    'says for %s what changes the verdict, never to look again',
    (key) => {
      const action = actionFor(key, FACTS, null);
      expect(titleOfKey(key)).not.toBe(key);
      expect(action).not.toMatch(/`svc-migrate (?:check|status|report|explain|findings)(?! --write)/);
      expect(action).toMatch(
        /`svc-migrate (?:run|remap|findings --write|doctor)|"limits"|operator|companies\.csv|decisions file/,
      );
    },
  );

  it('names the draft of pairs for companies not in V4 where V4 has companies without a pair', () => {
    const stepFor = (spareV4Companies: number) =>
      actionFor('unmatched/company_not_in_v4', { ...FACTS, spareV4Companies }, null);
    expect(stepFor(0)).not.toContain('--write-companies');
    expect(stepFor(1)).toContain('`svc-migrate findings --write-companies companies.csv`');
  });

  it.each(['duplicate_platform_id_v3', 'duplicate_platform_id_v4'])(
    'speaks in %s of line items, too',
    (reason) => {
      const { title, meaning } = describeOutcome('ambiguous', reason);
      expect(title).not.toMatch(/records/);
      expect(meaning).toMatch(/line items/);
    },
  );

  it('takes the first blocker, then the biggest obstacle, then the switch', () => {
    const blocker = {
      code: 'remap_stale',
      outcome: 'incomplete',
      text: '',
      next: 'Run `svc-migrate remap`.',
    } as const;
    const obstacles = [
      { key: 'rejected', limit: { model: null } },
      { key: 'short', limit: { model: null } },
    ];
    expect(nextStep([blocker], obstacles, FACTS)).toBe('Run `svc-migrate remap`.');
    expect(nextStep([], obstacles, FACTS)).toBe(actionFor('rejected', FACTS, null));
    expect(nextStep([], [{ key: 'rejected', limit: { model: 'crm/stages' } }], FACTS)).toContain(
      '"limits": {"models": {"crm/stages": …}}',
    );
    expect(nextStep([], [], FACTS)).toContain('svc-migrate apply plan');
  });
});
