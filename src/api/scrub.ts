/** What stands where a key stood. */
const HIDDEN = '[key]';
/** Control, bidi and zero-width characters, which could steer a terminal or hide a key from a search. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]+/gu;

/** Takes every key, in the spellings a server may echo it, out of a text. */
export type Scrub = (text: string) => string;

export function scrubber(keys: readonly string[]): Scrub {
  const spellings = [...new Set(keys.flatMap(spellingsOf))]
    .filter((spelling) => spelling !== '')
    // a longer spelling first: it may hold a shorter one
    .sort((a, b) => b.length - a.length);
  const pattern = new RegExp(spellings.map(escapePattern).join('|'), 'giu');
  return (text) => {
    const plain = text.replace(UNSAFE, '');
    return spellings.length === 0 ? plain : plain.replace(pattern, HIDDEN);
  };
}

function spellingsOf(key: string): readonly string[] {
  const base64 = Buffer.from(key, 'utf8').toString('base64');
  const html = key.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return [
    key,
    encodeURIComponent(key),
    JSON.stringify(key).slice(1, -1),
    html.replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
    base64,
    base64.replaceAll('=', ''),
    Buffer.from(key, 'utf8').toString('base64url'),
    Buffer.from(key, 'utf8').toString('hex'),
  ];
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
