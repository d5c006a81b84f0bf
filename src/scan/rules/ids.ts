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
