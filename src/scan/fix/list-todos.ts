import type { V3Use } from '../judge-file.js';
import type { RuleId } from '../rules/rules.js';
import type { FixUnit } from './plan-units.js';
import { UNFIXED } from './unfixed.js';

/** A place that has something left to do. */
export interface Todo {
  readonly line: number;
  readonly text: string;
}

/** What is to be done about a use that belongs to no request, after the rule's own V4 form. */
const ADVICE: Readonly<Record<RuleId, (v4: string) => string>> = {
  'base-url': (v4) => `move this address to V4: ${v4}`,
  route: (v4) => `request ${v4}`,
  'company-filter': () => 'name the company in the path: /v4/core/companies/{companyId}/…',
  'query-parameter': () => 'find out whether V4 honours this parameter (svc-migrate doctor)',
  envelope: (v4) => `read ${v4}`,
  graphql: (v4) => `V4 has no GraphQL: ${v4}`,
  'hard-coded-id': () => 'put the V4 id here: svc-migrate lookup MODEL ID',
  webhook: () => 'look every id up: ids of V3 and V4 arrive here',
  'recorded-response': () => 'record this response anew from V4',
  'stored-id': () => 'rewrite the stored ids: svc-migrate apply',
  'id-width': () => 'make room for ids of 64 bits',
  'client-library': () => 'use a client that is generated from V4',
  mark: () => '',
};

/** What is left to do in a file, one entry a line: advice on a request as a whole goes before advice on its parts. */
export function listTodos(uses: readonly V3Use[], units: readonly FixUnit[]): Todo[] {
  const todos = new Map<number, string>();
  for (const { line, rule, v4 } of uses) {
    if (rule === 'mark') continue;
    const unit = units.find((one) => one.line === line && one.reason !== null && one.reason !== 'ignored');
    const text =
      unit?.reason == null ? ADVICE[rule](v4) : UNFIXED[unit.reason].todo.replace('{route}', unit.route);
    if (unit !== undefined || !todos.has(line))
      todos.set(line, text.replace(/\s+/g, ' ').replaceAll('*/', ''));
  }
  return [...todos].map(([line, text]) => ({ line, text })).sort((a, b) => a.line - b.line);
}
