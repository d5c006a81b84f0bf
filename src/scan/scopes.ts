import type { Span } from './source-text.js';

/** Maximum number of functions around one position that are looked at. */
const MAX_DEPTH = 100;

/** The functions of a file, to find those around a position. */
export class Scopes {
  readonly #functions: readonly Span[];
  readonly #parents: readonly number[];

  constructor(functions: readonly Span[]) {
    this.#functions = functions.toSorted((a, b) => a.start - b.start || b.end - a.end);
    const open: number[] = [];
    this.#parents = this.#functions.map(({ start }, at) => {
      while (open.length > 0 && (this.#functions[open.at(-1) ?? 0]?.end ?? 0) <= start) open.pop();
      const parent = open.at(-1) ?? -1;
      open.push(at);
      return parent;
    });
  }

  /** The functions around a position, the innermost first. */
  around(position: number): readonly Span[] {
    const found: Span[] = [];
    let at = lastBefore(this.#functions, position);
    for (let depth = 0; at >= 0 && depth < MAX_DEPTH; depth += 1) {
      const one = this.#functions[at];
      if (one !== undefined && one.end > position) found.push(one);
      at = this.#parents[at] ?? -1;
    }
    return found;
  }
}

/** The index of the last range that starts before a position or at it, of ranges in the order of their starts; -1: none. */
export function lastBefore(spans: readonly Span[], position: number): number {
  let [low, high] = [-1, spans.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((spans[middle]?.start ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
