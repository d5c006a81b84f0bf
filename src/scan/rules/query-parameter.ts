import { argumentsOf, calleeOf, plainText } from '../access.js';
import { type Facts, isBesideV3, placeOf } from '../facts.js';
import type { Certainty, ScanSettings } from '../scan-settings.js';
import { decodeBrackets } from '../v3-url.js';
import { isCompanyFilter } from './company-filter.js';
import type { Rule, RuleHit } from './rule.js';

export const queryParameter: Rule = {
  id: 'query-parameter',
  title: 'Parameter that V4 does not describe',
  message: 'The description of V4 does not have this parameter. Whether V4 honours it, doctor finds out.',
  v4: 'limit, next, expand and {field}[eq]',
  find: (facts) => [...inUrls(facts), ...inEntries(facts), ...inSetters(facts), ...byName(facts)],
};

const OPERATOR = /\[(ne|gte?|lte?|in|nin|like|contains)\]$/;

function isForeign(name: string, { settings }: Facts): boolean {
  const plain = decodeBrackets(name);
  if (isCompanyFilter(plain, settings.fieldPrefix)) return false;
  return (
    /^(select|prev|include_deleted_records|return_count|sort\[.+\])$/.test(plain) || OPERATOR.test(plain)
  );
}

/** A name that no other service is likely to have. */
function isUnmistakable(name: string, facts: Facts): boolean {
  const isOwn =
    name.includes(facts.settings.fieldPrefix) || /^(include_deleted_records|return_count)$/.test(name);
  return isOwn && isForeign(name, facts);
}

/** What `doctor` calls a parameter: by its operator, if it has one. */
function parameterKey(name: string): string {
  return name.startsWith('sort') ? 'sort' : (OPERATOR.exec(name)?.[1] ?? name);
}

/** null: V4 honours it. */
function certaintyOf(name: string, { settings }: Facts): Certainty | null {
  const seen = settings.parameters[parameterKey(name)];
  if (seen === undefined) return 'likely';
  return seen === 'honoured' ? null : 'certain';
}

/** Whether V4 is known to take a parameter: it is described, or `doctor` saw it honoured. */
export function isDescribedInV4(written: string, settings: ScanSettings): boolean {
  const name = decodeBrackets(written);
  if (/^(limit|next|expand)$|^\w+\[eq\]$/.test(name)) return true;
  return settings.parameters[parameterKey(name)] === 'honoured';
}

function hit(start: number | null, name: string, facts: Facts): RuleHit[] {
  const certainty = certaintyOf(name, facts);
  return start === null || certainty === null ? [] : [{ start, certainty }];
}

function inUrls(facts: Facts): RuleHit[] {
  return facts.sites.flatMap((site) => {
    if (site.url.generation === 'v4' || site.url.generation === 'other') return [];
    const foreign = site.url.query.filter(({ name }) =>
      site.certainty === null ? facts.v3 !== null && isUnmistakable(name, facts) : isForeign(name, facts),
    );
    return foreign.flatMap(({ name, from }) => hit(placeOf(site, facts.path, from), name, facts));
  });
}

function inEntries(facts: Facts): RuleHit[] {
  return facts.sites.flatMap(({ certainty, entries }) =>
    certainty === null
      ? []
      : entries.flatMap(({ key, keyNode }) => (isForeign(key, facts) ? hit(keyNode.start, key, facts) : [])),
  );
}

const SETS =
  /^(set|append|add|put|addQueryParameter|queryParam|query|param|addParameter|SetQueryParam|AddQueryParameter|AddParameter|SetQueryParams|Set|Add|addEncodedQueryParameter|setQueryParam|with|\[\]=)$/;

/** `params.set("prev", …)` in a function that sends a V3 request. */
function inSetters(facts: Facts): RuleHit[] {
  if (facts.v3 === null) return [];
  return facts.nodes.flatMap((node) => {
    if (node.kind !== 'call' && node.kind !== 'index') return [];
    const first = node.kind === 'call' ? argumentsOf(node, facts.source)[0]?.value : node.children.at(-1);
    const name = first === undefined || first.kind === 'name' ? null : plainText(first, facts.source);
    if (first === undefined || name === null || !isForeign(name, facts)) return [];
    const isSetter =
      node.kind === 'call' ? SETS.test(calleeOf(node, facts.source).name) : node.field === 'left';
    return isSetter && isBesideV3(node, facts.sites) ? hit(first.start, name, facts) : [];
  });
}

/** Unmistakable names anywhere in a file that speaks V3, but not beside an address of V4. */
function byName(facts: Facts): RuleHit[] {
  if (facts.v3 === null) return [];
  const v4 = facts.sites.filter(({ url, call }) => url.generation === 'v4' && call !== null);
  const isInV4 = (at: number) => v4.some(({ start, end }) => at >= start && at < end);
  const named = facts.nodes
    .filter(
      ({ kind, type, parent }) =>
        kind === 'symbol' ||
        kind === 'shorthand' ||
        (kind === 'name' && parent?.kind === 'pair' && type !== 'variable_name'),
    )
    .filter((node) => node.field === 'key' || node.field === 'name' || node.kind !== 'name');
  const keys = named.map((node) => ({ start: node.start, text: plainText(node, facts.source) ?? '' }));
  return [...facts.strings, ...keys].flatMap(({ start, text }) => {
    const name = text.replace(/=.*$/s, '');
    return isUnmistakable(name, facts) && !isInV4(start) ? hit(start, name, facts) : [];
  });
}
