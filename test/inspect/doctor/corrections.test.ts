import { describe, expect, it } from 'vitest';
import { listCorrections } from '../../../src/inspect/doctor/corrections.js';
import type { ParameterEffects } from '../../../src/inspect/doctor/probe-results.js';
import { configOf, modelOf } from '../../support/exported.js';

const UNKNOWN: ParameterEffects = {
  include_deleted_records: 'unknown',
  refusesDeletedByName: false,
  eq: 'unknown',
  gte: 'unknown',
  sort: 'unknown',
  select: 'unknown',
  selectInV3: 'unknown',
};

const MODELS = ['payments/orders', 'ecommerce/orders', 'crm/stages'];

/** The V4 names that doctor would write, where V4 answers to `suggestions` instead of the configured names. */
function namesFor(suggestions: Readonly<Record<string, readonly string[]>>): Record<string, unknown> {
  const models = MODELS.map((v3) => modelOf(v3, `wrong_${v3}`));
  const v4 = {
    companies: [1n],
    asked: [1n],
    lists: [],
    answersAnything: false,
    suggestions: new Map(Object.entries(suggestions)),
    parameters: UNKNOWN,
  };
  const remote = { hosts: [], v3: [], v4, pages: [], preview: [], requests: 0 };
  return Object.fromEntries(
    listCorrections({ config: { ...configOf(), models }, remote }).map(({ path, value }) => [
      MODELS[Number(path[1])],
      value,
    ]),
  );
}

describe('a V4 name is written', () => {
  const cases: readonly (readonly [string, Parameters<typeof namesFor>[0], Record<string, unknown>])[] = [
    ['where it alone answers', { 'crm/stages': ['crm_stages'] }, { 'crm/stages': 'crm_stages' }],
    ['not where several answer', { 'crm/stages': ['stage', 'crm_stages'] }, {}],
    ['not where it fits two models', { 'payments/orders': ['orders'], 'ecommerce/orders': ['orders'] }, {}],
    [
      'not for either of two models that one of several names fits',
      { 'payments/orders': ['orders', 'payments_orders'], 'ecommerce/orders': ['orders'] },
      {},
    ],
    [
      'where others have the other names',
      { 'payments/orders': ['wrong_crm/stages', 'pay_orders'] },
      { 'payments/orders': 'pay_orders' },
    ],
  ];
  it.each(cases)('%s', (_, suggestions, written) => {
    expect(namesFor(suggestions)).toEqual(written);
  });
});
