import { type Facts, isBesideV3, placeOf } from '../facts.js';
import type { Certainty } from '../scan-settings.js';
import type { SyntaxNode } from '../syntax.js';
import { decodeBrackets } from '../v3-url.js';
import type { Rule, RuleHit } from './rule.js';

export const companyFilter: Rule = {
  id: 'company-filter',
  title: 'Filter on the company',
  message: 'V3 narrows a list to a company by a filter. V4 has the company in the path.',
  v4: '/v4/core/companies/{companyId}/…',
  find: (facts) => [...inUrls(facts), ...inStrings(facts)],
};

function inUrls({ sites, path, settings }: Facts): RuleHit[] {
  return sites.flatMap((site) =>
    site.url.query.flatMap((item): RuleHit[] => {
      const start = placeOf(site, path, item.from);
      if (start === null || !isCompanyFilter(item.name, settings.fieldPrefix) || site.url.generation === 'v4')
        return [];
      return [{ start, certainty: site.certainty ?? 'likely' }];
    }),
  );
}

/** The name of the filter alone, as a key or an argument. */
function inStrings({ strings, nodes, source, v3, sites, settings }: Facts): RuleHit[] {
  const near = nodes.filter(({ kind }) => kind === 'string' || kind === 'symbol');
  const certaintyAt = (start: number): Certainty => {
    const node = near.find((one) => one.start === start);
    if (node !== undefined && source.slice(node.start, node.end).includes('=')) return 'likely';
    return v3 === 'certain' && (node === undefined || (!isRead(node) && isBesideV3(node, sites)))
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
  const entries = sites.flatMap((site) =>
    site.certainty === null
      ? []
      : site.entries.filter(({ key }) => key === `${settings.fieldPrefix}company_id`),
  );
  return [...named, ...symbols, ...entries.map(({ keyNode }) => keyNode)].map(({ start }) => ({
    start,
    certainty: certaintyAt(start),
  }));
}

export function isCompanyFilter(name: string, prefix: string): boolean {
  const plain = decodeBrackets(name).replace(/^[?&]/, '');
  return plain === `${prefix}company_id[eq]` || plain === `${prefix}company_id[in]`;
}

/** Whether a key is only looked up or compared. */
function isRead({ parent, field }: SyntaxNode): boolean {
  return parent?.kind === 'index' && parent.field !== 'left' && field !== 'left';
}
