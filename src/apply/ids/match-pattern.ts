import type { PatternPart } from '../../config/id-pattern.js';
import { escapeRegExp } from '../../text/escape.js';

/** Where an id stands in a text. */
export interface IdSpan {
  readonly start: number;
  readonly end: number;
}

/** The ids of a text in the order of the pattern; null if it does not fit, `several` if it fits in more than one way. */
export type PatternMatch = readonly IdSpan[] | 'several' | null;

/** Parts between two `*`, which must follow each other directly. */
type Chunk = readonly Exclude<PatternPart, { readonly kind: 'any' }>[];

interface Found {
  readonly start: number;
  readonly end: number;
  readonly ids: readonly IdSpan[];
}

/** Beside `*`, nothing that could be part of the number or is attached to it: letters, signs, `%20`, `&#65;`, `1,000`. */
const ALONE_BEFORE = String.raw`(?<![\w%+\-\u0080-\uffff]|&#|\d[.,'])`;
const ALONE_AFTER = String.raw`(?![\w%+\-\u0080-\uffff]|&#|[.,']\d)`;

/**
 * Prepares to match texts. The whole text must fit. An id is a run of ASCII digits, never a part of one; whether it is in
 * canonical form is for the caller to judge.
 */
export function compilePattern(parts: readonly PatternPart[]): (text: string) => PatternMatch {
  const chunks = splitAtAny(parts);
  // An empty chunk, where the pattern begins or ends with `*`, fits everywhere.
  const searches = chunks.flatMap((chunk, at) =>
    chunk.length === 0 ? [] : [searchOf(chunk, at > 0, at < chunks.length - 1)],
  );
  return (text) => {
    const found: Found[][] = [];
    for (const search of searches) {
      const places = search(text);
      if (places.length === 0) return null;
      found.push(places);
    }
    const [only] = found;
    if (found.length === 1 && only?.length === 1) return only[0]?.ids ?? null;
    const first = placeFromLeft(found);
    if (first === null) return null;
    if (found.every(({ length }) => length === 1)) return first.flatMap(({ ids }) => ids);
    const last = placeFromRight(found, text.length);
    const isSame = first.every(({ ids, start }, at) => ids.length === 0 || last?.[at]?.start === start);
    return isSame ? first.flatMap(({ ids }) => ids) : 'several';
  };
}

/** At least one chunk; the first and the last are empty where the pattern begins or ends with `*`. */
function splitAtAny(parts: readonly PatternPart[]): Chunk[] {
  const chunks: Chunk[number][][] = [[]];
  for (const part of parts) {
    if (part.kind === 'any') chunks.push([]);
    else chunks.at(-1)?.push(part);
  }
  return chunks;
}

/** Finds every place of a chunk in a text, in ascending order. Two places of one chunk never contain each other. */
function searchOf(chunk: Chunk, isAfterAny: boolean, isBeforeAny: boolean): (text: string) => Found[] {
  const source = chunk.map((part, at) => {
    if (part.kind === 'text') return escapeRegExp(part.text);
    const before = at === 0 && isAfterAny ? ALONE_BEFORE : '';
    return `${before}(\\d+)${at === chunk.length - 1 && isBeforeAny ? ALONE_AFTER : ''}(?!\\d)`;
  });
  const regex = new RegExp(`${isAfterAny ? '' : '^'}${source.join('')}${isBeforeAny ? '' : '$'}`, 'g');
  return (text) => {
    const found: Found[] = [];
    regex.lastIndex = 0;
    for (let match = regex.exec(text); match !== null; match = regex.exec(text)) {
      found.push(placesOf(chunk, match));
      if (!isAfterAny) break;
      regex.lastIndex = match.index + 1;
    }
    return found;
  };
}

function placesOf(chunk: Chunk, match: RegExpExecArray): Found {
  const ids: IdSpan[] = [];
  let at = match.index;
  for (const part of chunk) {
    const length = part.kind === 'text' ? part.text.length : (match[ids.length + 1]?.length ?? 0);
    if (part.kind === 'id') ids.push({ start: at, end: at + length });
    at += length;
  }
  return { start: match.index, end: at, ids };
}

/** The leftmost place of every chunk, each after the one before; null if the text does not fit. */
function placeFromLeft(found: readonly (readonly Found[])[]): Found[] | null {
  const placed: Found[] = [];
  for (const places of found) {
    const from = placed.at(-1)?.end ?? 0;
    const place = places.find(({ start }) => start >= from);
    if (place === undefined) return null;
    placed.push(place);
  }
  return placed;
}

/** The rightmost place of every chunk. If it is the leftmost one too, there is no other. */
function placeFromRight(found: readonly (readonly Found[])[], length: number): Found[] | null {
  const placed: Found[] = [];
  for (const places of found.toReversed()) {
    const until = placed[0]?.start ?? length;
    const place = places.findLast(({ end }) => end <= until);
    if (place === undefined) return null;
    placed.unshift(place);
  }
  return placed;
}
