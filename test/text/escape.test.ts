import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvCell, escapeJson, escapeMarkdown, escapeMarkup, escapeUnseen } from '../../src/text/escape.js';
import { formatShare } from '../../src/text/numbers.js';
import { displayWidth, fitText, wrapProse, wrapText } from '../../src/text/text-layout.js';

const text = fc.string({ unit: 'binary', maxLength: 40 });

describe('escaping', () => {
  const unseen: [string, string][] = [
    ['\u001b[31m', '\\u001b[31m'],
    ['a\tb\r\n', 'a\\u0009b\\u000d\\u000a'],
    ['\u009b', '\\u009b'],
    ['\u202egnp', '\\u202egnp'],
    ['\u{e0041}', '\\u{e0041}'],
    ['\ud800', '\\ud800'],
    ['\u{1f600} é 日本', '\u{1f600} é 日本'],
  ];
  it.each(unseen)('spells out what is not seen in %j', (given, expected) => {
    expect(escapeUnseen(given)).toBe(expected);
  });

  it('never lets JSON change its meaning', () => {
    fc.assert(
      fc.property(fc.jsonValue(), text, (value, more) => {
        const both = { value, more };
        expect(JSON.parse(escapeJson(JSON.stringify(both, null, 2)))).toEqual(
          JSON.parse(JSON.stringify(both)),
        );
      }),
    );
  });

  it('leaves nothing that markup gives a meaning', () => {
    expect(escapeMarkup(`<a href="x" b='y'>&amp;]]>\u0000\ufffe`)).toBe(
      '&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;]]&gt;\\u0000\\ufffe',
    );
  });

  const markdown: [string, string][] = [
    ['a|b', 'a&#124;b'],
    ['**x** `y` [z](http://e)', '&#42;&#42;x&#42;&#42; &#96;y&#96; &#91;z&#93;(http&#58;//e)'],
    ['<img>', '&#60;img&#62;'],
    ['@team #12 www.x.example', '&#64;team &#35;12 www&#46;x.example'],
    ['snake_case _em_ __proto__', 'snake_case &#95;em&#95; &#95;&#95;proto&#95;&#95;'],
    ['12:30 :smile: $x$', '12:30 &#58;smile: &#36;x&#36;'],
    ['&lt;', '&#38;lt;'],
  ];
  it.each(markdown)('takes the meaning out of Markdown %j', (given, expected) => {
    expect(escapeMarkdown(given)).toBe(expected);
  });

  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ['=1+1', '=1+1'],
    ['\tx', '\tx'],
    ['\rx', '"\rx"'],
  ])('writes the CSV cell %j exactly', (given, expected) => {
    expect(csvCell(given)).toBe(expected);
  });
});

describe('numbers for people', () => {
  it('never rounds a share up to all or down to none', () => {
    const shares = [
      [0, 0],
      [0, 5],
      [1, 100_000],
      [1, 1000],
      [99_999, 100_000],
      [5, 5],
    ] as const;
    expect(shares.map(([part, whole]) => formatShare(part, whole))).toEqual([
      '–',
      '0 %',
      '<0.1 %',
      '0.1 %',
      '99.9 %',
      '100 %',
    ]);
  });
});

describe('laying out text', () => {
  it('measures what a terminal shows', () => {
    expect(['abc', 'é', 'e\u0301', '日本', '😀'].map(displayWidth)).toEqual([3, 1, 1, 4, 2]);
  });

  it('never exceeds the width', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 30 }), (given, width) => {
        expect(displayWidth(fitText(given, width))).toBeLessThanOrEqual(width);
        for (const line of wrapText(given, Math.max(2, width))) {
          expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(2, width));
        }
      }),
    );
  });
});

it.each([
  ['It is (100 %)', ['It is', '(100 %)']],
  ['Up to it 2 h 30 min.', ['Up to it', '2 h', '30 min.']],
  ['It is: 1.5 GiB, 3', ['It is:', '1.5 GiB, 3']],
  ['It takes 5 days', ['It takes 5', 'days']],
])('keeps a number and the sign of its unit on one line: %s', (text, lines) => {
  expect(wrapProse(text, 10)).toEqual(lines);
});
