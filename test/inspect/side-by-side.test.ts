import { expect, it } from 'vitest';
import { buildFieldLines } from '../../src/inspect/side-by-side.js';

it.each([
  ['a', 'a', 'same'],
  ['a', 'A', 'differs'],
  ['1.0', '1', 'same'],
  [1, '1', 'same'],
  [1.5, 1.25, 'differs'],
  ['9007199254740993', '9007199254740992', 'differs'],
  [9007199254740993n, '9007199254740993', 'same'],
  ['2026-01-02T00:00:00Z', '2026-01-02T01:00:00+01:00', 'same'],
  ['2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z', 'differs'],
  ['2026-13-02', '2026-14-02', 'differs'],
  ['1e3', '1000', 'differs'],
  [null, undefined, 'same'],
  [null, '', 'one_side'],
  [0, undefined, 'one_side'],
  [[1, 2], ['x', 'y'], 'same'],
  [[1], [1, 2], 'differs'],
  [{ a: 1 }, { b: 2 }, 'same'],
  [{ a: 1 }, {}, 'differs'],
])('%s beside %s: %s', (v3, v4, verdict) => {
  expect(buildFieldLines({ memo: v3 }, { memo: v4 }, 'svc_')).toMatchObject([{ name: 'memo', verdict }]);
});

it('puts the fields of the service first, then the keys, and does not compare the former', () => {
  const v3 = { name: 'x', platform_unique_id: 'u', svc_id: 1, platform_id: 'k', svc_hash: 'h' };
  const lines = buildFieldLines(v3, { svc_id: 2, platform_id: 'k', extra: true }, 'svc_');
  expect(lines.map(({ name, verdict }) => [name, verdict])).toEqual([
    ['svc_id', 'service'],
    ['svc_hash', 'service'],
    ['platform_unique_id', 'one_side'],
    ['platform_id', 'same'],
    ['name', 'one_side'],
    ['extra', 'one_side'],
  ]);
});

it('compares nothing where there is one record', () => {
  expect(buildFieldLines(null, { name: 'x', svc_id: 1 }, 'svc_')).toEqual([
    { name: 'svc_id', v3: null, v4: '1', verdict: 'service' },
    { name: 'name', v3: null, v4: 'x', verdict: 'alone' },
  ]);
});
