import { decodeBrackets } from '../parse-url.js';
import { isNearV3, positionInFile, type RuleInput } from '../rule-input.js';
import type { Certainty } from '../scan-settings.js';
import type { SyntaxNode } from '../syntax.js';
import type { Rule, RuleHit } from './rule.js';

export const companyFilter: Rule = {
  id: 'company-filter',
  title: 'Filter on the company',
  message: 'V3 narrows a list to a company by a filter. V4 has the company in the path.',
  v4: '/v4/core/companies/{companyId}/…',
  find: (input) => [...inUrls(input), ...inStrings(input)],
};

function inUrls({ addresses, path, settings }: RuleInput): RuleHit[] {
  return addresses.flatMap((address) =>
    address.url.query.flatMap((item): RuleHit[] => {
      const start = positionInFile(address, path, item.from);
      if (
        start === null ||
        !isCompanyFilter(item.name, settings.fieldPrefix) ||
        address.url.generation === 'v4'
      )
        return [];
      return [{ start, certainty: address.certainty ?? 'likely' }];
    }),
  );
}

/** The name of the filter alone, as a key or an argument. */
function inStrings({ strings, nodes, source, v3, addresses, settings }: RuleInput): RuleHit[] {
  const near = nodes.filter(({ kind }) => kind === 'string' || kind === 'symbol');
  const certaintyAt = (start: number): Certainty => {
    const node = near.find((one) => one.start === start);
    if (node !== undefined && source.slice(node.start, node.end).includes('=')) return 'likely';
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

export function isCompanyFilter(name: string, prefix: string): boolean {
  const plain = decodeBrackets(name).replace(/^[?&]/, '');
  return plain === `${prefix}company_id[eq]` || plain === `${prefix}company_id[in]`;
}

/** Whether a key is only looked up or compared. */
function isRead({ parent, field }: SyntaxNode): boolean {
  return parent?.kind === 'index' && parent.field !== 'left' && field !== 'left';
}
