import { describe, expect, it } from 'vitest';
import { judgeValue, openColumn } from '../../../src/apply/column-work.js';
import type { RowScope } from '../../../src/apply/ids/resolver.js';
import type { IdColumn } from '../../../src/config/apply-targets.js';
import { IN_PLACE, INVOICES, openIds } from '../support/remap.js';

const COMPANIES = 'crm/companies';
const source = openIds([
  { v3: 1, v4: 2, company: 7 },
  { v3: 2, v4: 1, company: 7 },
  { v3: 1042, v4: 9223372036854775807n, company: 7 },
  { v3: 4, company: 7 },
  { v3: 6, v4: 60, company: 7 },
  { v3: 6, v4: 61, company: 8 },
  { v3: null, v4: 70, status: 'v4_only' },
  { v3: 1, v4: 11, model: COMPANIES, company: 7 },
  { v3: 5, model: COMPANIES, company: 7 },
]);

interface Look extends Partial<IdColumn> {
  readonly scope?: Partial<RowScope>;
  readonly missing?: 'keep' | 'null';
}

/** What a cell becomes; its category, and what is done, if it is not mapped. */
function judge(text: string, { scope, missing = 'keep', ...column }: Look): string {
  const own = column.modelColumn === undefined ? { model: INVOICES } : {};
  const given: IdColumn = { column: 'c', ...own, ...column };
  let category = '';
  const work = {
    ...openColumn(source, given, { ...IN_PLACE, missing }),
    onValue: (name: string) => {
      category = name;
    },
  };
  const action = judgeValue(work, text, { model: null, region: null, company: null, ...scope });
  return action === 'replace' ? work.resolver.newText : `${category}, ${action}`;
}

const DOC = 'doc:{id}';
const PAIR = '{accounting/invoices}/{crm/companies}';

describe('cells with ids inside text', () => {
  it.each<[string, Look, string]>([
    ['doc:1', { pattern: DOC }, 'doc:2'],
    ['doc:1042', { pattern: DOC }, 'doc:9223372036854775807'],
    ['', { pattern: DOC }, 'empty, none'],
    ['https://x.test/doc/1?b=1', { pattern: ['*/doc/{id}?*', DOC] }, 'https://x.test/doc/2?b=1'],
    ['1', { pattern: [DOC, '{id}'] }, '2'],
    // What is not an id, not of this model, or has no twin.
    ['note:1', { pattern: DOC }, 'unknown/no_pattern, keep'],
    ['doc:01', { pattern: DOC }, 'unknown/leading_zeros, keep'],
    ['doc:+1', { pattern: DOC }, 'unknown/no_pattern, keep'],
    ['doc:11', { pattern: DOC }, 'unknown/not_in_remap, keep'],
    ['doc:70', { pattern: DOC }, 'unknown/known_as_v4_only, keep'],
    ['doc:99999999999999999999', { pattern: DOC }, 'unknown/beyond_64_bits, keep'],
    ['doc:4', { pattern: DOC }, 'unmatched/unexplained, keep'],
    ['doc:4', { pattern: DOC, missing: 'null' }, 'unmatched/unexplained, clear'],
    ['doc:01', { pattern: DOC, missing: 'null' }, 'unknown/leading_zeros, keep'],
    // In doubt.
    ['doc:1', { pattern: [DOC, '*:{id}'] }, 'unknown/several_matches, keep'],
    ['doc:1', { pattern: [DOC, 'doc:{crm/companies}'] }, 'unknown/several_matches, keep'],
    ['a:1:2:', { pattern: '*:{id}:*' }, 'unknown/several_matches, keep'],
    // Two ids: both, or nothing.
    ['1/1', { pattern: PAIR, model: undefined }, '2/11'],
    ['1:2', { pattern: '{id}:{id}' }, '2:1'],
    ['1/5', { pattern: PAIR, model: undefined }, 'unmatched/unexplained, keep'],
    ['1/5', { pattern: PAIR, model: undefined, missing: 'null' }, 'unmatched/unexplained, clear'],
    ['4/9', { pattern: PAIR, model: undefined, missing: 'null' }, 'unknown/not_in_remap, keep'],
    ['9/5', { pattern: PAIR, model: undefined, missing: 'null' }, 'unknown/not_in_remap, keep'],
    // The row says company and model.
    ['doc:6', { pattern: DOC }, 'unknown/several_scopes, keep'],
    ['doc:6', { pattern: DOC, companyColumn: 'k', scope: { company: '8' } }, 'doc:61'],
    ['doc:6', { pattern: DOC, company: '7' }, 'doc:60'],
    ['doc:1', { pattern: DOC, companyColumn: 'k', scope: { company: '8' } }, 'unknown/other_scope, keep'],
    ['doc:1', { pattern: DOC, companyColumn: 'k' }, 'unknown/no_scope, keep'],
    ['1/1', { pattern: PAIR, companyColumn: 'k', scope: { company: '8' } }, 'unknown/other_scope, keep'],
    ['doc:1', { pattern: DOC, modelColumn: 'm', models: { c: COMPANIES }, scope: { model: 'c' } }, 'doc:11'],
    [
      'note:1',
      { pattern: DOC, modelColumn: 'm', models: { n: null }, scope: { model: 'n' } },
      'not_ours, none',
    ],
    [
      'doc:1',
      { pattern: DOC, modelColumn: 'm', models: {}, scope: { model: 'n' } },
      'unknown/unknown_model, keep',
    ],
  ])('%j by %j → %s', (text, look, expected) => {
    expect(judge(text, look)).toBe(expected);
  });
});
