import { contextOf, type Rule, type RuleHit, type RuleInput } from './rule.js';

export const envelope: Rule = {
  id: 'envelope',
  title: 'Read of the V3 envelope',
  message: 'V4 nests the list one level deeper, and adds request_id.',
  v4: '.data.data, .data.next, .data.prev, .data.total_count',
  find: (input) => (input.text.isCode && input.v3 !== null ? reads(input) : []),
};

const MEMBER = 'data|next|prev|total_?count';
const GETTER =
  'get|path|at|opt\\w*|fetch|dig|isNull|getJSON\\w+|getString|getInt|getLong|getAs\\w+|getJson\\w+|GetProperty|TryGetProperty|findValue|Value<\\w+>|required|json|getList|containsKey';
/** `body.data`, `body["data"]`, `body[:data]`, `body.get("data")`, `body.getData()`, `gjson.GetBytes(body, "data")`. */
const READS = new RegExp(
  [
    `(?:\\?\\.|[!?]*\\.|\\?->|->)\\s*(?<member>${MEMBER})\\b(?!\\s*\\((?!\\)\\s*\\.)|\\s*=(?![=>]))`,
    `(?:\\?\\.|!)?\\[\\s*(?:["'\`]|:)(?<index>${MEMBER})["'\`]?\\s*\\](?!\\s*=(?![=>]))`,
    `(?:\\?\\.|\\.|->)\\s*(?:${GETTER})\\(\\s*(?:["'\`]|:)(?<key>${MEMBER})["'\`]?\\s*[,)]`,
    `(?<pair>\\b(?:GetBytes|data_get|Get)\\([^"\`\\n]{1,60},\\s*["\`](?:${MEMBER})["\`]\\))`,
    `(?<pattern>(?:\\bcase|\\bin)\\s*\\{\\s*"?(?:data|next)"?\\s*:|\\[\\s*'data'\\s*=>\\s*\\$\\w+[^\\]\\n]{0,80}\\]\\s*=[^=])`,
    `(?<opened>\\{[^{}()=;]{0,80}\\b(?:${MEMBER})\\b[^{}()=;]{0,80}\\}(?:\\s*:\\s*[^=;{}\\n]{1,60})?(?=\\s*(?:=[^=]|\\)\\s*=>|\\)\\s*:)))`,
  ].join('|'),
  'gi',
);

/** Names that hold something else than a response: what a program is given or keeps. */
const OTHER =
  /^(req|request|event|evt|props|state|options|opts|params|this|self|node|it|queue|config|ctx|context|e|cursor|iterator|iter|link|list|head|settings|process|stdin|input|form|chunk|scope|args)$/i;
/** Names that hold responses or their bodies. */
const RESPONSE =
  /^(body|page|res|resp|response|result|results|payload|json|answer|reply|content|data|doc|document|parsed|object|envelope|out|output|batch|RootElement|parsed_response|j|p|r)$/i;

/** A call that returns a parsed body. */
const CALLED =
  /(json|parse|load|decode|read|body|get\w*|fetch\w*|call|request)\w*[!?]*\((?:[^()]|\([^()]*\))*\)[!?]*$/i;

function reads(input: RuleInput): RuleHit[] {
  const { code } = input.text;
  return [...code.matchAll(READS)].flatMap((found): RuleHit[] => {
    const { member, index, key, pair, pattern, opened } = found.groups ?? {};
    const name = member ?? index ?? key ?? 'data';
    const at = found.index;
    const start = member === undefined && index === undefined ? at : at + found[0].indexOf(name);
    const context = contextOf(input, at);
    if (context === 'other') return [];
    const isRead =
      opened !== undefined
        ? isOpened(opened, code.slice(at + found[0].length, at + found[0].length + 120), context)
        : pair !== undefined ||
          pattern !== undefined ||
          isBody(code, at, found[0].length, context, input.text.language);
    const v4 = `.data.${name.toLowerCase().replace('totalcount', 'total_count')}`;
    return isRead ? [{ start, certainty: 'likely', v4 }] : [];
  });
}

/** Whether what is before a position holds a response, by its name. */
function isBody(
  code: string,
  at: number,
  length: number,
  context: 'request' | 'near',
  language: string,
): boolean {
  const before = code.slice(Math.max(0, at - 100), at);
  const name = /([A-Za-z_]\w*)[!?]*$/.exec(before)?.[1];
  const isScript = language === 'typescript' || language === 'javascript';
  if (name === undefined) return /[)\]][!?]*$/.test(before) && (context === 'request' || CALLED.test(before));
  if (OTHER.test(name)) return false;
  // What axios returns has the body in `data`.
  if (isScript && /^(r|res|resp|response|answer|reply)$/.test(name))
    return /^(\?\.|!?\.)(data|next|prev|total_count)\b/.test(code.slice(at + length, at + length + 20));
  return context === 'request' || RESPONSE.test(name);
}

/** Whether an object that is taken apart is a response. */
function isOpened(names: string, after: string, context: 'request' | 'near'): boolean {
  const isWhole = /\bdata\b/.test(names) && /\b(next|prev|total_count)\b/.test(names);
  return isWhole
    ? context === 'request'
    : /^\s*=\s*(await\s+)?[^;\n]*(\.json\(\)|\.data\b|\.body\b)/.test(after);
}

export const recordedResponse: Rule = {
  id: 'recorded-response',
  title: 'Recorded V3 response',
  message: 'This is an envelope of V3. Tests that read it pass with code that fails against V4.',
  v4: '{ "data": { "data": […], "next": …, "total_count": … }, "request_id": … }',
  find: (input) => [...inText(input), ...inCode(input)],
};

/** Whether a JSON text has `data` as a list, `next`, `prev` or `total_count` beside it, and ids of the service. */
function isEnvelope(text: string, prefix: string): boolean {
  const plain = text.replaceAll('\\"', '"').trimStart();
  const isList =
    /^\{\s*"(data"\s*:\s*\[|(prev|next|total_count)"\s*:)/.test(plain) && /"data"\s*:\s*\[/.test(plain);
  return (
    isList &&
    /"(next|prev|total_count)"\s*:/.test(plain) &&
    plain.includes(`"${prefix}id"`) &&
    !/"request_id"\s*:/.test(plain)
  );
}

function inText({ text: { code, isCode, literals, language }, settings, v3 }: RuleInput): RuleHit[] {
  const isData = !isCode && (language === 'json' || language === 'text');
  if (isData && isEnvelope(code, settings.fieldPrefix))
    return [{ start: code.search(/\S/), certainty: 'likely' }];
  const isRecording = !isCode && v3 === 'certain' && /"(request|response|entries)"\s*:/.test(code);
  return literals
    .filter(({ text }) => text.includes('data') && isEnvelope(text, settings.fieldPrefix))
    .map(({ start, text }) => ({
      start: start + (text.startsWith('\n') ? text.search(/\S/) : 0),
      certainty: isRecording ? 'certain' : 'likely',
    }));
}

/** The start of an object with a list of records, and how far the rest of the object is read. */
const LIST_OF_RECORDS = /(["']?)\bdata\1\s*(?::|=>|=)\s*(?:\[|\(|array\(|new\b)/g;
const MAX_RECORDING = 600;

function inCode({ text: { code, isCode }, settings }: RuleInput): RuleHit[] {
  if (!isCode) return [];
  return [...code.matchAll(LIST_OF_RECORDS)].flatMap(({ index }): RuleHit[] => {
    const rest = code.slice(index, index + MAX_RECORDING);
    const before = /[{([]\s*$/.exec(code.slice(Math.max(0, index - 60), index));
    const end = /[\])}]\s*,\s*["':]?(next|prev|total_count)\b/.exec(rest)?.index ?? 0;
    const isWhole = before !== null && rest.slice(0, end).includes(`${settings.fieldPrefix}id`);
    return isWhole && !rest.includes('request_id')
      ? [{ start: index - before[0].length, certainty: 'likely' }]
      : [];
  });
}
