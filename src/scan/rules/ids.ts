import { argumentsOf, calleeOf, plainText, textOf, unwrap, walk } from '../access.js';
import { positionInFile, type RuleInput } from '../rule-input.js';
import type { SyntaxNode } from '../syntax.js';
import { isCompanyFilter } from './parameters.js';
import type { Rule, RuleHit } from './rules.js';

export const hardCodedId: Rule = {
  id: 'hard-coded-id',
  title: 'Id in the code',
  message: 'V4 gave every record a new id. In V4, an id in the code names another record, or none.',
  v4: 'svc-migrate lookup MODEL ID',
  find: (input) => [...inUrls(input), ...besideNames(input), ...inText(input)],
};

function inUrls({ addresses, path, settings }: RuleInput): RuleHit[] {
  return addresses.flatMap((address): RuleHit[] => {
    const { url, certainty } = address;
    if (certainty === null) return [];
    const id = url.route?.id ?? null;
    const isId = (name: string) =>
      name === `${settings.fieldPrefix}id[eq]` || isCompanyFilter(name, settings.fieldPrefix);
    const items = url.query.filter(
      ({ name, value, from, to }) =>
        isId(name) &&
        /^\d+$/.test(value) &&
        positionInFile(address, path, from) ===
          (positionInFile(address, path, to - 1) ?? 0) - (to - 1 - from),
    );
    const places = [
      ...(id === null ? [] : [{ from: id.from, name: '' }]),
      ...items.map(({ from, name }) => ({ from, name })),
    ];
    return places.flatMap(({ from, name }) => {
      const start = positionInFile(address, path, from);
      return start === null ? [] : [{ start, certainty, ...v4Of(name) }];
    });
  });
}

/** Digits in the same assignment, comparison or call as the name of an id. */
function besideNames({ nodes, settings }: RuleInput): RuleHit[] {
  const isName = idName(settings.fieldPrefix);
  const isNamed = (node: SyntaxNode) => isName.test(plainText(unwrap(node)) ?? '');
  return nodes.flatMap((node): RuleHit[] => {
    if (digitsOf(node) === null) return [];
    const around = statementOf(node);
    if (around === null || around.end - around.start > 300) return [];
    const names = walk(around).filter(
      (one) => /^(name|string|symbol)$/.test(one.kind) && (one.end <= node.start || one.start >= node.end),
    );
    // The last argument of a chain of calls belongs to the last call only.
    const near =
      around.kind === 'call' && !ASSERTS.test(calleeOf(around).name)
        ? argumentsOf(around).map(({ value }) => value)
        : names;
    const named = near.find(isNamed);
    if (named === undefined) return [];
    const v4 = v4Of(plainText(unwrap(named)) ?? '');
    return [{ start: node.start, certainty: around.kind === 'assign' ? 'look' : 'likely', ...v4 }];
  });
}

const COMPANY = 'the V4 id of the company: svc-migrate report pairs them';

/** Ids of companies are paired by the remap; those of records are looked up. */
function v4Of(name: string): { readonly v4?: string } {
  return /company/i.test(name) ? { v4: COMPANY } : {};
}

const ASSERTS =
  /^(to|not_to|toBe|toEqual|toStrictEqual|assert\w*|Assert\w*|Equal|isEqualTo|is|expect|where|find_by!?|findBy\w*|filter|Where|AreEqual)$/;

/** The pair, comparison, assignment or call that a literal is a part of. */
function statementOf(node: SyntaxNode): SyntaxNode | null {
  for (let at = node.parent, up = 0; at !== null && up < 7; at = at.parent, up += 1) {
    if (/^(pair|binary|assign)$/.test(at.kind) || /^assert/.test(at.type)) return at;
    if (at.kind === 'call' && !/^(eq|be|equal|equalTo|is)$/.test(calleeOf(at).name)) return at;
    if (at.kind === 'function' || at.kind === 'class' || at.kind === 'return') return null;
  }
  return null;
}

function digitsOf(node: SyntaxNode): string | null {
  const isNumber = node.kind === 'number';
  const text = isNumber
    ? textOf(node)
        .replaceAll('_', '')
        .replace(/[nLl]+$/, '')
    : plainText(node);
  return (isNumber || node.kind === 'string') && /^[1-9]\d{1,18}$/.test(text ?? '') ? text : null;
}

function idName(prefix: string): RegExp {
  const camel = prefix.replace(/_$/, '');
  return new RegExp(
    `(^|_|\\b)(${prefix}(\\w+_)?ids?|${camel}(\\w+)?(Id|ID)s?|${prefix.toUpperCase()}(\\w+_)?IDS?)(\\[(eq|in)\\])?$|^(Svc\\w*(Id|ID))$`,
  );
}

/** Conditions in SQL and members of JSON and YAML, inside strings and in text that is not parsed. */
function inText({ strings, source, nodes, settings }: RuleInput): RuleHit[] {
  const { fieldPrefix } = settings;
  const pattern = new RegExp(
    `["']?\\b${fieldPrefix}(?:\\w+_)?id\\\\?["']?\\s*(?:=|:|IN\\s*\\()\\s*\\\\?["']?([1-9]\\d+)`,
    'gi',
  );
  const given = nodes.length === 0 ? [{ start: 0, text: source }] : strings;
  return given.flatMap(({ start, text }) =>
    // A record that carries request_id came from V4 already.
    [...text.matchAll(pattern)].map(
      ({ index, 0: name }): RuleHit => ({
        start: start + index,
        certainty: /"request_id"/.test(text) ? 'look' : 'likely',
        ...v4Of(name),
      }),
    ),
  );
}

export const storedId: Rule = {
  id: 'stored-id',
  title: 'Stored id',
  message: 'This column or field seems to hold ids of the service. They must be rewritten.',
  v4: 'a target of svc-migrate apply',
  find: (input) => columnsOf(input).map(({ start }) => ({ start, certainty: 'look' })),
};

export const idWidth: Rule = {
  id: 'id-width',
  title: 'Column too narrow',
  message: 'Ids of the service are 64-bit integers. This type holds 32 bits or fewer.',
  v4: 'BIGINT or the 64-bit integer of the language',
  find: (input) =>
    columnsOf(input).flatMap(({ start, isNarrow }): RuleHit[] =>
      isNarrow ? [{ start, certainty: 'look' }] : [],
    ),
};

/** Longer lines are data. */
const MAX_LINE = 500;

interface FoundColumn {
  readonly start: number;
  readonly isNarrow: boolean;
}

const NARROW =
  /\b(INT|INTEGER|SMALLINT|MEDIUMINT|int4|serial|Int|int|Integer|integer|IntegerField|PositiveIntegerField|SmallIntegerField|unsignedInteger|mediumInteger|smallInteger|int32|uint32|int16|Int32|SmallInteger)\b(?!\d|64)/;
/** By language: what declares a column or field, with NAME for its name. */
const DECLARES: Readonly<Record<string, RegExp>> = {
  sql: /^\s*(?:ALTER\s+TABLE\s+\S+\s+)?(?:ADD\s+(?:COLUMN\s+)?)?[`"[]?NAME[`"\]]?\s+[`"[]?(?:(?:big|small|medium|tiny|huge|u)?(?:int|serial)|numeric|decimal|number|n?varchar|n?char|text|string)/i,
  prisma: /^\s*NAME\s+(Int|BigInt|String|Decimal)/,
  python:
    /\(\s*["']NAME["']\s*,\s*models\.|\bNAME\b\s*(?::[^=]*)?=\s*(models\.|Column|mapped_column|db\.|sa\.|\w*Field\()|Column\(\s*["']NAME["']|\badd_column\(.*["']NAME["']/,
  ruby: /\bt\.\w+\s+:?["']?NAME\b|\badd_column\s+:\w+,\s*:NAME\b/,
  php: /->(unsigned|big|small|medium|tiny)?\w*[iI]nt\w*\(\s*['"]NAME['"]|->(string|foreignId|uuid)\(\s*['"]NAME['"]|#\[(ORM\\)?Column.*NAME/,
  java: /@Column\(.*"NAME"|^\s*(private|protected|public)?\s*(final\s+)?(int|long|Integer|Long|BigInteger|String)\s+NAME\s*;/,
  csharp:
    /\[Column\("NAME"|^\s*public\s+(int|long|short|uint|string|Int32|Int64)\??\s+NAME\b|\bNAME\s*=\s*table\.Column/,
  go: /`[^`]*(gorm|db|bun|sql):"[^`]*\bNAME\b|^\s*NAME\s+\*?u?int(32|64|16)?\s*`[^`]*(gorm|db|bun):/,
  typescript:
    /@(Column|PrimaryColumn|Property|Field)\(.*['"]NAME['"]|\b(integer|int|bigint|serial|smallint|text|varchar|numeric)\(\s*['"]NAME['"]|\bNAME\s*:\s*(DataTypes|\{\s*type:)/,
};

function columnsOf({ source, language, settings, nodes }: RuleInput): FoundColumn[] {
  const kind = language === 'javascript' ? 'typescript' : language;
  const declares = DECLARES[kind];
  const camel = settings.fieldPrefix.replace(/_$/, '');
  if (declares === undefined || !new RegExp(camel, 'i').test(source)) return [];
  const name = `(?:${settings.fieldPrefix}(?:\\w+_)?id|${camel}(?:[A-Z]\\w*)?I[dD]|${camel.charAt(0).toUpperCase()}${camel.slice(1)}(?:[A-Z]\\w*)?I[dD])`;
  const names = new RegExp(`\\b${name}\\b`, 'g');
  const found: FoundColumn[] = [];
  let last = -1;
  for (const { 0: given, index } of source.matchAll(names)) {
    // A table in SQL may be written on one line.
    const [from, line] = partAround(source, index, kind === 'sql');
    const start = from + line.search(/\S/);
    const isDeclared =
      from !== last &&
      line.length < MAX_LINE &&
      !/^\s*(--|#\s)/.test(line) &&
      new RegExp(declares.source.replaceAll('NAME', given), declares.flags).test(line) &&
      !nodes.some((one) => one.kind === 'comment' && one.start <= start && one.end > start);
    if (!isDeclared) continue;
    last = from;
    found.push({ start: from + line.indexOf(given), isNarrow: isNarrow(line, given) });
  }
  return found;
}

/** The line around a position, or the part of it between commas and parentheses, with where it begins. */
function partAround(source: string, at: number, isPart: boolean): [from: number, part: string] {
  const ends = isPart ? /[\n,(]/ : /\n/;
  const isEnd = (position: number) => ends.test(source.charAt(position));
  let [from, to] = [at, at];
  while (from > 0 && at - from < MAX_LINE && !isEnd(from - 1)) from -= 1;
  while (to < source.length && to - at < MAX_LINE && !isEnd(to)) to += 1;
  // A comma or parenthesis belongs to the part that it ends.
  return [from, source.slice(from, isPart && source[to] !== '\n' ? to + 1 : to)];
}

function isNarrow(line: string, name: string): boolean {
  const around = line.replace(name, ' ');
  return (
    NARROW.test(around) &&
    !/\b(bigint|BIGINT|int64|long|Long|BigInt|bigInteger|BigIntegerField|BigInteger)\b/.test(around)
  );
}
