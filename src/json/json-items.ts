/** A text as JSON writes it where nothing in it needs an escape. */
export const PLAIN = String.raw`"([^"\\\0-\x1f]*)"`;

/** The pattern of a list in a JSON list, for `parseItems`; `inside` is that of what its brackets hold. */
export function itemPattern(inside: string): RegExp {
  return new RegExp(String.raw`\[${inside}\](?:,(?=\[)|\]$)`, 'y');
}

/**
 * A JSON list of lists, of which those that fit the pattern are read by it and handed to `itemOf`; where one does not,
 * `JSON.parse` reads them all. That takes five times as long for lists of short texts, and keeps a copy of each in a
 * table that grows with every one it has not seen before.
 */
export function parseItems<T extends readonly unknown[]>(
  text: string,
  pattern: RegExp,
  itemOf: (found: RegExpExecArray) => T,
): readonly T[] {
  if (!text.startsWith('[')) return JSON.parse(text);
  const items: T[] = [];
  for (let at = 1; ; at = pattern.lastIndex) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return JSON.parse(text);
    items.push(itemOf(found));
    if (pattern.lastIndex === text.length) return items;
  }
}
