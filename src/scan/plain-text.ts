import { blank, HOLE, type Literal, type SourceText, toSpaces } from './source-text.js';

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
    literals: readLiterals(code),
    comments,
    functions: [],
    imports: [],
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
function readLiterals(code: string): readonly Literal[] {
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
