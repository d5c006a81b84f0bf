import { parseUrl, UNKNOWN } from './parse-url.js';
import { type Address, highestCertainty, type RuleInput } from './rule-input.js';
import type { ScanSettings } from './scan-settings.js';
import { flatten, type Piece, type TextValue } from './text-pieces.js';

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
export function readPlainText(path: string, source: string, kind: string, settings: ScanSettings): RuleInput {
  const text = blankComments(source, kind);
  const file = { path, source };
  const named = readNamed(text);
  const addresses = [...readAddresses(text, file, settings, named)];
  return {
    path,
    source: text,
    language: kind,
    nodes: [],
    addresses,
    reads: [],
    strings: readStrings(text),
    v3: highestCertainty(addresses),
    settings,
  };
}

const COMMENTS: Readonly<Record<string, RegExp>> = {
  sql: /--.*$|\/\*[\s\S]*?(?:\*\/|$(?![\s\S]))/gm,
  prisma: /\/\/.*$/gm,
  gradle: /(?<!:)\/\/.*$|\/\*[\s\S]*?(?:\*\/|$(?![\s\S]))/gm,
  graphql: /^\s*#.*$/gm,
  text: /(?:^|(?<=\s))(?:#(?=[\s!#]|[A-Za-z]{2,}\s).*$)|<!--[\s\S]*?(?:-->|$(?![\s\S]))/gm,
};

/** The text with comments replaced by spaces, so that positions stay the same. */
function blankComments(source: string, kind: string): string {
  const pattern = COMMENTS[kind];
  return pattern === undefined ? source : source.replace(pattern, (found) => found.replace(/[^\n]/g, ' '));
}

/** Addresses by the name of the variable that holds them. */
function readNamed(text: string): ReadonlyMap<string, { readonly start: number; readonly url: string }> {
  const named = new Map<string, { start: number; url: string }>();
  const assigned =
    /(?<![\w.-])([A-Za-z_][\w.-]*)["']?\s*(?::=|\?=|=|:|",\s*"value":)\s*["']?(?:\$\{\w+:-)?(https?:\/\/[^\s"'`,}<>]+)/g;
  for (const { 0: all, 1: name = '', 2: url = '', index } of text.matchAll(assigned)) {
    const known = named.get(name) ?? { start: index + all.length - url.length, url };
    named.set(name, known);
  }
  return named;
}

/** Maximum length of an address. */
const MAX_ADDRESS = 4000;
/** An address, or a path that begins with a variable. */
const ADDRESS =
  /(?:https?:\/\/|\{\{\s*[\w.]+\s*\}\}|\$\{\{?\s*[\w.]+\s*\}?\}|\$\([\w.]+\)|\$\w+)[^\s"'`<>|\\,;)]*/g;

function* readAddresses(
  text: string,
  file: { readonly path: string; readonly source: string },
  settings: ScanSettings,
  named: ReturnType<typeof readNamed>,
): Generator<Address> {
  for (const { 0: raw, index } of text.matchAll(ADDRESS)) {
    if (raw.length > MAX_ADDRESS) continue;
    const found = raw.replace(/[.\]}]+$/, (end) =>
      raw.slice(0, -end.length).includes('[') || raw.startsWith('{{') || raw.startsWith('$') ? end : '',
    );
    const parts = partsOf(found, index, file, named);
    const flat = flatten(parts);
    const url = parseUrl(flat, settings);
    const isRoute = url.route?.pair != null;
    const isVariable = url.kind === 'relative' && isRoute && flat.startsWith(UNKNOWN) && !/v4/i.test(found);
    yield {
      text: parts,
      flat,
      url,
      certainty: url.certainty ?? (isVariable ? 'likely' : null),
      start: index,
      end: index + found.length,
      call: null,
      entries: [],
    };
  }
}

/** The pieces of an address, with the values of its variables. */
function partsOf(
  found: string,
  start: number,
  file: { readonly path: string; readonly source: string },
  named: ReturnType<typeof readNamed>,
): TextValue {
  const parts: Piece[] = [];
  let from = 0;
  const literal = (to: number): void => {
    if (to > from)
      parts.push({
        kind: 'literal',
        text: found.slice(from, to),
        file,
        start: start + from,
        end: start + to,
      });
  };
  for (const { 0: all, 1: name = '', index } of found.matchAll(
    /(?:\{\{\s*|\$\{\{?\s*(?:env\.)?|\$\(|\$)([\w.]+)(?:\s*\}\}|\s*\}|\))?/g,
  )) {
    literal(index);
    const known = named.get(name);
    if (known !== undefined)
      parts.push({
        kind: 'literal',
        text: known.url,
        file,
        start: known.start,
        end: known.start + known.url.length,
      });
    else parts.push({ kind: 'unknown', expression: null });
    from = index + all.length;
  }
  literal(found.length);
  return parts;
}

/** Quoted strings, and `name=value` without quotes. */
function readStrings(text: string): { start: number; text: string }[] {
  const quoted = [...text.matchAll(/"((?:[^"\\\n]|\\.)*)(?:"|\\?$)|'([^'\n]{0,300})'/gm)].map(
    ({ 1: double, 2: single, index }) => ({
      start: index + 1,
      text: double ?? single ?? '',
    }),
  );
  const words = [...text.matchAll(/(?<!\S)[?&]?([A-Za-z][\w.]*(?:\[\w+\])?)=[^\s"']*/gm)].map(
    ({ 0: all, index }) => ({
      start: index,
      text: all.replace(/^[?&]/, ''),
    }),
  );
  return [...quoted, ...words];
}
