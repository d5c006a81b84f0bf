/** Replaces a key. */
const HIDDEN = '[key]';
/** Control, bidi and zero-width characters, which could control a terminal or hide a key from the search. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]+/gu;

/** Removes every key from a text, in all encodings in which a server may echo it. */
export type Scrub = (text: string) => string;

export function scrubber(keys: readonly string[]): Scrub {
  const patterns = [...new Set(keys)]
    .filter((key) => key !== '')
    // longer keys first: they may contain shorter ones
    .sort((a, b) => b.length - a.length)
    .flatMap((key) => [writtenOut(key), ...encodings(key).map(escapePattern)]);
  const pattern = new RegExp(patterns.join('|'), 'giu');
  return (text) => {
    const plain = text.replace(UNSAFE, '');
    return patterns.length === 0 ? plain : plain.replace(pattern, HIDDEN);
  };
}

/** Pattern of a key in which each character may be plain or escaped, as in JSON, URLs and HTML. */
function writtenOut(key: string): string {
  return [...key].map(spellingsOf).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

function spellingsOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  const percent = encodeURIComponent(character);
  const spellings = [
    `%${hex.padStart(2, '0')}`,
    percent,
    `\\u${hex.padStart(4, '0')}`,
    `\\${character}`,
    `&#${code};`,
    `&#x${hex};`,
    ...(character in ENTITIES ? [`&${ENTITIES[character]};`] : []),
    character,
  ];
  return `(?:${[...new Set(spellings)].map(escapePattern).join('|')})`;
}

function encodings(key: string): readonly string[] {
  const bytes = Buffer.from(key, 'utf8');
  const base64 = bytes.toString('base64');
  return [base64, base64.replaceAll('=', ''), bytes.toString('base64url'), bytes.toString('hex')];
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
