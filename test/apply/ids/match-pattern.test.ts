import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilePattern } from '../../../src/apply/ids/pattern-resolver.js';
import { type PatternPart, parseIdPattern } from '../../../src/config/apply-targets.js';
import { campaign } from '../../support/campaign.js';

function partsOf(pattern: string): readonly PatternPart[] {
  const parts = parseIdPattern(pattern);
  if (typeof parts === 'string') throw new Error(parts);
  return parts;
}

/** The ids that stand in a text; null or `several` where it does not fit in one way. */
function idsIn(pattern: string, text: string): string[] | 'several' | null {
  const found = compilePattern(partsOf(pattern))(text);
  return found === null || found === 'several'
    ? found
    : found.map(({ start, end }) => text.slice(start, end));
}

describe('a text with ids', () => {
  it.each([
    // Anchored: the whole text, exactly.
    ['invoice:{id}', 'invoice:1042', ['1042']],
    ['invoice:{id}', 'Invoice:1042', null],
    ['invoice:{id}', ' invoice:1042', null],
    ['invoice:{id}', 'invoice:1042 ', null],
    ['invoice:{id}', 'invoice:1042\n', null],
    ['invoice:{id}', 'invoice:', null],
    ['invoice:{id}', 'invoice:x', null],
    ['{id}', '1042', ['1042']],
    ['{id}:', '1042:', ['1042']],
    ['a.b{id}', 'axb1', null],
    // Leading zeros are for the look-up to refuse; signs, separators and other digits do not fit.
    ['invoice:{id}', 'invoice:007', ['007']],
    ['invoice:{id}', 'invoice:+5', null],
    ['invoice:{id}', 'invoice:-5', null],
    ['invoice:{id}', 'invoice:1.5', null],
    ['invoice:{id}', 'invoice:1,042', null],
    ['invoice:{id}', 'invoice:٤٢', null],
    ['order-{id}', 'order-5', ['5']],
    // Several ids.
    ['{id}:{id}', '5:7', ['5', '7']],
    ['{id}:{id}', '5:7:9', null],
    ['{id}:{id}', '5:', null],
    ['{{"a":{id},"b":"{id}"}}', '{"a":5,"b":"7"}', ['5', '7']],
    // Any text.
    ['*/invoices/{id}?*', 'https://x.test/invoices/1042?tab=1', ['1042']],
    ['…/invoices/{id}?…', 'https://x.test/invoices/1042?', ['1042']],
    ['*/invoices/{id}', 'https://x.test/v1/invoices/1042', ['1042']],
    ['*/invoices/{id}', 'https://x.test/invoices/1042/edit', null],
    ['*:{id}', 'a:1:2', ['2']],
    ['{id}:*', '1:2:a', ['1']],
    ['*a*{id}', 'xaya:5', ['5']],
    ['*{id}*', 'see invoice 1042 today', ['1042']],
    ['*{id}*', '1042', ['1042']],
    // In more than one way.
    ['*/invoices/{id}*', '/invoices/1/invoices/2', 'several'],
    ['*{id}*', '12 and 13', 'several'],
    ['*{id}*', '12:30', 'several'],
    ['{id}*:{id}', '1:2:3', ['1', '3']],
    ['{id}*:{id}*', '1:2:3', 'several'],
    ['*:{id}*', ':1:2:3', 'several'],
    // Beside any text an id must stand alone.
    ['*{id}', 'abc1042', null],
    ['*{id}', 'invoice-1042', null],
    ['*-{id}', 'invoice-1042', ['1042']],
    ['*{id}', 'a+5', null],
    ['*{id}*', '0x1F', null],
    ['*{id}*', '1e5', null],
    ['*{id}*', '12.50', null],
    ['*{id}*', '1,234', null],
    ['*{id}*', '10.0.0.1', null],
    ['*{id}*', '2024-01-02', null],
    ['*{id}', 'a%201042', null],
    ['*{id}*', '&#1042;', null],
    ['*/{id}*', '/104%32', null],
    ['*/{id}*', '/1042%2C1043', null],
    ['*/{id}*', '/104&#50;', null],
    ['*/{id}&*', '/1042&tab=1', ['1042']],
    ['*/{id}*', '/1042&tab=1', ['1042']],
    ['*{id}*', '550e8400-e29b-41d4-a716-446655440000', null],
    ['*{id}*', 'é5', null],
    ['*{id}*', 'No. 5.', ['5']],
    ['*/{id}*', '/1042-acme', null],
    ['*/{id}-*', '/1042-acme', ['1042']],
  ])('fits %s: %j → %j', (pattern, text, ids) => {
    expect(idsIn(pattern, text)).toEqual(ids);
  });
});

/** Every way in which a text fits, tried one by one: the starts of its ids. */
function everyWay(parts: readonly PatternPart[], text: string, at = 0, afterAny = false): number[][] {
  const [part, ...rest] = parts;
  if (part === undefined) return at === text.length ? [[]] : [];
  if (part.kind === 'text')
    return text.startsWith(part.text, at) ? everyWay(rest, text, at + part.text.length) : [];
  if (part.kind === 'any') {
    return Array.from({ length: text.length - at + 1 }, (_, n) => everyWay(rest, text, at + n, true)).flat();
  }
  const [digits = ''] = /^\d+/.exec(text.slice(at)) ?? [];
  const end = at + digits.length;
  const isRun = digits !== '' && !/\d/.test(text[at - 1] ?? '');
  const isAlone = (beside: string, far: string) =>
    !/[\w%+-]/.test(beside) && !(/[.,']/.test(beside) && /\d/.test(far));
  const before = !afterAny || isAlone(text[at - 1] ?? '', text[at - 2] ?? '');
  const after = rest[0]?.kind !== 'any' || isAlone(text[end] ?? '', text[end + 1] ?? '');
  if (!isRun || !before || !after) return [];
  return everyWay(rest, text, end).map((ids) => [at, ...ids]);
}

it('agrees with trying every way', () => {
  const piece = fc.constantFrom('a:', ':', '-', '{id}', '*', '*:{id}', ':{id}*', '*:');
  const pattern = fc.array(piece, { minLength: 1, maxLength: 7 });
  const filler = fc.array(fc.constantFrom(':1', ' 30:', ':', 'a:', '1', '.'), { maxLength: 4 });
  /** A pattern, and a text made from it; sometimes with something else at the end. */
  const given = fc
    .tuple(pattern, fc.array(filler, { minLength: 8, maxLength: 8 }))
    .map(([pieces, fillers]) => {
      const fill = (one: string, at: number) => {
        const text = (fillers[at] ?? []).join('');
        return one.replace('*', text).replace('{id}', String(at + text.length));
      };
      const end = fillers[7]?.length === 1 ? (fillers[7][0] ?? '') : '';
      return { pattern: pieces.join(''), text: pieces.map(fill).join('') + end };
    });
  const seen = { one: 0, none: 0, several: 0 };
  fc.assert(
    fc.property(given, ({ pattern, text }) => {
      const parts = parseIdPattern(pattern);
      fc.pre(typeof parts !== 'string');
      const ways = new Set(everyWay(partsOf(pattern), text).map((way) => way.join()));
      const found = compilePattern(partsOf(pattern))(text);
      seen[ways.size === 0 ? 'none' : ways.size === 1 ? 'one' : 'several'] += 1;
      if (ways.size === 0) expect(found).toBeNull();
      else if (ways.size > 1) expect(found).toBe('several');
      else
        expect(
          found === null || found === 'several' ? found : [found.map(({ start }) => start).join()],
        ).toEqual([...ways]);
    }),
    { numRuns: campaign({ small: 2000, full: 10_000 }) },
  );
  expect(Math.min(seen.one, seen.none, seen.several)).toBeGreaterThan(campaign({ small: 60, full: 500 }));
});
