import { describe, expect, it } from 'vitest';
import { type Column, displayWidth, layOutTable, wrapMessage } from '../../src/text/text-layout.js';

const COLUMNS: readonly Column[] = [
  { title: 'model' },
  { title: 'lists', numeric: true },
  { title: 'pages', numeric: true },
  { title: 'records', numeric: true, keep: true },
  { title: 'repeated', numeric: true },
  { title: 'rejected', numeric: true },
  { title: 'state', keep: true },
];
const ROWS = [
  ['accounting/bill_credit_notes', '1,234', '5,678', '12,345,678', '9,012', '3', '120 complete, 3 absent'],
];

describe('a table that is too wide', () => {
  it.each([
    [120, []],
    [80, ['repeated', 'rejected']],
    [60, ['lists', 'pages', 'repeated', 'rejected']],
  ])('at %i columns fits, and says what it leaves out', (width, dropped) => {
    const lines = layOutTable(COLUMNS, ROWS, width);
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
    const said = /not shown for lack of width: (.*)\)/.exec(lines.join(' ').replace(/ +/g, ' '))?.[1] ?? '';
    expect(said).toBe(dropped.join(', '));
    expect(lines.join('\n')).toContain('12,345,678');
  });
});

describe('a message on a narrow terminal', () => {
  it.each([
    ['is wrapped at words', 'one two three four', 'one two\nthree four'],
    ['keeps the indentation of a hint', '  → one two three', '  → one two\n    three'],
    ['keeps each line that fits', 'one\n\ntwo\n', 'one\n\ntwo\n'],
    ['keeps words whole that are longer than a line', 'a /a/long/path/to b', 'a\n/a/long/path/to\nb'],
    ['keeps Next whole', 'Next: svc-migrate x', 'Next: svc-migrate x'],
  ])('%s', (_, text, wrapped) => {
    expect(wrapMessage(text, 11)).toBe(wrapped);
  });
});
