import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIsoDate } from '../../src/api/record-facts.js';
import { campaignSize } from '../support/campaign.js';

function parse(text: string): number | null {
  const ms = parseIsoDate(text);
  return Number.isNaN(ms) ? null : ms;
}

const READABLE: readonly (readonly [string, string])[] = [
  ['2023-02-28', '2023-02-28T00:00:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['2000-02-29', '2000-02-29T00:00:00.000Z'],
  ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['0000-01-01', '0000-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ['2023-01-02T03:04Z', '2023-01-02T03:04:00.000Z'],
  ['2023-01-02T03:04', '2023-01-02T03:04:00.000Z'],
  ['2023-01-02T03:04:05', '2023-01-02T03:04:05.000Z'],
  ['2023-01-02 03:04:05', '2023-01-02T03:04:05.000Z'],
  ['2023-01-02t03:04:05z', '2023-01-02T03:04:05.000Z'],
  ['2023-01-02T03:04:05.1Z', '2023-01-02T03:04:05.100Z'],
  ['2023-01-02T03:04:05.12', '2023-01-02T03:04:05.120Z'],
  ['2023-01-02T03:04:05,123Z', '2023-01-02T03:04:05.123Z'],
  ['2023-01-02T03:04:05.123456789012345678901234567890Z', '2023-01-02T03:04:05.123Z'],
  ['2023-01-02T03:04:05+02:00', '2023-01-02T01:04:05.000Z'],
  ['2023-01-02T03:04:05.5-0530', '2023-01-02T08:34:05.500Z'],
  ['2023-01-01T00:30:00+01', '2022-12-31T23:30:00.000Z'],
  ['2023-01-01T03:04+01:00', '2023-01-01T02:04:00.000Z'],
  ['2023-01-01+02:00', '2022-12-31T22:00:00.000Z'],
  ['2023-01-01Z', '2023-01-01T00:00:00.000Z'],
  ['2023-12-31T24:00:00Z', '2024-01-01T00:00:00.000Z'],
  ['2023-12-31T24:00', '2024-01-01T00:00:00.000Z'],
];

const NONSENSE = [
  '',
  '2023',
  '2023-01',
  '2023-1-1',
  '20230101',
  '2023-W01-1',
  '2023-001',
  '+002023-01-01',
  '-2023-01-01',
  '23-01-01',
  '2023-00-01',
  '2023-13-01',
  '2023-01-00',
  '2023-01-32',
  '2023-02-29',
  '2023-02-30',
  '1900-02-29',
  '2023-04-31',
  '2023/01-01',
  '2023-01/01',
  'ab23-01-01',
  '20ab-01-01',
  '2023-01-01T',
  '2023-01-01T3',
  '2023-01-01T03',
  '2023-01-01T3:04',
  '2023-01-01Tab:04',
  '2023-01-01T03:ab',
  '2023-01-01T03.04',
  '2023-01-01T03:4',
  '2023-01-01T03:60',
  '2023-01-01T25:00',
  '2023-01-01T24:00:01Z',
  '2023-01-01T24:30',
  '2023-01-01T03:04:60Z',
  '2023-01-01T03:04:5Z',
  '2023-01-01T03:04:05.Z',
  '2023-01-01T03:04:05.',
  '2023-01-01T03:04:05ZZ',
  '2023-01-01T03:04:05 Z',
  '2023-01-01T03:04:05+',
  '2023-01-01T03:04:05+2',
  '2023-01-01T03:04:05+24:00',
  '2023-01-01T03:04:05+02:60',
  '2023-01-01T03:04:05+02:ab',
  '2023-01-01T03:04:05+ab:00',
  '2023-01-01T03:04:05x02:00',
  '2023-01-01T03:04:05+02:0',
  '2023-01-01T03:04:05+02:000',
  '2023-01-01T03:04:05UTC',
  ' 2023-01-01',
  '2023-01-01 ',
  '2023-01-01x',
  '1672531200',
  'yesterday',
  '٢٠٢٣-٠١-٠١',
];

describe('dates of records', () => {
  it.each(READABLE)('reads %s as %s', (text, instant) => {
    expect(parse(text)).toBe(Date.parse(instant));
  });

  it.each(NONSENSE.map((text) => [text]))('finds no date in "%s"', (text) => {
    expect(parse(text)).toBeNull();
  });

  it('reads every instant that Date writes', () => {
    const instant = fc.date({
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instant, (date) => parse(date.toISOString()) === date.getTime()),
      { numRuns: campaignSize({ small: 300, full: 3000 }) },
    );
  });

  it('takes a day for real exactly when the calendar has it', () => {
    const part = fc.integer({ min: 0, max: 40 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9999 }), part, part, (year, month, day) => {
        const text = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
        const instant = new Date(`${text}T00:00:00Z`);
        const isReal = !Number.isNaN(instant.getTime()) && instant.toISOString().startsWith(text);
        expect(parse(text)).toBe(isReal ? instant.getTime() : null);
      }),
      { numRuns: campaignSize({ small: 500, full: 5000 }) },
    );
  });
});
