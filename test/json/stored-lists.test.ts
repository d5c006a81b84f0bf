import fc from 'fast-check';
import { parse as parseWithoutShapes } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { parseChildren } from '../../src/json/stored-lists.js';

const RUNS = 5000;

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    'line_items',
    '"',
    '\\',
    '],[',
    '",null,0],["',
    'null',
    '\u0000',
    '\n',
    '\u{1f600}',
    ']]',
  ),
);
const child = fc.tuple(
  text,
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.option(text),
  fc.option(text),
  fc.constantFrom(0, 1),
);

/** What a way to parse makes of a text: its value, or that there is none. */
function outcomeOf(parse: (text: string) => unknown, stored: string): unknown {
  try {
    return { value: parse(stored) };
  } catch (error) {
    return { error: error instanceof SyntaxError };
  }
}

/**
 * The value of a text that `JSON.parse` accepts. Node.js 24 may give a key that starts with an escape the name of a key of
 * an earlier object that ends with a backslash.
 */
function parseExactly(text: string): unknown {
  JSON.parse(text);
  return parseWithoutShapes(text);
}

describe('stored children', () => {
  it(`are read as JSON.parse reads them, and so are cut and changed ones (${RUNS} seeded cases)`, () => {
    let broken = 0;
    const cases = fc.record({
      children: fc.array(child, { maxLength: 5 }),
      at: fc.nat(400),
      change: fc.constantFrom('none', 'none', 'cut', 'drop', ',', ']', '"', '0', ' ', '\n'),
    });
    fc.assert(
      fc.property(cases, ({ children, at, change }) => {
        const stored = JSON.stringify(children);
        const place = at % stored.length;
        const rest = change === 'cut' ? '' : `${change === 'drop' ? '' : change}${stored.slice(place + 1)}`;
        const changed = change === 'none' ? stored : stored.slice(0, place) + rest;
        const expected = outcomeOf(parseExactly, changed);
        expect(outcomeOf(parseChildren, changed)).toEqual(expected);
        if (change !== 'none') broken += 1;
      }),
      { numRuns: RUNS, seed: 20261121 },
    );
    process.stdout.write(`stored children: ${RUNS} lists, ${broken} of them cut or changed\n`);
  });
});
