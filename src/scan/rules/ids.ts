import { isCompanyFilter } from './addresses.js';
import type { Rule, RuleHit, RuleInput } from './rule.js';

export const hardCodedId: Rule = {
  id: 'hard-coded-id',
  title: 'Id in the code',
  message: 'V4 gave every record a new id. In V4, an id in the code names another record, or none.',
  v4: 'svc-migrate lookup MODEL ID',
  find: (input) => [...inUrls(input), ...besideNames(input)],
};

const COMPANY = 'the V4 id of the company: svc-migrate report pairs them';

/** Ids of companies are paired by the remap; those of records are looked up. */
function v4Of(name: string): { readonly v4?: string } {
  return /company/i.test(name) ? { v4: COMPANY } : {};
}

function inUrls({ addresses, settings: { fieldPrefix } }: RuleInput): RuleHit[] {
  return addresses.flatMap(({ url: { route, query }, start, certainty }): RuleHit[] => {
    if (certainty === null) return [];
    const record = route?.idAt == null ? [] : [{ start: start + route.idAt, certainty }];
    const filters = query.filter(
      ({ name, value }) =>
        /^\d+$/.test(value) && (name === `${fieldPrefix}id[eq]` || isCompanyFilter(name, fieldPrefix)),
    );
    return [
      ...record,
      ...filters.map(({ name, from }) => ({ start: start + from, certainty, ...v4Of(name) })),
    ];
  });
}

/** Digits that the name of an id is compared with, given or paired with, in code and in the text of literals. */
function besideNames({ text: { code, isCode }, settings: { fieldPrefix } }: RuleInput): RuleHit[] {
  const name = idNames(fieldPrefix);
  const between = `["'\\]\\\\]{0,4}\\)?\\s*(?:[=!]={1,2}|[=:]>?|,|\\bis\\b|\\bIN\\s*\\(|\\.?(?:to|not_to|toBe|toEqual|toStrictEqual|eq|equals|Equal)\\(?\\s*(?:eq|be)?\\s*\\(?)\\s*[\\\\"'\\[(]{0,3}`;
  const pattern = new RegExp(`(${name})(${between})([1-9][\\d_]{1,24})(?![\\w.])`, 'gi');
  const isFromV4 = /"request_id"/.test(code) && !isCode;
  return [...code.matchAll(pattern)].map(
    ({ 0: all, 1: written = '', 2: middle = '', 3: digits = '', index }) => {
      const isAssigned = isCode && /^["'\]]*\s*[:=]\s/.test(middle) && !/[=!]=/.test(middle);
      return {
        start: index + all.length - digits.length,
        certainty: isAssigned || isFromV4 ? 'look' : 'likely',
        ...v4Of(written),
      };
    },
  );
}

/** The names of fields and variables that hold ids, such as `svc_company_id` and `svcCompanyId`. */
function idNames(prefix: string): string {
  const camel = prefix.replace(/_$/, '');
  const title = `${camel.charAt(0).toUpperCase()}${camel.slice(1)}`;
  return `\\b${prefix}(?:\\w+_)?ids?(?:\\[(?:eq|in)\\])?|\\b(?:${camel}|${title})(?:[A-Z]\\w*)?(?:Id|ID)s?\\b`;
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

function columnsOf({ text: { code: source, language }, settings }: RuleInput): FoundColumn[] {
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
    const isDeclared =
      from !== last &&
      line.length < MAX_LINE &&
      new RegExp(declares.source.replaceAll('NAME', given), declares.flags).test(line);
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
