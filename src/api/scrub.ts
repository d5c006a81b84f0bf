const HIDDEN = '[key]';
/** Control, format and private-use characters and lone surrogates could control a terminal or hide a key. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]+/gu;

/** Replaces the keys in a text, also escaped or encoded ones, and removes unsafe characters. */
export type Scrub = (text: string) => string;

export function scrubber(keys: readonly string[]): Scrub {
  const patterns = [...new Set(keys)]
    .filter((key) => key !== '')
    // Longer keys first: they may contain shorter ones.
    .sort((a, b) => b.length - a.length)
    .flatMap((key) => [spellingsOf(key), ...encodings(key).map(escapeRegExp)]);
  const pattern = new RegExp(patterns.join('|'), 'giu');
  return (text) => {
    const plain = text.replace(UNSAFE, '');
    return patterns.length === 0 ? plain : plain.replace(pattern, HIDDEN);
  };
}

/** Pattern of a key in which each character may be plain or escaped, as in JSON, URLs and HTML. */
function spellingsOf(key: string): string {
  return [...key].map(spellingsOfCharacter).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
};

function spellingsOfCharacter(character: string): string {
  const code = character.charCodeAt(0);
  const hex = code.toString(16);
  const spellings = [
    `%${hex.padStart(2, '0')}`,
    encodeURIComponent(character),
    `\\u${hex.padStart(4, '0')}`,
    `\\${character}`,
    `&#${code};`,
    `&#x${hex};`,
    ...(character in ENTITIES ? [`&${ENTITIES[character]};`] : []),
    character,
  ];
  return `(?:${[...new Set(spellings)].map(escapeRegExp).join('|')})`;
}

function encodings(key: string): readonly string[] {
  const bytes = Buffer.from(key, 'utf8');
  const base64 = bytes.toString('base64');
  return [base64, base64.replaceAll('=', ''), bytes.toString('base64url'), bytes.toString('hex')];
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
