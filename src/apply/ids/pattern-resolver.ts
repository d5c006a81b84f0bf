import { type IdColumn, type PatternPart, parseModelRef, patternsOf } from '../../config/apply-targets.js';
import { escapeRegExp } from '../../text/escape.js';
import type { Category, InvalidForm } from './model-ids.js';
import type { RemapIds } from './remap-ids.js';
import { type CellResolver, type LookUp, Resolver, type RowScope } from './resolver.js';

/** Replaces `[start, end)` of a file's text; positions count UTF-16 units. */
interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies edits, which must be sorted and must not overlap, to a text. */
function applyEdits(source: string, edits: readonly TextEdit[]): string {
  let from = 0;
  let result = '';
  for (const { start, end, text } of edits) {
    result += source.slice(from, start) + text;
    from = end;
  }
  return result + source.slice(from);
}

interface CompiledPattern {
  readonly match: (text: string) => PatternMatch;
  /** The resolver of each id, in the order of the pattern. */
  readonly resolvers: readonly Resolver[];
}

/** Builds the resolver for a column with patterns. `lookUp`: how to look up `{id}`, which names no model. */
export function buildPatternResolver(remap: RemapIds, column: IdColumn, lookUp: LookUp): PatternResolver {
  const resolvers = new Map<string | null, Resolver>();
  const resolverOf = (model: string | null): Resolver => {
    const own = model === null ? lookUp.model : parseModelRef(model);
    const found = resolvers.get(model) ?? new Resolver(remap, { ...lookUp, model: own });
    resolvers.set(model, found);
    return found;
  };
  const patterns = patternsOf(column).map((parts) => ({
    match: compilePattern(parts),
    resolvers: parts.flatMap((part) => (part.kind === 'id' ? [resolverOf(part.model)] : [])),
  }));
  return new PatternResolver(patterns, resolvers.get(null) ?? null);
}

/**
 * Resolves text that contains ids. A text is mapped only if it fits exactly one pattern in exactly one way, and all its
 * ids are mapped. Otherwise it has the category of one of its ids that are not mapped: of an unknown one, if there is any.
 */
export class PatternResolver implements CellResolver {
  readonly id = null;
  readonly ids = null;
  readonly slot = -1;
  readonly region = null;
  newText = '';
  oldValue: string | null = null;
  /** The edits that make a mapped text the new one, in ascending order. */
  edits: readonly TextEdit[] = [];
  readonly #patterns: readonly CompiledPattern[];
  readonly #own: Resolver | null;

  /** `own`: the resolver of `{id}`, if there is one. */
  constructor(patterns: readonly CompiledPattern[], own: Resolver | null) {
    this.#patterns = patterns;
    this.#own = own;
  }

  get newValue(): string {
    return this.newText;
  }

  lookUp(value: string | number, scope: RowScope): Category {
    const text = String(value);
    this.oldValue = text;
    if (text === '') return 'empty';
    if (this.#own?.isOurs(scope) === false) return 'not_ours';
    let fitting: CompiledPattern | null = null;
    let found: PatternMatch = null;
    for (const pattern of this.#patterns) {
      const spans = pattern.match(text);
      if (spans === null) continue;
      if (fitting !== null) return 'unknown/several_matches';
      fitting = pattern;
      found = spans;
    }
    if (fitting === null || found === null) return 'unknown/no_pattern';
    if (found === 'several') return 'unknown/several_matches';
    return this.#lookUpSpans(fitting, found, text, scope);
  }

  invalid(why: InvalidForm): Category {
    this.oldValue = null;
    return `unknown/${why}`;
  }

  #lookUpSpans(
    { resolvers }: CompiledPattern,
    spans: readonly IdSpan[],
    text: string,
    scope: RowScope,
  ): Category {
    const edits: TextEdit[] = [];
    let worst: Category | null = null;
    for (const [at, resolver] of resolvers.entries()) {
      const { start = 0, end = 0 } = spans[at] ?? {};
      const category = resolver.lookUp(text.slice(start, end), scope);
      if (category === 'mapped') edits.push({ start, end, text: resolver.newText });
      else if (worst === null || (isUnknown(category) && !isUnknown(worst))) worst = category;
    }
    if (worst !== null) return worst;
    this.edits = edits;
    this.newText = applyEdits(text, edits);
    return 'mapped';
  }
}

function isUnknown(category: Category): boolean {
  return category.startsWith('unknown/');
}

/**
 * Applies edits, which refer to a string as decoded, to its escaped form. `unit`: matches one UTF-16 code unit in escaped
 * form. What the edits insert needs no escapes.
 */
export function editEscaped(raw: string, unit: RegExp, edits: readonly TextEdit[]): string {
  const starts = [...raw.matchAll(unit)].map(({ index }) => index);
  const inRaw = edits.map((edit) => {
    const start = starts[edit.start] ?? 0;
    return { ...edit, start, end: start + edit.end - edit.start };
  });
  return applyEdits(raw, inRaw);
}

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

/** An id beside `*` must not touch what could be part of it or belongs to a longer token: letters, signs, `%20`, `&#65;`, `1,000`. */
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
    const first = placeFromLeft(found);
    if (first === null) return null;
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

/** The rightmost place of every chunk, each before the one after; null if the text does not fit. */
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
