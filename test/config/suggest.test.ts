import { describe, expect, it } from 'vitest';
import { didYouMean, didYouMeanClause, suggest } from '../../src/text/suggest.js';

describe('suggest', () => {
  it.each([
    ['databse', 'database'],
    ['pageSise', 'pageSize'],
    ['page-size', 'page_size'],
    ['UNMATCHED', 'unmatched'],
    ['acounting/invoices', 'accounting/invoices'],
    ['teh', 'the'],
  ])('finds what %s was meant to be', (typed, meant) => {
    expect(suggest(typed, ['something', meant, 'else'])).toBe(meant);
  });

  it('finds the model whose name was given without its category, unless there are several', () => {
    const models = ['accounting/invoices', 'payments/orders', 'ecommerce/orders', 'orderz'];
    expect(suggest('invoices', models)).toBe('accounting/invoices');
    expect(suggest('orders', models)).toBe('orderz');
  });

  it('stays silent where nothing is near', () => {
    expect(suggest('xyz', ['database', 'models'])).toBeNull();
    expect(suggest('', ['a'])).toBe('a');
    expect(suggest('x', [])).toBeNull();
  });

  it('copes with words of any length', () => {
    expect(suggest('a'.repeat(1_000_000), ['database'])).toBeNull();
  });
});

describe('what is said', () => {
  it('is the near word, else what there is if that is little, else nothing', () => {
    const many = Array.from({ length: 13 }, (_, at) => `candidate${at * 1000}`);
    expect([didYouMean('xx', ['xy']), didYouMean('q', ['one', 'two']), didYouMean('q', many)]).toEqual([
      'Did you mean "xy"?',
      'Known: one, two.',
      null,
    ]);
    expect([
      didYouMeanClause('xx', ['xy']),
      didYouMeanClause('q', ['one', 'two']),
      didYouMeanClause('q', many),
    ]).toEqual(['; did you mean "xy"?', '; known: one, two', '']);
  });
});
