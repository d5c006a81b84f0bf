import type { ParsedChild } from '../domain.js';

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

/** A record's children as `record.children` holds them: a JSON list, by path and id; ids as text, which JSON keeps exact. */
export type StoredChild = readonly [
  path: string,
  svcId: string,
  platformId: string | null,
  uniqueId: string | null,
  deleted: 0 | 1,
];

/**
 * The children as stored text, the same for every order they come in; null where there are none. A child that is
 * listed twice is stored once, as it was listed last.
 */
export function renderChildren(children: readonly ParsedChild[]): string | null {
  if (children.length === 0) return null;
  return JSON.stringify((isOrdered(children) ? children : orderOf(children)).map(storedOf));
}

const CHILD = itemPattern(`${PLAIN},${PLAIN},(?:${PLAIN}|null),(?:${PLAIN}|null),([01])`);

/** Stored text as children. */
export function parseChildren(text: string): readonly StoredChild[] {
  return parseItems(text, CHILD, childOf);
}

function childOf(found: RegExpExecArray): StoredChild {
  return [found[1] ?? '', found[2] ?? '', found[3] ?? null, found[4] ?? null, found[5] === '1' ? 1 : 0];
}

function storedOf({ path, svcId, platformId, platformUniqueId, deleted }: ParsedChild): StoredChild {
  return [path, svcId.toString(), platformId, platformUniqueId, deleted ? 1 : 0];
}

/** The usual order, in which nothing can repeat. */
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
