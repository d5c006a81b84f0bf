import type { ModelPair } from '../../domain.js';
import { decodeBrackets } from '../parse-url.js';
import { lastBefore } from '../source-text.js';
import { type Certainty, contextOf, type Rule, type RuleHit, type RuleInput } from './rule.js';

export const baseUrl: Rule = {
  id: 'base-url',
  title: 'Address of V3',
  message: 'This is the address of V3. V4 has one address for all regions.',
  v4: 'v4.baseUrl of the configuration; routes then begin with /v4/',
  find: ({ addresses, settings }) =>
    addresses.flatMap(({ url, start, certainty }): RuleHit[] => {
      if (url.hostAt === null || certainty === null) return [];
      const v4 = settings.v4Url === null ? {} : { v4: settings.v4Url };
      return [{ start: start + url.hostAt, certainty, ...v4 }];
    }),
};

export const route: Rule = {
  id: 'route',
  title: 'Route of V3',
  message: 'This is a V3 route. V4 has the company in the path and no category.',
  v4: '/v4/core/companies/{companyId}/{model}',
  find: (input) => [...inAddresses(input), ...inLists(input)],
};

function inAddresses({ addresses }: RuleInput): RuleHit[] {
  return addresses.flatMap(({ url: { route }, start, certainty }): RuleHit[] => {
    if (route === null || certainty === null) return [];
    const { pair } = route;
    const named = pair === null ? {} : { route: pair.v3 };
    return [{ start: start + route.from, certainty, v4: v4RouteOf(pair), ...named }];
  });
}

/** A category and a model that follow each other as arguments, or in a list that is joined. */
function inLists(input: RuleInput): RuleHit[] {
  const { text, settings, v3, addresses } = input;
  if (!text.isCode || v3 === null) return [];
  return text.literals.flatMap((one, at): RuleHit[] => {
    const next = text.literals[at + 1];
    if (next === undefined || !/^["'`]?\s*,\s*["'`]?$/.test(text.code.slice(one.end, next.start))) return [];
    const category = one.text.replace(/^\/?(v3\/)?/, '');
    const pair = settings.models.find((model) => model.v3 === `${category}/${next.text}`);
    const before = addresses[lastBefore(addresses, one.start - 1)];
    const isForeign = before?.url.kind === 'other' && one.start - before.end < 5;
    if (pair === undefined || isForeign || isKept(text.code, one.start, next.end)) return [];
    return [{ start: one.start, certainty: 'likely', v4: v4RouteOf(pair), route: pair.v3 }];
  });
}

/** Whether two texts are all of a list that is kept as it is, such as the key of a cache. */
function isKept(code: string, start: number, end: number): boolean {
  const before = code.slice(Math.max(0, start - 60), start);
  const isList = /\[\s*["'`]?$/.test(before) && /^["'`]?\s*\](?!\s*\.join)/.test(code.slice(end, end + 20));
  return isList && !/(join|implode)\([^\n]*$/.test(before);
}

function v4RouteOf(pair: ModelPair | null): string {
  return pair?.v4 === null
    ? 'not available in V4'
    : `/v4/core/companies/{companyId}/${pair?.v4 ?? '{model}'}`;
}

export const companyFilter: Rule = {
  id: 'company-filter',
  title: 'Filter on the company',
  message: 'V3 selects a company by a filter. V4 has the company in the path.',
  v4: '/v4/core/companies/{companyId}/…',
  find: (input) =>
    parametersOf(input).flatMap(({ start, name, certainty }) =>
      isCompanyFilter(name, input.settings.fieldPrefix) ? [{ start, certainty }] : [],
    ),
};

export const queryParameter: Rule = {
  id: 'query-parameter',
  title: 'Parameter that V4 does not describe',
  message: 'The description of V4 does not have this parameter. doctor finds out whether V4 honours it.',
  v4: 'limit, next, expand and {field}[eq]',
  find: (input) =>
    parametersOf(input).flatMap(({ start, name }): RuleHit[] => {
      const isOfV4 = isCompanyFilter(name, input.settings.fieldPrefix) || !isV3Only(name);
      return isOfV4 ? [] : [{ start, certainty: 'likely' }];
    }),
};

const OPERATOR = /\[(?:ne|gte?|lte?|in|nin|like|contains)\]$/;

function isV3Only(name: string): boolean {
  return /^(select|prev|include_deleted_records|return_count|sort\[.+\])$/.test(name) || OPERATOR.test(name);
}

/** A name that no other service is likely to have. */
function isUnmistakable(name: string, prefix: string): boolean {
  return name.includes(prefix) || /^(include_deleted_records|return_count)$/.test(name);
}

interface Parameter {
  readonly name: string;
  readonly start: number;
  readonly certainty: Certainty;
}

/** The parameters in addresses, literals and keys that are as good as certain to be those of a request to V3. */
function parametersOf(input: RuleInput): Parameter[] {
  const { text, settings, addresses } = input;
  const prefix = settings.fieldPrefix;
  const inUrls = addresses.flatMap(({ url, start, certainty }) =>
    url.kind === 'v4' || url.kind === 'other'
      ? []
      : url.query.flatMap(({ name, from }): Parameter[] =>
          isUnmistakable(name, prefix) || (certainty !== null && certainty !== 'look')
            ? [{ name, start: start + from, certainty: certainty === 'certain' ? 'certain' : 'likely' }]
            : [],
        ),
  );
  const inLiterals = text.literals.flatMap(({ text: written, start }): Parameter[] => {
    const name = decodeBrackets(written.slice(0, MAX_NAME).replace(/=.*$/s, '').replace(/^[?&]/, ''));
    const isKnown = isUnmistakable(name, prefix) && contextOf(input, start) !== 'other';
    return isKnown ? [{ name, start, certainty: 'likely' }] : [];
  });
  return [...inUrls, ...inLiterals, ...(text.isCode ? keysIn(input) : [])];
}

const MAX_NAME = 100;
/** `prev:`, `'prev' =>`, `"prev", value` and `["prev"] =`. */
const KEY =
  /(?<![\w$.>-])["'`]?(include_deleted_records|return_count|select|prev)["'`]?\s*(?:[:=](?![:=])|=>|,|\]\s*=(?!=))/g;

/** Parameters as names of arguments or members of objects; common words only beside a request to V3. */
function keysIn(input: RuleInput): Parameter[] {
  const { settings, text } = input;
  const { code } = text;
  return [...code.matchAll(KEY)].flatMap(({ 1: name = '', index }): Parameter[] => {
    const isBeside = code
      .slice(Math.max(0, index - 100), index)
      .includes(`${settings.fieldPrefix}company_id[`);
    const context = isBeside ? 'request' : contextOf(input, index);
    const isEnvelope = /\b(next|total_count)["']?\s*[:=]/.test(
      code.slice(Math.max(0, index - 30), index + 60),
    );
    const isOwn = /^(select|prev)$/.test(name) ? context === 'request' && !isEnvelope : context !== 'other';
    return isOwn ? [{ name, start: index, certainty: 'likely' }] : [];
  });
}

/** Whether a query parameter selects companies: `<prefix>company_id[eq]` or `[in]`. */
function isCompanyFilter(name: string, prefix: string): boolean {
  return name === `${prefix}company_id[eq]` || name === `${prefix}company_id[in]`;
}

export const hardCodedId: Rule = {
  id: 'hard-coded-id',
  title: 'Id in the code',
  message: 'V4 gave every record a new id. In V4, an id in the code names another record, or none.',
  v4: 'svc-migrate lookup MODEL ID',
  find: (input) => [...inUrls(input), ...besideNames(input)],
};

const COMPANY = 'the V4 id of the company: svc-migrate report pairs them';

/** Ids of companies are paired by the remap; those of records are looked up. */
function v4Of(name: string, digits: string, model = 'MODEL'): string {
  return /company/i.test(name) ? COMPANY : `svc-migrate lookup ${model} ${digits.replaceAll('_', '')}`;
}

function inUrls({ addresses, settings: { fieldPrefix } }: RuleInput): RuleHit[] {
  return addresses.flatMap(({ url: { route, query }, start, certainty }): RuleHit[] => {
    if (certainty === null) return [];
    const hit = (at: number, name: string, digits: string) => ({
      ...{ start: start + at, certainty, v4: v4Of(name, digits, route?.pair?.v3) },
    });
    const record = route?.idAt == null ? [] : [hit(route.idAt, '', route.id)];
    const filters = query.filter(
      ({ name, value }) =>
        /^\d+$/.test(value) && (name === `${fieldPrefix}id[eq]` || isCompanyFilter(name, fieldPrefix)),
    );
    return [...record, ...filters.map(({ name, value, from }) => hit(from, name, value))];
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
        v4: v4Of(written, digits),
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
