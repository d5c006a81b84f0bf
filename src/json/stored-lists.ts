import type { ParsedChild } from '../domain.js';

/** Pattern of a JSON string without escapes. */
const PLAIN = String.raw`"([^"\\\0-\x1f]*)"`;

/** Pattern of an item for `parseItems`: an array whose content matches `inside`. */
function itemPattern(inside: string): RegExp {
  return new RegExp(String.raw`\[${inside}\](?:,(?=\[)|\]$)`, 'y');
}

/**
 * Parses a JSON array of arrays with a pattern for the inner ones. If one of them does not match, `JSON.parse` parses
 * everything: it takes five times as long for short strings, and adds every new string to V8's string table.
 */
function parseItems<T extends readonly unknown[]>(
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

/** A child in the JSON list in `record.children`, which is ordered by path and id. Ids are text, to stay exact. */
export type StoredChild = readonly [
  path: string,
  svcId: string,
  platformId: string | null,
  uniqueId: string | null,
  deleted: 0 | 1,
];

/**
 * The children as stored text, independent of their order; null if there are none. Of children with the same path and
 * id, only the last is stored.
 */
export function renderChildren(children: readonly ParsedChild[]): string | null {
  if (children.length === 0) return null;
  return JSON.stringify((isOrdered(children) ? children : orderOf(children)).map(storedOf));
}

const CHILD = itemPattern(`${PLAIN},${PLAIN},(?:${PLAIN}|null),(?:${PLAIN}|null),([01])`);

/** Parses the result of `renderChildren`. */
export function parseChildren(text: string): readonly StoredChild[] {
  return parseItems(text, CHILD, childOf);
}

function childOf(found: RegExpExecArray): StoredChild {
  return [found[1] ?? '', found[2] ?? '', found[3] ?? null, found[4] ?? null, found[5] === '1' ? 1 : 0];
}

function storedOf({ path, svcId, platformId, platformUniqueId, deleted }: ParsedChild): StoredChild {
  return [path, svcId.toString(), platformId, platformUniqueId, deleted ? 1 : 0];
}

/** Whether the children are already in order without duplicates, as is usual. */
function isOrdered(children: readonly ParsedChild[]): boolean {
  for (let at = 1; at < children.length; at++) {
    const [before, one] = [children[at - 1], children[at]];
    if (before === undefined || one === undefined || byPlace(before, one) >= 0) return false;
  }
  return true;
}

function orderOf(children: readonly ParsedChild[]): readonly ParsedChild[] {
  const last = new Map(children.map((child) => [`${child.svcId} ${child.path}`, child]));
  return [...last.values()].sort(byPlace);
}

function byPlace(a: ParsedChild, b: ParsedChild): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.svcId < b.svcId ? -1 : a.svcId > b.svcId ? 1 : 0;
}
