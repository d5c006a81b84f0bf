import { JsonScanner, JsonSyntaxError, LETTER_N, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-scanner.js';

/** A step of a JSON path. */
export type PathStep =
  | { readonly kind: 'key'; readonly name: string; readonly bytes: Uint8Array }
  | { readonly kind: 'index'; readonly at: number }
  /** Every member or item. */
  | { readonly kind: 'any' };

/** The steps of a path, from the value itself. */
export type JsonPath = readonly PathStep[];

const PATH_STEP =
  /\.(?<name>[\p{L}_$][\p{L}\p{N}_$-]*)|\.(?<star>\*)|\[(?<at>\d{1,9})\]|\[(?<all>\*)\]|\['(?<single>[^']*)'\]|\["(?<double>[^"]*)"\]/uy;

/**
 * Parses a JSON path: `$.invoice.id`, `$.lines[*].item_id`, `$['odd key'][0]`. The leading `$.` is optional. Null if it is invalid.
 */
export function parseJsonPath(text: string): JsonPath | null {
  const body = text.startsWith('$') ? text.slice(1) : text.startsWith('[') ? text : `.${text}`;
  const steps: PathStep[] = [];
  PATH_STEP.lastIndex = 0;
  while (PATH_STEP.lastIndex < body.length) {
    const groups = PATH_STEP.exec(body)?.groups;
    if (groups === undefined) return null;
    steps.push(stepOf(groups));
  }
  return steps;
}

function stepOf(groups: Readonly<Record<string, string | undefined>>): PathStep {
  if (groups['star'] !== undefined || groups['all'] !== undefined) return { kind: 'any' };
  if (groups['at'] !== undefined) return { kind: 'index', at: Number(groups['at']) };
  const name = groups['name'] ?? groups['single'] ?? groups['double'] ?? '';
  return { kind: 'key', name, bytes: new TextEncoder().encode(name) };
}

/** A value found by a path; `start` and `end` include the quotes of a string. */
export interface Hit {
  /** Index of the path. */
  readonly path: number;
  readonly kind: 'number' | 'string' | 'null' | 'other';
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the values that `paths` select in the JSON value at `start` to `end` of `bytes`, in the order of the text. The
 * whole value is validated.
 *
 * @throws JsonSyntaxError; its `at` is an index into `bytes`
 */
export function findValues(
  bytes: Uint8Array,
  start: number,
  end: number,
  paths: readonly JsonPath[],
): readonly Hit[] {
  const walk = new PathWalk(bytes.subarray(start, end), paths);
  try {
    walk.run();
  } catch (error) {
    throw error instanceof JsonSyntaxError ? new JsonSyntaxError(error.message, start + error.at) : error;
  }
  return walk.hits.map((hit) => ({ ...hit, start: start + hit.start, end: start + hit.end }));
}

/** For each path, the number of its steps that led to a value; -1: the value is not on the path. */
type Reached = readonly number[];

class PathWalk {
  readonly hits: { -readonly [key in keyof Hit]: Hit[key] }[] = [];
  readonly #scanner: JsonScanner;
  readonly #paths: readonly JsonPath[];

  constructor(bytes: Uint8Array, paths: readonly JsonPath[]) {
    this.#scanner = new JsonScanner(bytes);
    this.#paths = paths;
  }

  run(): void {
    const first = this.#scanner.skipSpace(0);
    this.#scanner.expectEnd(
      this.#walk(
        first,
        this.#paths.map(() => 0),
      ),
    );
  }

  /** Walks the value at `at` and returns its end. */
  #walk(at: number, reached: Reached): number {
    const scanner = this.#scanner;
    const first = scanner.bytes[at] ?? 0;
    const isContainer = first === OPEN_OBJECT || first === OPEN_ARRAY;
    const kind = KINDS.get(first) ?? (isContainer ? 'other' : 'number');
    const own = this.#paths.flatMap(({ length }, path) =>
      reached[path] === length ? [{ path, kind, start: at, end: at }] : [],
    );
    // before the hits inside it, to keep the order of the text
    this.hits.push(...own);
    const isOnTheWay =
      isContainer && reached.some((steps, path) => steps >= 0 && steps < (this.#paths[path]?.length ?? 0));
    const end = isOnTheWay ? this.#walkInside(at, reached) : scanner.skipValue(at);
    for (const hit of own) hit.end = end;
    return end;
  }

  #walkInside(at: number, reached: Reached): number {
    const scanner = this.#scanner;
    const isObject = scanner.bytes[at] === OPEN_OBJECT;
    let i = scanner.enter(at);
    for (let index = 0; scanner.more; index += 1) {
      let matches = (step: PathStep) => step.kind === 'any' || (step.kind === 'index' && step.at === index);
      if (isObject) {
        const keyEnd = scanner.skipKey(i);
        matches = this.#keyMatcher(i + 1, keyEnd - 1);
        i = scanner.skipColon(keyEnd);
      }
      const inner = reached.map((steps, path) => {
        const step = this.#paths[path]?.[steps];
        return step !== undefined && matches(step) ? steps + 1 : -1;
      });
      const end = this.#walk(i, inner);
      i = isObject ? scanner.nextMember(end) : scanner.nextItem(end);
    }
    return i;
  }

  /** Makes the function that says whether a step matches the key that was scanned last. */
  #keyMatcher(start: number, end: number): (step: PathStep) => boolean {
    const { bytes, escaped } = this.#scanner;
    const name = escaped ? this.#scanner.text(start, end, true) : null;
    return (step) => {
      if (step.kind !== 'key') return step.kind === 'any';
      return name === null ? isSameBytes(step.bytes, bytes.subarray(start, end)) : step.name === name;
    };
  }
}

const KINDS: ReadonlyMap<number, Hit['kind']> = new Map([
  [QUOTE, 'string'],
  [LETTER_N, 'null'],
  ['t'.charCodeAt(0), 'other'],
  ['f'.charCodeAt(0), 'other'],
]);

function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** Whether two paths can select the same value. */
export function mayOverlap(a: JsonPath, b: JsonPath): boolean {
  return a.length === b.length && a.every((step, at) => mayMatch(step, b[at]));
}

function mayMatch(a: PathStep, b: PathStep | undefined): boolean {
  if (a.kind === 'any' || b?.kind === 'any') return true;
  if (a.kind === 'key') return b?.kind === 'key' && a.name === b.name;
  return a.kind === 'index' && b?.kind === 'index' && a.at === b.at;
}
