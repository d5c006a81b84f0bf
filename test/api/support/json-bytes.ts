import fc from 'fast-check';

/** JSON texts as servers write them: any spacing, escapes where none are needed, numbers in every form. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string; leaf: string }>((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom('null', 'true', 'false', '0', '-0', '1e3', '1E-2', '-12.50', '9223372036854775807'),
    fc.bigInt().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
    stringLiteral(),
  ),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc
      .tuple(fc.array(tie('value'), { maxLength: 4 }), blank())
      .map(([items, gap]) => list('[', items, ']', gap)),
    fc.tuple(fc.array(fc.tuple(key(), tie('value')), { maxLength: 4 }), blank()).map(([entries, gap]) =>
      list(
        '{',
        entries.map(([name, value]) => `${name}${gap}:${gap}${value}`),
        '}',
        gap,
      ),
    ),
  ),
})).value;

function list(open: string, parts: readonly string[], close: string, gap: string): string {
  return `${open}${gap}${parts.join(`${gap},${gap}`)}${gap}${close}`;
}

function blank(): fc.Arbitrary<string> {
  return fc.constantFrom('', '', '', ' ', '\n\t', '\r\n  ');
}

function key(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom('"data"', '"next"', '"svc_id"', '"svc\\u005fid"', '"__proto__"', '""'),
    stringLiteral(),
  );
}

/** A string literal in which some characters are escaped without need. */
function stringLiteral(): fc.Arbitrary<string> {
  const character = fc.oneof(
    fc
      .string({ unit: 'binary', minLength: 1, maxLength: 1 })
      .map((text) => JSON.stringify(text).slice(1, -1)),
    fc.constantFrom('\\/', '\\"', '\\\\', '\\u0000', '\\ud83d\\ude00', '\\ud800', '\\u00E9', 'é', '€', '😀'),
  );
  return fc.array(character, { maxLength: 12 }).map((parts) => `"${parts.join('')}"`);
}

/** Bytes that tend to matter. */
const TELLING = [
  ...Buffer.from('{}[]",:\\ntfu0123456789.eE+- \t\n/'),
  0,
  0x1f,
  0x7f,
  0x80,
  0xbf,
  0xc0,
  0xed,
  0xef,
  0xff,
];

/** JSON bytes with a few accidents: bytes replaced, inserted, dropped, doubled; the end cut off. */
export const damagedJson: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    jsonText,
    fc.array(
      fc.record({
        kind: fc.constantFrom('replace', 'insert', 'drop', 'double', 'cut'),
        place: fc.double({ min: 0, max: 1, noNaN: true }),
        byte: fc.oneof(fc.constantFrom(...TELLING), fc.integer({ min: 0, max: 255 })),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([text, accidents]) => {
    let bytes = [...Buffer.from(text)];
    for (const { kind, place, byte } of accidents) {
      const at = Math.floor(place * bytes.length);
      if (kind === 'replace') bytes[at] = byte;
      else if (kind === 'insert') bytes.splice(at, 0, byte);
      else if (kind === 'drop') bytes.splice(at, 1);
      else if (kind === 'double') bytes.splice(at, 0, ...bytes.slice(at, at + 4));
      else bytes = bytes.slice(0, at);
    }
    return Uint8Array.from(bytes);
  });
