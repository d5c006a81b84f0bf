import { parse } from 'graphql/language/parser.js';
import type { ModelPair } from '../../domain.js';
import type { Rule, RuleHit, RuleInput } from './rule.js';

export const graphql: Rule = {
  id: 'graphql',
  title: 'GraphQL',
  message: 'V4 has no GraphQL. Read the same fields with REST.',
  v4: 'GET /v4/core/companies/{companyId}/{model}?expand=…',
  find: (input) => [...endpoints(input), ...queries(input)],
};

function endpoints({ addresses }: RuleInput): RuleHit[] {
  return addresses.flatMap(({ url, start }) => (url.isGraphql ? [{ start, certainty: 'likely' }] : []));
}

/** Maximum length of a text that is parsed as a query. */
const MAX_QUERY = 100_000;

function queries({ text: { literals, code, language }, settings }: RuleInput): RuleHit[] {
  const given = language === 'graphql' ? [{ start: 0, text: code }] : literals;
  return given.flatMap(({ start, text }): RuleHit[] => {
    if (
      !/^(?:\s|#[^\n]*(?=\n|$))*(query|mutation|subscription|fragment|\{)/.test(text) ||
      text.length > MAX_QUERY
    )
      return [];
    const routes = routesOf(text, settings.models, settings.fieldPrefix);
    if (routes === null) return [];
    const lead = /^(?:\s|#[^\n]*(?=\n|$))*/.exec(text)?.[0].length ?? 0;
    const at = language === 'graphql' ? lead : start;
    return [{ start: at, certainty: 'likely', ...(routes.length > 0 ? { v4: routes.join('; ') } : {}) }];
  });
}

/** REST routes that give the fields of a query; null if it is not a query of this service. */
function routesOf(text: string, models: readonly ModelPair[], prefix: string): string[] | null {
  const fields = topFields(text);
  if (fields === null) return null;
  const found = fields.flatMap(({ name, below }) => {
    const plain = snake(name);
    const model = models.find(
      ({ v3 }) => plain === v3.replace('/', '_') || plain === v3.replace(/^.*\//, ''),
    );
    return model === undefined ? [] : [routeOf(model, below)];
  });
  // The names of some models are names of many things; the prefix of the fields is not.
  return new RegExp(`\\b${prefix}(id|company_id|updated_at)\\b`).test(text) ? found : null;
}

function routeOf({ v4, expand }: ModelPair, below: ReadonlySet<string>): string {
  if (v4 === null) return 'not available in V4';
  const expanded = expand.filter((field) => below.has(field));
  return `GET /v4/core/companies/{companyId}/${v4}${expanded.length > 0 ? `?expand=${expanded.join(',')}` : ''}`;
}

interface TopField {
  readonly name: string;
  /** Names of all fields below. */
  readonly below: ReadonlySet<string>;
}

function topFields(text: string): TopField[] | null {
  try {
    // What a template fills in is a fragment or a value.
    const document = parse(text.replace(/\0+/g, ''), { noLocation: true, maxTokens: 5000 });
    return document.definitions.flatMap((one) => {
      if (one.kind !== 'OperationDefinition' && one.kind !== 'FragmentDefinition') return [];
      return one.selectionSet.selections.flatMap((field) => {
        if (field.kind !== 'Field') return [];
        const names = JSON.stringify(field.selectionSet ?? {}).matchAll(/"value":"(\w+)"/g);
        return [{ name: field.name.value, below: new Set([...names].map(([, name = '']) => snake(name))) }];
      });
    });
  } catch {
    return null;
  }
}

function snake(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
}
