import { argumentsOf, calleeOf, plainText, textOf } from '../access.js';
import { decodeBrackets } from '../parse-url.js';
import { isNearV3, positionInFile, type RuleInput } from '../rule-input.js';
import type { Certainty } from '../scan-settings.js';
import type { SyntaxNode } from '../syntax.js';
import type { Rule, RuleHit } from './rules.js';

export const queryParameter: Rule = {
  id: 'query-parameter',
  title: 'Parameter that V4 does not describe',
  message: 'The description of V4 does not have this parameter. doctor finds out whether V4 honours it.',
  v4: 'limit, next, expand and {field}[eq]',
  find: (input) => [...inUrls(input), ...inEntries(input), ...inSetters(input), ...byName(input)],
};

const OPERATOR = /\[(ne|gte?|lte?|in|nin|like|contains)\]$/;

function isV3Only(name: string, { settings }: RuleInput): boolean {
  const plain = decodeBrackets(name);
  if (isCompanyFilter(plain, settings.fieldPrefix)) return false;
  return (
    /^(select|prev|include_deleted_records|return_count|sort\[.+\])$/.test(plain) || OPERATOR.test(plain)
  );
}

/** A name that no other service is likely to have. */
function isUnmistakable(name: string, input: RuleInput): boolean {
  const isOwn =
    name.includes(input.settings.fieldPrefix) || /^(include_deleted_records|return_count)$/.test(name);
  return isOwn && isV3Only(name, input);
}

/** The name of a parameter in the facts of `doctor`: its operator, if it has one. */
function parameterKey(name: string): string {
  return name.startsWith('sort') ? 'sort' : (OPERATOR.exec(name)?.[1] ?? name);
}

/** null: V4 honours it. */
function certaintyOf(name: string, { settings }: RuleInput): Certainty | null {
  const seen = settings.parameters[parameterKey(name)];
  if (seen === undefined) return 'likely';
  return seen === 'honoured' ? null : 'certain';
}

function hit(start: number | null, name: string, input: RuleInput): RuleHit[] {
  const certainty = certaintyOf(name, input);
  return start === null || certainty === null ? [] : [{ start, certainty }];
}

function inUrls(input: RuleInput): RuleHit[] {
  return input.addresses.flatMap((address) => {
    if (address.url.kind === 'v4' || address.url.kind === 'other') return [];
    const foreign = address.url.query.filter(({ name }) =>
      address.certainty === null ? input.v3 !== null && isUnmistakable(name, input) : isV3Only(name, input),
    );
    return foreign.flatMap(({ name, from }) => hit(positionInFile(address, input.path, from), name, input));
  });
}

function inEntries(input: RuleInput): RuleHit[] {
  return input.addresses.flatMap(({ certainty, entries }) =>
    certainty === null
      ? []
      : entries.flatMap(({ key, keyNode }) => (isV3Only(key, input) ? hit(keyNode.start, key, input) : [])),
  );
}

const SETS =
  /^(set|append|add|put|addQueryParameter|queryParam|query|param|addParameter|SetQueryParam|AddQueryParameter|AddParameter|SetQueryParams|Set|Add|addEncodedQueryParameter|setQueryParam|with|\[\]=)$/;

/** `params.set("prev", …)` in a function that sends a V3 request. */
function inSetters(input: RuleInput): RuleHit[] {
  if (input.v3 === null) return [];
  return input.nodes.flatMap((node) => {
    if (node.kind !== 'call' && node.kind !== 'index') return [];
    const first = node.kind === 'call' ? argumentsOf(node)[0]?.value : node.children.at(-1);
    const name = first === undefined || first.kind === 'name' ? null : plainText(first);
    if (first === undefined || name === null || !isV3Only(name, input)) return [];
    const isSetter = node.kind === 'call' ? SETS.test(calleeOf(node).name) : node.field === 'left';
    return isSetter && isNearV3(node, input.addresses) ? hit(first.start, name, input) : [];
  });
}

/** Unmistakable names anywhere in a file that uses V3, except in calls to V4. */
function byName(input: RuleInput): RuleHit[] {
  if (input.v3 === null) return [];
  const v4 = input.addresses.filter(({ url, call }) => url.kind === 'v4' && call !== null);
  const isInV4 = (at: number) => v4.some(({ start, end }) => at >= start && at < end);
  const named = input.nodes
    .filter(
      ({ kind, type, parent }) =>
        kind === 'symbol' ||
        kind === 'shorthand' ||
        (kind === 'name' && parent?.kind === 'pair' && type !== 'variable_name'),
    )
    .filter((node) => node.field === 'key' || node.field === 'name' || node.kind !== 'name');
  const keys = named.map((node) => ({ start: node.start, text: plainText(node) ?? '' }));
  return [...input.strings, ...keys].flatMap(({ start, text }) => {
    const name = text.replace(/=.*$/s, '');
    return isUnmistakable(name, input) && !isInV4(start) ? hit(start, name, input) : [];
  });
}

export const companyFilter: Rule = {
  id: 'company-filter',
  title: 'Filter on the company',
  message: 'V3 selects a company by a filter. V4 has the company in the path.',
  v4: '/v4/core/companies/{companyId}/…',
  find: (input) => [...filtersInUrls(input), ...filtersInStrings(input)],
};

function filtersInUrls({ addresses, path, settings }: RuleInput): RuleHit[] {
  return addresses.flatMap((address) =>
    address.url.query.flatMap((item): RuleHit[] => {
      const start = positionInFile(address, path, item.from);
      if (start === null || !isCompanyFilter(item.name, settings.fieldPrefix) || address.url.kind === 'v4')
        return [];
      return [{ start, certainty: address.certainty ?? 'likely' }];
    }),
  );
}

/** The name of the filter alone, as a key or an argument. */
function filtersInStrings({ strings, nodes, source, v3, addresses, settings }: RuleInput): RuleHit[] {
  const near = nodes.filter(({ kind }) => kind === 'string' || kind === 'symbol');
  const certaintyAt = (start: number): Certainty => {
    const node = near.find((one) => one.start === start);
    if (node !== undefined && textOf(node).includes('=')) return 'likely';
    return v3 === 'certain' && (node === undefined || (!isRead(node) && isNearV3(node, addresses)))
      ? 'certain'
      : 'likely';
  };
  const named = strings.filter(({ text }) =>
    isCompanyFilter(text.replace(/=.*$/s, ''), settings.fieldPrefix),
  );
  const symbols = nodes.filter(
    ({ kind, start, end }) =>
      kind === 'symbol' &&
      isCompanyFilter(source.slice(start, end).replace(/^[:"']+|["':]+$/g, ''), settings.fieldPrefix),
  );
  const entries = addresses.flatMap((address) =>
    address.certainty === null
      ? []
      : address.entries.filter(({ key }) => key === `${settings.fieldPrefix}company_id`),
  );
  return [...named, ...symbols, ...entries.map(({ keyNode }) => keyNode)].map(({ start }) => ({
    start,
    certainty: certaintyAt(start),
  }));
}

/** Whether a query parameter selects companies: `<prefix>company_id[eq]` or `[in]`, also percent-encoded. */
export function isCompanyFilter(name: string, prefix: string): boolean {
  const plain = decodeBrackets(name).replace(/^[?&]/, '');
  return plain === `${prefix}company_id[eq]` || plain === `${prefix}company_id[in]`;
}

/** Whether a key is only looked up or compared. */
function isRead({ parent, field }: SyntaxNode): boolean {
  return parent?.kind === 'index' && parent.field !== 'left' && field !== 'left';
}
