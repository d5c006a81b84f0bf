import { type IdColumn, parseModelRef, patternsOf } from '../../config/apply-targets.js';
import type { Db } from '../../store/open.js';
import { applyEdits, type TextEdit } from '../../text/text-edits.js';
import type { InvalidForm } from './id-form.js';
import { compilePattern, type IdSpan, type PatternMatch } from './match-pattern.js';
import type { ModelIds } from './model-ids.js';
import { type Category, type CellResolver, type LookUp, Resolver, type RowScope } from './resolver.js';

interface CompiledPattern {
  readonly match: (text: string) => PatternMatch;
  /** The resolver of each id, in the order of the pattern. */
  readonly resolvers: readonly Resolver[];
}

/** Prepares to look up texts by the patterns of a column. `lookUp`: that of `{id}`. */
export function buildPatternResolver(
  db: Db,
  column: IdColumn,
  lookUp: LookUp,
  loaded: Map<string, ModelIds>,
): PatternResolver {
  const resolvers = new Map<string | null, Resolver>();
  const resolverOf = (model: string | null): Resolver => {
    const own = model === null ? lookUp.model : parseModelRef(model);
    const found = resolvers.get(model) ?? new Resolver(db, { ...lookUp, model: own }, loaded);
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
 * Looks up texts that contain ids. A text is mapped only if it fits exactly one pattern in exactly one way, and all its
 * ids are mapped; otherwise it has the category of one of its other ids, preferably of one that is unknown.
 */
export class PatternResolver implements CellResolver {
  readonly id = null;
  readonly ids = null;
  readonly slot = -1;
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

  lookUpText(text: string, scope: RowScope): Category {
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

  lookUpNumber(value: number, scope: RowScope): Category {
    return this.lookUpText(String(value), scope);
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
    const others: Category[] = [];
    for (const [at, resolver] of resolvers.entries()) {
      const { start = 0, end = 0 } = spans[at] ?? {};
      const category = resolver.lookUpText(text.slice(start, end), scope);
      if (category === 'mapped') edits.push({ start, end, text: resolver.newText });
      else others.push(category);
    }
    const [worst] = others.sort((a, b) => Number(isUnknown(b)) - Number(isUnknown(a)));
    if (worst !== undefined) return worst;
    this.edits = edits;
    this.newText = applyEdits(text, edits);
    return 'mapped';
  }
}

function isUnknown(category: Category): boolean {
  return category.startsWith('unknown/');
}

/**
 * Applies edits to a text in its escaped form. `unit`: matches one UTF-16 unit of the text, as escaped. The texts of the
 * edits need no escapes.
 */
export function editEscaped(raw: string, unit: RegExp, edits: readonly TextEdit[]): string {
  const starts = [...raw.matchAll(unit)].map(({ index }) => index);
  const inRaw = edits.map((edit) => {
    const start = starts[edit.start] ?? 0;
    return { ...edit, start, end: start + edit.end - edit.start };
  });
  return applyEdits(raw, inRaw);
}
