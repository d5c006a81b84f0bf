import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { comparableAddress, comparableHost } from '../../src/text/addresses.js';
import { at, must } from '../../src/text/at.js';
import { describeError } from '../../src/text/describe-error.js';
import {
  csvCell,
  escapeJson,
  escapeMarkdown,
  escapeMarkup,
  escapeUnseen,
  shellLine,
} from '../../src/text/escape.js';
import { formatBytes, formatDuration, formatShare, parseDuration } from '../../src/text/numbers.js';
import { suggest } from '../../src/text/suggest.js';
import { renderTable } from '../../src/text/table.js';
import { displayWidth, fitText, wrapLines, wrapText } from '../../src/text/wrap.js';

const text = fc.string({ unit: 'binary', maxLength: 40 });

describe('escaping', () => {
  it.each([
    ['\u001b[31m', '\\u001b[31m'],
    ['a\tb\r\n', 'a\\u0009b\\u000d\\u000a'],
    ['\u009b', '\\u009b'],
    ['\u202egnp', '\\u202egnp'],
    ['\u{e0041}', '\\u{e0041}'],
    ['\ud800', '\\ud800'],
    ['\u{1f600} é 日本', '\u{1f600} é 日本'],
  ])('spells out what is not seen in %j', (given, expected) => {
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

  it.each([
    ['a|b', 'a&#124;b'],
    ['**x** `y` [z](http://e)', '&#42;&#42;x&#42;&#42; &#96;y&#96; &#91;z&#93;(http&#58;//e)'],
    ['<img>', '&#60;img&#62;'],
    ['@team #12 www.x.example', '&#64;team &#35;12 www&#46;x.example'],
    ['snake_case _em_ __proto__', 'snake_case &#95;em&#95; &#95;&#95;proto&#95;&#95;'],
    ['12:30 :smile: $x$', '12:30 &#58;smile: &#36;x&#36;'],
  ])('takes the meaning out of Markdown %j', (given, expected) => {
    expect(escapeMarkdown(given)).toBe(expected);
  });

  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ['=1+1', '=1+1'],
    ['\rx', '"\rx"'],
  ])('writes the CSV cell %j exactly', (given, exact) => {
    expect(csvCell(given)).toBe(exact);
  });

  it('quotes words for a shell', () => {
    expect(shellLine(['a', "it's", '$x', 'c/d.json'])).toBe("a 'it'\\''s' '$x' c/d.json");
  });
});

describe('errors for people', () => {
  it('have a hint and their facts, and nothing that moves the cursor', () => {
    const error = new SvcError('auth', 'Refused \u001b[2J.', {
      hint: 'Check.',
      facts: { b: 1, route: '/x', c: null, answer: 'Refused' },
    });
    expect(describeError(error, false)).toBe(
      'svc-migrate: Refused \\u001b[2J.\n  → Check.\n  (route /x, b 1)\n',
    );
  });

  it('have a stack only for a bug', () => {
    expect(describeError(new TypeError('x'), false)).toMatch(/this is a bug[\s\S]*\n {4}at /);
    expect(describeError(new SvcError('disk', 'Full.', { cause: new Error('y') }), false)).not.toMatch(
      /\n *at /,
    );
    expect(describeError(new SvcError('disk', 'Full.', { cause: new Error('y') }), true)).toMatch(/\n *at /);
  });
});

describe('numbers', () => {
  it.each([
    [formatShare(0, 0), '–'],
    [formatShare(0, 9), '0 %'],
    [formatShare(1, 9999), '<0.1 %'],
    [formatShare(9999, 10_000), '99.9 %'],
    [formatShare(9, 9), '100 %'],
    [formatDuration(59_999), '59 s'],
    [formatDuration(0.5), '0 s'],
    [formatDuration(93_784_000), '1 d 2 h'],
    [formatBytes(9.5), '10 bytes'],
    [formatBytes(1536), '1.5 KiB'],
    [parseDuration('90m'), 5_400_000],
    [parseDuration('1.5ms'), 2],
    [parseDuration('soon'), null],
    [formatDuration(86_400_500), '1 d'],
    [formatDuration(3_600_000 * 500), '20 d 20 h'],
    [formatDuration(999.9), '999 ms'],
  ])('%s is %s', (written, expected) => expect(written).toBe(expected));
});

describe('laying out text', () => {
  it('measures what a terminal shows', () => {
    expect(['abc', 'é', 'e\u0301', '日本', '😀'].map(displayWidth)).toEqual([3, 1, 1, 4, 2]);
  });

  it('never shortens to more than the width', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 30 }), (given, width) => {
        expect(displayWidth(fitText(escapeUnseen(given), width))).toBeLessThanOrEqual(width);
      }),
    );
  });

  it('wraps at words, but neither inside a command nor before a unit', () => {
    expect(wrapText('It takes 5 days or 2 h 30 min.', 10)).toEqual(
      ['It takes 5', 'days or', '2 h 30 min.'].flatMap((line) =>
        line === '2 h 30 min.' ? ['2 h', '30 min.'] : [line],
      ),
    );
    expect(wrapText('Run `svc-migrate run` now', 8)).toContain('`svc-migrate run`');
    expect(wrapLines(['  → one two three', 'Next: svc-migrate status'], 10)).toBe(
      '  → one\n    two\n    three\nNext: svc-migrate status\n',
    );
  });

  it('renders tables within the width, and leaves nothing out', () => {
    const columns = [
      { title: 'Model' },
      ...['A', 'B', 'C', 'D'].map((title) => ({ title, numeric: true })),
      { title: 'What to do' },
    ];
    const row = [
      'accounting/bill_credit_notes',
      '1',
      '22',
      '333',
      '4444',
      'ask the operator for a full sync',
    ];
    for (const width of [200, 80, 60, 50, 30, 10]) {
      const lines = renderTable(columns, [row, row], width);
      expect(lines.filter((line) => displayWidth(line) > width)).toEqual([]);
    }
    expect(renderTable(columns, [row], 80)).toEqual([
      '  Model                         A   B    C     D  What to do',
      '  accounting/bill_credit_notes  1  22  333  4444  ask the operator for a full',
      '                                                  sync',
    ]);
    expect(renderTable(columns, [row], 50)).toEqual([
      '  Model                         A   B    C     D',
      '  accounting/bill_credit_notes  1  22  333  4444',
      '    What to do: ask the operator for a full sync',
    ]);
    expect(renderTable(columns.slice(0, 2), [row.slice(0, 2)], 80)).toEqual([
      '  Model                         A',
      '  accounting/bill_credit_notes  1',
    ]);
    expect(renderTable(columns, [], 80)).toHaveLength(1);
    const empty = renderTable(columns, [[...row.slice(0, -1), '']], 50);
    expect(empty.join('\n')).not.toContain(`${columns.at(-1)?.title}:`);
  });
});

describe('addresses', () => {
  it.each([
    ['https://API.Example.com:443/v3', 'api.example.com'],
    ['https://api.example.com:80', 'api.example.com:80'],
    ['https://api.example.com.', 'api.example.com'],
    ['https://user:secret@api.example.com', 'api.example.com'],
    ['https://%61pi%2Eexample.com', 'api.example.com'],
    ['//api.example.com/v3', 'api.example.com'],
    ['2001:DB8::1', '[2001:db8::1]'],
    ['https://127.1', '127.0.0.1'],
    ['https://münchen.example', 'xn--mnchen-3ya.example'],
    ['https://.', null],
    ['a b', null],
  ])('the host of %j is compared as %j', (address, host) => {
    expect(comparableHost(address)).toBe(host);
  });

  it('keep their scheme and path', () => {
    expect(comparableAddress('HTTPS://API.example.com.:443/V3/')).toBe('https://api.example.com/V3');
  });
});

it.each([
  ['outside_backfill', 'outside_backfill_window'],
  ['connection-innert', 'connection_inert'],
  ['company', null],
  ['ou', null],
])('suggests for %s: %s', (word, meant) => {
  const reasons = ['outside_backfill_window', 'connection_inert', 'company_ambiguous', 'company_not_in_v4'];
  expect(suggest(word, reasons)).toBe(meant);
});

it('indexes that do not exist are errors', () => {
  expect([at([1, 2], 0), at([1, 2], -1), must(0)]).toEqual([1, 2, 0]);
  expect(() => at([1], 1)).toThrow();
  expect(() => must(null)).toThrow();
});
