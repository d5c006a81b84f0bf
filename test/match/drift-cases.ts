/** The rules of drift, and values that are the same or different by them. */
export const RULES = {
  fieldPrefix: 'svc_',
  ignored: new Set(['updated_at', 'line_items']),
};

export const SAME: readonly (readonly [string, unknown, unknown])[] = [
  ['decimal text and number', '10.50', 10.5],
  ['numbers in other spellings', 1e3, '1000'],
  ['two decimal texts', '10.50', '10.5'],
  ['zero with a sign', 0, '-0.00'],
  ['an instant without milliseconds', '2026-01-02T03:04:05Z', '2026-01-02T03:04:05.678Z'],
  ['an instant with an offset', '2026-01-02T03:04:05Z', '2026-01-02T04:04:05+01:00'],
  ['a date and its midnight', '2026-01-02', '2026-01-02T00:00:00.000Z'],
  ['lists in another order', ['a', 'b', 'a'], ['a', 'a', 'b']],
  ['service fields inside', { svc_id: 1, name: 'x' }, { svc_id: 2, name: 'x' }],
  ['only what both carry inside', { name: 'x', more: 1 }, { name: 'x' }],
];

export const DIFFERENT: readonly (readonly [string, unknown, unknown])[] = [
  ['amounts', '10.50', 10.51],
  ['texts that look like numbers', '007', '7'],
  ['numbers of other size', 1, 10],
  ['a boolean and its text', true, 'true'],
  ['a number and null', 1, null],
  ['instants a second apart', '2026-01-02T03:04:05Z', '2026-01-02T03:04:06Z'],
  ['milliseconds where both have them', '2026-01-02T03:04:05.100Z', '2026-01-02T03:04:05.200Z'],
  ['a whole second and a part of it', '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.200Z'],
  ['lists with another count', ['a', 'b', 'b'], ['a', 'a', 'b']],
  ['lists of another length', ['a'], ['a', 'a']],
  ['a value inside', { name: 'x' }, { name: 'y' }],
  ['case', 'Draft', 'draft'],
];
