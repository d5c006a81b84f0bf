import type { SourcePart } from './syntax.js';

/** Stands in a literal for each character of a part that the program fills in. */
export const HOLE = '\0';

/** A range of positions in a file. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A string or template, without its quotes; `text` is as written, as long as the range, with `HOLE` for what is filled in. */
export interface Literal extends Span {
  readonly text: string;
}

/** A file as the rules read it. All texts have the positions of the file. */
export interface SourceText {
  readonly path: string;
  readonly language: string;
  /** Whether a grammar told strings, comments and code apart. */
  readonly isCode: boolean;
  /** The first 1,000 characters of the file, with comments. */
  readonly head: string;
  /** The file with spaces for its comments. */
  readonly code: string;
  readonly literals: readonly Literal[];
  readonly comments: readonly Span[];
  readonly functions: readonly Span[];
}

/** A file whose parts a grammar told apart. */
export function buildSourceText(
  path: string,
  language: string,
  source: string,
  parts: readonly SourcePart[],
): SourceText {
  const of = (part: SourcePart['part']) => parts.filter((one) => one.part === part);
  const literals = readLiterals(source, parts);
  const prose = language === 'python' ? literals.filter((one) => isDocstring(source, one)) : [];
  const comments = [...of('comment'), ...prose];
  return {
    path,
    language,
    isCode: true,
    head: source.slice(0, 1000),
    code: blank(source, comments, toSpaces),
    literals: prose.length === 0 ? literals : literals.filter((one) => !isDocstring(source, one)),
    comments: comments.sort((a, b) => a.start - b.start),
    functions: of('function'),
  };
}

const toSpaces = (text: string): string => text.replace(/[^\n]/g, ' ');
const toHoles = (text: string): string => HOLE.repeat(text.length);

/** The text with what is in the ranges replaced by as many characters. */
function blank(source: string, spans: readonly Span[], by: (text: string) => string): string {
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    if (end <= from) continue;
    pieces.push(source.slice(from, Math.max(from, start)));
    pieces.push(by(source.slice(Math.max(from, start), end)));
    from = end;
  }
  return pieces.join('') + source.slice(from);
}

/** Literals with what is filled in; a literal inside of what another one fills in is one of its own. */
function readLiterals(source: string, parts: readonly SourcePart[]): Literal[] {
  const found: Literal[] = [];
  /** The literals and holes around the current position, and the holes of each literal. */
  const around: { readonly end: number; readonly holes: Span[] | null; readonly start: number }[] = [];
  const close = (position: number): void => {
    for (let top = around.at(-1); top !== undefined && top.end <= position; top = around.at(-1)) {
      around.pop();
      if (top.holes !== null) found.push(literalOf(source, top, top.holes));
    }
  };
  for (const { part, start, end } of parts) {
    close(start);
    const inside = around.at(-1);
    if (part === 'literal' || part === 'symbol') {
      // Parts of one string, such as the body of a heredoc, are no strings of their own.
      if (inside?.holes == null) around.push({ start, end, holes: [] });
    } else if ((part === 'hole' || part === 'variable') && inside?.holes != null) {
      const isBraced = source[start - 1] === '{' && source[end] === '}';
      inside.holes.push(isBraced ? { start: start - 1, end: end + 1 } : { start, end });
      around.push({ start, end, holes: null });
    }
  }
  close(Number.POSITIVE_INFINITY);
  return found.sort((a, b) => a.start - b.start);
}

function literalOf(source: string, { start, end }: Span, holes: readonly Span[]): Literal {
  const raw = source.slice(start, end);
  const open =
    /^(?::?(?:[A-Za-z]{0,3}|[@$]{1,3})(?:"{3,}|'{3}|["'`])|%\w?[^\w\s]|:|<<<[^\n]*\n)?/.exec(raw)?.[0]
      .length ?? 0;
  const close = /(?:"{3,}|'{3}|["'`])?:?$/.exec(raw)?.[0].length ?? 0;
  const [from, to] = open + close > raw.length ? [start, end] : [start + open, end - close];
  const within = holes.flatMap((one) =>
    one.end <= from || one.start >= to
      ? []
      : [{ start: Math.max(one.start, from) - from, end: Math.min(one.end, to) - from }],
  );
  return { start: from, end: to, text: blank(source.slice(from, to), within, toHoles) };
}

/** Whether a string of Python is a statement of its own, which documents something. */
function isDocstring(source: string, { start, end }: Span): boolean {
  const before = source.slice(Math.max(0, start - 200), start).replace(/[rRuUbB]?("""|''')$/, '');
  const isTriple = /("""|''')$/.test(source.slice(Math.max(0, start - 3), start));
  const after = source.slice(end + 3, end + 4);
  return isTriple && /(^|[:\n])\s*$/.test(before) && !/[(,=+[{]\s*$/.test(before) && /^[\r\n]?$/.test(after);
}

/** Finds the lines of positions. */
export class Lines {
  readonly source: string;
  readonly #starts = [0];

  constructor(source: string) {
    this.source = source;
    for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1))
      this.#starts.push(at + 1);
  }

  startOf(line: number): number {
    return this.#starts[line - 1] ?? 0;
  }

  /** The line that a position is on. */
  at(position: number): number {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  }

  /** A line without its line feed. */
  textOf(line: number): string {
    return this.source.slice(this.startOf(line), (this.#starts[line] ?? this.source.length + 1) - 1);
  }
}

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

/** Kinds of text that are read without a grammar, by the end of a file's name. */
const KINDS: readonly (readonly [ends: RegExp, kind: string])[] = [
  [/\.(json|jsonc|json5|har|geojson|webmanifest)$/, 'json'],
  [/\.(sql|ddl|psql)$/, 'sql'],
  [/\.prisma$/, 'prisma'],
  [/\.(gradle|kts)$/, 'gradle'],
  [/\.(graphql|gql|graphqls)$/, 'graphql'],
  [
    /\.(ya?ml|sh|bash|zsh|ksh|fish|ps1|bat|cmd|env|http|rest|toml|ini|cfg|conf|properties|tf|tfvars|hcl|xml|csproj|fsproj|config|vue|svelte|erb|jinja2?|j2|lock)$/,
    'text',
  ],
  [
    /(^|\/)(Dockerfile[^/]*|Makefile|GNUmakefile|Jenkinsfile|Procfile|Vagrantfile|Gemfile|Pipfile|Rakefile|go\.mod|\.env[^/]*|requirements[^/]*\.txt|\.[\w-]*rc)$/,
    'text',
  ],
];

/** The kind of a file that is read without a grammar; null if it is not read at all. */
export function plainKindOf(path: string): string | null {
  return (
    KINDS.find(
      ([ends]) => ends.test(path.replace(/^.*\/(?=[^/]+$)/, '').toLowerCase()) || ends.test(path),
    )?.[1] ?? null
  );
}

/** Reads a file without a grammar. */
export function readPlainText(path: string, source: string, kind: string): SourceText {
  const pattern = COMMENTS[kind];
  const found = pattern === undefined ? [] : [...source.matchAll(pattern)];
  const comments = found.map(({ 0: { length }, index }) => ({ start: index, end: index + length }));
  const code = blank(source, comments, toSpaces);
  return {
    path,
    language: kind,
    isCode: false,
    head: source.slice(0, 1000),
    code,
    literals: readPlainLiterals(code),
    comments,
    functions: [],
  };
}

const COMMENTS: Readonly<Record<string, RegExp>> = {
  sql: /--.*$|\/\*[\s\S]*?(?:\*\/|$(?![\s\S]))/gm,
  prisma: /\/\/.*$/gm,
  gradle: /(?<!:)\/\/.*$|\/\*[\s\S]*?(?:\*\/|$(?![\s\S]))/gm,
  graphql: /^[ \t]*#.*$/gm,
  text: /(?:^|(?<=\s))(?:#(?=[\s!#]|[A-Za-z]{2,}\s).*$)|<!--[\s\S]*?(?:-->|$(?![\s\S]))/gm,
};

/** Longer texts without blanks and quotes are data. */
const MAX_ADDRESS = 4000;
/** An address, or a path that begins with a variable. */
const ADDRESS =
  /(?:https?:\/\/|\{\{\s*[\w.]+\s*\}\}|\$\{\{?\s*[\w.]+\s*\}?\}|\$\([\w.]+\)|\$\w+)[^\s"'`<>|\\,;)]*/gi;
const VARIABLE = /\{\{\s*[\w.]+\s*\}\}|\$\{\{?\s*[\w.]+\s*\}?\}|\$\([\w.]+\)|\$\w+/g;
const QUOTED = /"((?:[^"\\\n]|\\.)*)(?:"|\\?$)|'([^'\n]{0,300})'/gm;
/** `name=value` without quotes. */
const ASSIGNED = /(?<!\S)[?&]?[A-Za-z][\w.]*(?:\[\w+\])?=[^\s"']*/gm;

/** Addresses, quoted texts, and `name=value` without quotes; what is both an address and quoted is read once. */
function readPlainLiterals(code: string): readonly Literal[] {
  const addresses = [...code.matchAll(ADDRESS)].flatMap(({ 0: raw, index }) => {
    if (raw.length > MAX_ADDRESS) return [];
    const text = raw.replace(VARIABLE, (name) => HOLE.repeat(name.length));
    const kept = text.includes('[') ? text : text.replace(/[.\]}]+$/, '');
    return [{ start: index, end: index + kept.length, text: kept }];
  });
  const starts = new Set(addresses.map(({ start }) => start));
  const quoted = [...code.matchAll(QUOTED)].flatMap(({ 1: double, 2: single, index }) => {
    const text = double ?? single ?? '';
    const start = index + 1;
    return starts.has(start) || /^https?:\/\//i.test(text) ? [] : [{ start, end: start + text.length, text }];
  });
  const assigned = [...code.matchAll(ASSIGNED)].map(({ 0: text, index }) => {
    return { start: index, end: index + text.length, text: text.replace(/^[?&]/, '') };
  });
  const inQuotes = quoted.filter(({ text }) => !text.includes('://'));
  return [...addresses, ...inQuotes, ...assigned].sort((a, b) => a.start - b.start);
}
