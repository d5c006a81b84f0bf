import { expect, it } from 'vitest';
import type { Day } from '../../src/report/sections.js';
import { buildMonths } from '../../src/report/sections.js';

const NEWEST = Date.parse('2026-11-20T12:00:00Z');

function day(
  date: string | bigint | null,
  verdict: 'matched' | 'unmatched' | 'other' = 'matched',
  n = 1,
): Day {
  const at = typeof date === 'string' ? BigInt(Math.floor(Date.parse(date) / 86_400_000)) : date;
  return { day: at, matched: 0, unmatched: 0, other: 0, [verdict]: n };
}

it('adds days up to months and keeps the empty ones between them', () => {
  const days = [
    day('2026-08-31'),
    day('2026-08-01', 'unmatched', 4),
    day('2026-10-01', 'other', 2),
    day(null),
  ];
  expect(buildMonths(days, NEWEST)).toEqual({
    months: [
      { month: '2026-08', matched: 1, unmatched: 4, other: 0 },
      { month: '2026-09', matched: 0, unmatched: 0, other: 0 },
      { month: '2026-10', matched: 0, unmatched: 0, other: 2 },
    ],
    earlier: null,
    later: null,
    undated: 1,
  });
});

it('stays bounded whatever dates records claim', () => {
  const days = [
    day('1969-12-31'),
    day('0001-01-01'),
    day('2021-11-30'),
    day('2021-12-01'),
    day('2027-01-01'),
    day('9999-12-31', 'unmatched'),
    day(2n ** 62n),
    day(-(2n ** 62n)),
  ];
  expect(buildMonths(days, NEWEST)).toEqual({
    months: [{ month: '2021-12', matched: 1, unmatched: 0, other: 0 }],
    earlier: { month: 'before 2021-12', matched: 3, unmatched: 0, other: 0 },
    later: { month: 'after 2026-11', matched: 1, unmatched: 1, other: 0 },
    undated: 2,
  });
});

it('keeps the empty months after those that are added up', () => {
  const { months } = buildMonths([day('2021-11-30'), day('2022-01-05')], NEWEST);
  expect(months).toMatchObject([
    { month: '2021-12', matched: 0 },
    { month: '2022-01', matched: 1 },
  ]);
});

it('has nothing to show without records', () => {
  expect(buildMonths([], NEWEST)).toEqual({ months: [], earlier: null, later: null, undated: 0 });
});
