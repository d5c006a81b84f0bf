import { describe, expect, it } from 'vitest';
import { escapeJson, renderJson } from '../../src/text/escape.js';
import { firstInOrder, isEmpty, rowsOf, streamJson } from '../../src/text/rows.js';

const ROWS = [{ id: '1', list: [1, { a: null }], none: [] }, 'text\n"\u202e', 3, {}];

describe('JSON made row by row', () => {
  it.each([{ a: ROWS, b: [], c: null, d: { e: [], f: ROWS }, g: 'x\u0000' }, { a: [] }, { a: [[]] }])(
    'is the JSON made at once',
    (value) => {
      const expected = `${escapeJson(JSON.stringify(value, null, 2))}\n`;
      expect([...streamJson(value)].join('')).toBe(expected);
      const rows = {
        ...value,
        a: rowsOf<unknown, unknown>(
          () => value.a,
          (row) => row,
        ),
      };
      expect([...streamJson(rows)].join('')).toBe(expected);
    },
  );

  it('has 64-bit ids as digits in text', () => {
    const value = { id: 9007199254740993n, rows: [{ id: -1n }], none: null };
    expect([...streamJson(value)].join('')).toBe(renderJson(value));
  });
});

describe('the first rows in an order', () => {
  it('are those of the sorted rows, equal ones in their order', () => {
    const rows = Array.from({ length: 1000 }, (_, at) => ({ at, n: (at * 7919) % 13 }));
    const sorted = [...rows].sort((a, b) => b.n - a.n);
    expect(firstInOrder(rows, 90, (a, b) => b.n - a.n)).toEqual({ shown: sorted.slice(0, 90), total: 1000 });
  });

  it('are none of none', () => {
    expect(firstInOrder<number>([], 3, (a, b) => a - b)).toEqual({ shown: [], total: 0 });
    expect([isEmpty([]), isEmpty([undefined])]).toEqual([true, false]);
  });
});
