import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScanner, JsonSyntaxError } from '../../src/json/json-scanner.js';
import { damagedJson, jsonText } from '../api/support/json-bytes.js';
import { readByJsonParse, readByScanner } from '../api/support/reference-json.js';
import { campaign } from '../support/campaign.js';

const CASES = campaign({ small: 700, full: 10_000, soak: 400_000 });

const TEXTS = [
  '',
  ' ',
  'null',
  ' null ',
  'nul',
  'nulll',
  'true',
  'tru',
  'false',
  'False',
  'undefined',
  'NaN',
  'Infinity',
  '0',
  '-0',
  '-',
  '+1',
  '01',
  '-01',
  '00',
  '1.',
  '.5',
  '1.0',
  '1e',
  '1e+',
  '1e5',
  '1E+05',
  '1e-0',
  '0x10',
  '1_000',
  '1 2',
  '""',
  '"',
  '"a',
  '"\\"',
  '"\\x"',
  '"\\u12"',
  '"\\u12G4"',
  '"\\u123G"',
  '"\\u123"',
  '"\\u0041"',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\u0001"',
  '"\t"',
  '"\u007f"',
  '"é"',
  "'a'",
  '[]',
  '[ ]',
  '[',
  ']',
  '[1',
  '[1,',
  '[1,]',
  '[,1]',
  '[1 2]',
  '[1]]',
  '[[]',
  '[[],[[]]]',
  '[1]x',
  '[1]\u00a0',
  '[1]\u2028',
  '{}',
  '{ }',
  '{',
  '}',
  '{"a"}',
  '{"a":}',
  '{"a":1',
  '{"a":1,}',
  '{,"a":1}',
  '{a:1}',
  '{1:1}',
  '{"a" : 1 , "b":2}',
  '{"a":1 "b":2}',
  '{"a":1}}',
  '{"a"::1}',
  '{"a":1,"a":2}',
  '{"__proto__":{"x":1}}',
  '{"constructor":1}',
  '{"":0}',
  '[{"a":[{"b":{}}]}]',
  '{"a":[}',
  '[{]}',
  '\ufeff{}',
  '//x\n1',
  '/**/1',
  '\f1',
  '\v1',
  '\r\n1\t',
];

describe('the scanner and JSON.parse', () => {
  it.each(TEXTS.map((text) => [JSON.stringify(text)]))('agree on %s', (quoted) => {
    const bytes = Buffer.from(String(JSON.parse(quoted)));
    expect(readByScanner(bytes)).toEqual(readByJsonParse(bytes));
  });

  it.each([
    ['a lone continuation byte', [0x22, 0x80, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a code point beyond Unicode', [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]],
    ['a cut sequence', [0x22, 0xe2, 0x82, 0x22]],
    ['NUL after the value', [0x31, 0x00]],
  ])('refuse %s', (_name, bytes) => {
    expect(readByScanner(Uint8Array.from(bytes))).toEqual({ accepted: false });
    expect(readByJsonParse(Uint8Array.from(bytes))).toEqual({ accepted: false });
  });

  it('agree on every byte, raw and escaped, inside a string', () => {
    for (let byte = 0; byte < 256; byte++) {
      for (const bytes of [
        [0x22, byte, 0x22],
        [0x22, 0x5c, byte, 0x22],
        [0x22, 0x5c, 0x75, 0x30, 0x30, 0x30, byte, 0x22],
      ]) {
        expect(readByScanner(Uint8Array.from(bytes))).toEqual(readByJsonParse(Uint8Array.from(bytes)));
      }
    }
  });

  it('agree on every byte between tokens', () => {
    for (let byte = 0; byte < 256; byte++) {
      const bytes = Buffer.concat([Buffer.from('[1,{"a"'), Buffer.from([byte]), Buffer.from(':2}]')]);
      expect(readByScanner(bytes)).toEqual(readByJsonParse(bytes));
    }
  });

  it(`agree on ${CASES} generated texts, value by value`, () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const bytes = Buffer.from(text);
        const expected = readByJsonParse(bytes);
        expect(expected.accepted).toBe(true);
        expect(readByScanner(bytes)).toEqual(expected);
      }),
      { numRuns: CASES },
    );
  });

  it(`agree on ${CASES} damaged texts, whether they are refused or not`, () => {
    const seen = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(damagedJson, (bytes) => {
        const expected = readByJsonParse(bytes);
        seen[expected.accepted ? 'accepted' : 'refused']++;
        expect(readByScanner(bytes)).toEqual(expected);
      }),
      { numRuns: CASES },
    );
    // the damage must leave enough of both kinds for the comparison to mean something
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(CASES / 50);
  });

  it('agree where the bytes are a part of a larger buffer', () => {
    const whole = Buffer.from('xx{"a":"é\\n"}yy');
    expect(readByScanner(whole.subarray(2, -2))).toEqual({ accepted: true, value: { a: 'é\n' } });
  });
});

describe('depth and size', () => {
  const depth = 2_000_000;

  it('walks nesting deeper than any stack', () => {
    const bytes = Buffer.from(`${'['.repeat(depth)}${']'.repeat(depth)}`);
    const mixed = Buffer.from(`${'{"a":['.repeat(depth)}1${']}'.repeat(depth)}`);
    expect(isWalkable(bytes)).toBe(true);
    expect(isWalkable(mixed)).toBe(true);
  });

  it('refuses nesting that is never closed, or closed by the wrong bracket', () => {
    expect(isWalkable(Buffer.from('['.repeat(depth)))).toBe(false);
    expect(isWalkable(Buffer.from(`${'['.repeat(depth)}${']'.repeat(depth - 1)}}`))).toBe(false);
  });
});

function isWalkable(bytes: Uint8Array): boolean {
  const scanner = new JsonScanner(bytes);
  try {
    scanner.expectEnd(scanner.skipValue(0));
    return true;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
}
