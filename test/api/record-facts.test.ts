import { afterEach, describe, expect, it } from 'vitest';
import { comparedFields, digestFacts, latestDate } from '../../src/api/record-facts.js';

const { TZ } = process.env;

afterEach(() => {
  if (TZ === undefined) delete process.env['TZ'];
  else process.env['TZ'] = TZ;
});

describe('values of a compared field', () => {
  const digestOf = (value: unknown) => digestFacts({ created_at: value }, comparedFields([]));

  it.each<[unknown, unknown]>([
    ['2026-01-02T03:04:05', '2026-01-02T03:04:05Z'],
    ['2026-01-02 03:04:05', '2026-01-02T03:04:05.999Z'],
    ['2026-01-02', '2026-01-02T00:00:00'],
    ['2026-01-02T03:04:05Z', '2026-01-02T04:04:05+01:00'],
    ['1.50', 1.5],
    ['2.0', 2],
  ])('%s and %s are equal in every time zone', (a, b) => {
    for (const zone of ['UTC', 'America/New_York', 'Asia/Kolkata']) {
      process.env['TZ'] = zone;
      expect(digestOf(a), zone).toEqual(digestOf(b));
    }
  });

  it.each<[unknown, unknown]>([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:06Z'],
    ['2026-02-31', '2026-03-03'],
    ['1.5', '1.51'],
    ['a', 'b'],
    ['', 'a'],
  ])('%s and %s differ', (a, b) => {
    expect(digestOf(a)).not.toEqual(digestOf(b));
  });
});

describe('the latest date of a record', () => {
  it.each<[string, string, string]>([
    ['2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.001Z', '2026-01-02T03:04:05.001Z'],
    ['2026-01-02T03:04:05Z', '2026-01-02 23:04:05Z', '2026-01-02T23:04:05Z'],
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.900Z', '2026-01-02T03:04:05.900Z'],
    ['2026-01-02T03:04:05.100Z', '2026-01-02T03:04:05,900Z', '2026-01-02T03:04:05.900Z'],
    ['2026-01-02T03:04:05.000Z', '2026-01-02 23:04:05.000Z', '2026-01-02T23:04:05.000Z'],
    ['2026-01-02T23:04:05.000Z', '2026-01-03', '2026-01-03T00:00:00.000Z'],
    ['2026-13-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z'],
  ])('of %s and %s is %s, in any order', (a, b, latest) => {
    for (const [created_at, updated_at] of [
      [a, b],
      [b, a],
    ])
      expect(latestDate({ created_at, updated_at }, ['created_at', 'updated_at'])).toBe(Date.parse(latest));
  });
});
