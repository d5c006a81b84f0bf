import { expect, it } from 'vitest';
import { RemapIds } from '../../../src/apply/ids/remap-ids.js';
import { buildTargets } from '../../../src/apply/scan/find.js';
import { prepareEvidence, propose, proposePatterns } from '../../../src/apply/scan/propose.js';
import { openDatabase } from '../../../src/store/open.js';
import { makeRemap, target } from '../support/remap.js';

const INVOICES = Array.from({ length: 20 }, (_, at) => 100_000 + 977 * at);
const COMPANIES = Array.from({ length: 20 }, (_, at) => 500_000 + 1013 * at);
const remapFile = makeRemap([
  ...INVOICES.map((v3) => ({ v3, v4: v3 + 1_000_000 })),
  ...COMPANIES.map((v3) => ({ v3, v4: v3 + 1_000_000, model: 'crm/companies' })),
]);
const remap = openDatabase(remapFile, 'read');
const evidenceOf = prepareEvidence(remap, new RemapIds(remap).refs(), []);

/** The `ids` that the scan of one column prints, if it proposes any. */
function idsOf(values: readonly string[], column = 'c', run: string | null = null): unknown[] {
  const sample = {
    table: null,
    column,
    path: null,
    values: new Set(values),
    isWhole: true,
    isKey: false,
    run,
  };
  const file = target({ kind: 'csv', file: 'a.csv', ids: [{ column, model: 'a/b' }] });
  if (file.kind !== 'csv') throw new Error('no file');
  const place = { target: file, table: null };
  const proposals = proposePatterns(sample, evidenceOf);
  const targets = buildTargets([{ place, proposals, scopes: [], unseen: [] }], String);
  return targets.flatMap((one) => ('ids' in one && Array.isArray(one.ids) ? one.ids : []));
}

const invoices = { column: 'c', model: 'accounting/invoices' };

it.each<[string, string[], unknown[]]>([
  ['plain ids', INVOICES.map(String), []],
  ['no ids', ['a', 'b', 'c1'], []],
  ['other numbers', ['x:1', 'x:2', 'x:3', 'x:4'], []],
  ['JSON', INVOICES.map((id) => `{"id":${id}}`), [{ ...invoices, pattern: '{{"id":{id}}}' }]],
  ['a prefix', INVOICES.map((id) => `invoice:${id}`), [{ ...invoices, pattern: 'invoice:{id}' }]],
  ['braces', INVOICES.map((id) => `<{*${id}}>`), [{ ...invoices, pattern: '<{{{*}{id}}}>' }]],
  [
    'two prefixes',
    INVOICES.flatMap((id, at) => [`a:${id}`, `b/${INVOICES[19 - at]}`]),
    [{ ...invoices, pattern: ['a:{id}', 'b/{id}'] }],
  ],
  [
    'texts and plain ids',
    INVOICES.map((id, at) => (at % 2 === 0 ? `a:${id}` : String(id))),
    [{ ...invoices, pattern: ['a:{id}', '{id}'] }],
  ],
  [
    'fixed and other numbers',
    INVOICES.map((id, at) => `https://x.test/v2/${at}/invoices/${id}`),
    [{ ...invoices, pattern: 'https://x.test/v2/*/invoices/{id}' }],
  ],
  [
    'varying hosts and tails',
    INVOICES.map(
      (id, at) =>
        `https://h${'abcdefghijklmnopqrst'[at]}.test/invoices/${id}${at % 2 === 0 ? '' : `?t=${'abcdefghijklmnopqrst'[at]}`}`,
    ),
    [{ ...invoices, pattern: ['*/invoices/{id}', '*/invoices/{id}?*'] }],
  ],
  [
    'ids of two models',
    INVOICES.map((id, at) => `${id}:${COMPANIES[at]}`),
    [{ column: 'c', pattern: '{accounting/invoices}:{crm/companies}' }],
  ],
])('proposes patterns for %s', (_, values, ids) => {
  expect(idsOf(values)).toEqual(ids);
});

it('proposes nothing for V4 ids, and for what a run wrote', () => {
  expect(idsOf(INVOICES.map((id) => `a:${id + 1_000_000}`))).toEqual([]);
  expect(
    idsOf(
      INVOICES.map((id) => `a:${id}`),
      'c',
      'run-1',
    ),
  ).toEqual([]);
});

it.each([
  ['company_id, with invoices', 'company_id', INVOICES, 'likely', 'accounting/invoices'],
  [
    'company_id, with one company among the invoices',
    'company_id',
    [...INVOICES, COMPANIES[0]],
    'likely',
    'accounting/invoices',
  ],
  ['company_id, with companies', 'company_id', COMPANIES, 'likely', 'crm/companies'],
  [
    'company_id, with V4 ids of companies',
    'company_id',
    COMPANIES.map((id) => id + 1_000_000),
    'v4',
    'crm/companies',
  ],
])('proposes a model for its ids, not for its name alone: %s', (_, column, ids, standing, model) => {
  const values = new Set(ids.map(String));
  const sample = { table: null, column, path: null, values, isWhole: true, isKey: false, run: null };
  expect(propose(evidenceOf(sample))).toMatchObject({ standing, model });
});
