/**
 * A child in the JSON list in `record.children`, which is ordered by path and id. Ids are text, to stay exact. Of children
 * with the same path and id, only the last is stored.
 */
export type StoredChild = readonly [
  path: string,
  svcId: string,
  platformId: string | null,
  uniqueId: string | null,
  deleted: 0 | 1,
];

/** Pattern of a JSON string without escapes. */
const PLAIN = String.raw`"([^"\\\0-\x1f]*)"`;
const CHILD = new RegExp(
  String.raw`\[${PLAIN},${PLAIN},(?:${PLAIN}|null),(?:${PLAIN}|null),([01])\](?:,(?=\[)|\]$)`,
  'y',
);

/**
 * Parses the stored list of a record's children. If a child does not match the pattern, `JSON.parse` parses everything: it
 * takes five times as long for short strings, and adds every new string to V8's string table.
 */
export function parseChildren(text: string): readonly StoredChild[] {
  if (!text.startsWith('[')) return JSON.parse(text);
  const children: StoredChild[] = [];
  for (let at = 1; ; at = CHILD.lastIndex) {
    CHILD.lastIndex = at;
    const found = CHILD.exec(text);
    if (found === null) return JSON.parse(text);
    const [, path = '', svcId = '', platformId = null, uniqueId = null, deleted] = found;
    children.push([path, svcId, platformId, uniqueId, deleted === '1' ? 1 : 0]);
    if (CHILD.lastIndex === text.length) return children;
  }
}
