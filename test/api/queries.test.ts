import { describe, expect, it } from 'vitest';
import { buildList, buildUrl, buildV4Record, type ListRequest } from '../../src/api/queries.js';
import type { ModelPair } from '../../src/domain.js';

const PAIR: ModelPair = {
  v3: 'accounting/bill_credit_notes',
  v4: 'bill_credit_notes',
  expand: ['line_items', 'payments'],
  children: ['line_items'],
  v4Guessed: false,
};

function request(changes: Partial<ListRequest> = {}, companyId: bigint | null = null): ListRequest {
  return {
    stream: { generation: 'v3', region: 'default', model: PAIR.v3, companyId },
    pair: PAIR,
    cursor: null,
    updatedSince: null,
    ...changes,
  };
}

function v4(list: ListRequest): ListRequest {
  return { ...list, stream: { ...list.stream, generation: 'v4', region: '' } };
}

const companyList: ListRequest = {
  stream: { generation: 'v4', region: '', model: 'core/companies', companyId: null },
  pair: null,
  cursor: 'c',
  updatedSince: null,
};

describe('V3 lists', () => {
  it('are asked for deleted records, with a count, in order of creation', () => {
    expect(buildList(request(), 500, 'svc_', true)).toEqual({
      path: ['accounting', 'bill_credit_notes'],
      parameters: [
        ['limit', '500'],
        ['include_deleted_records', 'true'],
        ['return_count', 'true'],
        ['sort[svc_created_at]', 'ASC'],
        ['expand', 'line_items,payments'],
      ],
    });
  });

  it('repeat every parameter beside a cursor', () => {
    const first = buildList(
      request({ updatedSince: '2026-01-01T00:00:00.000Z' }, 9007199254740993n),
      50,
      'acme_',
      true,
    );
    const second = buildList(
      request({ updatedSince: '2026-01-01T00:00:00.000Z', cursor: 'c' }, 9007199254740993n),
      50,
      'acme_',
      true,
    );
    expect(second.parameters).toEqual([...first.parameters, ['next', 'c']]);
    expect(first.parameters).toContainEqual(['acme_company_id[eq]', '9007199254740993']);
    expect(first.parameters).toContainEqual(['acme_updated_at[gte]', '2026-01-01T00:00:00.000Z']);
    expect(first.parameters).toContainEqual(['sort[acme_created_at]', 'ASC']);
  });
});

describe('V4 lists', () => {
  it('are asked per company and model', () => {
    expect(buildList(v4(request({ cursor: 'c' }, 7n)), 100, 'svc_', true)).toEqual({
      path: ['v4', 'core', 'companies', '7', 'bill_credit_notes'],
      parameters: [
        ['limit', '100'],
        ['expand', 'line_items,payments'],
        ['include_deleted_records', 'true'],
        ['next', 'c'],
      ],
    });
    expect(buildList(v4(request({}, 7n)), 100, 'svc_', false).parameters.map(([name]) => name)).toEqual([
      'limit',
      'expand',
    ]);
  });

  it('of companies, and single records, have their own routes', () => {
    expect(buildList(companyList, 10, 'svc_', true)).toEqual({
      path: ['v4', 'core', 'companies'],
      parameters: [
        ['limit', '10'],
        ['next', 'c'],
      ],
    });
    expect(
      buildV4Record({ pair: { ...PAIR, v4: 'invoices', expand: [] }, companyId: 7n, svcId: -5n }),
    ).toEqual({
      path: ['v4', 'core', 'companies', '7', 'invoices', '-5'],
      parameters: [],
    });
  });
});

describe('addresses', () => {
  it.each([
    'https://evil.example.com/steal',
    '//evil.example.com/x',
    '../../x',
    'a&limit=1#frag?x=y',
    'ä😀\u0000\n',
    '\ud800',
    'x'.repeat(10_000),
    '%2F%2e',
  ])('keep the cursor "%s" a parameter', (cursor) => {
    const url = buildUrl('https://api.example.com/v3', { path: ['a', 'b'], parameters: [['next', cursor]] });
    expect(url.origin + url.pathname).toBe('https://api.example.com/v3/a/b');
    expect([...url.searchParams]).toEqual([['next', cursor.replace('\ud800', '\ufffd')]]);
  });

  it.each([['..'], ['.'], ['']])('refuse the path segment "%s"', (segment) => {
    expect(() => buildUrl('https://api.example.com/v3', { path: ['a', segment], parameters: [] })).toThrow(
      TypeError,
    );
  });

  it('keep odd characters of a model inside its segment', () => {
    const url = buildUrl('https://api.example.com', { path: ['a/b', '?c#d', '@e:f'], parameters: [] });
    expect(url.href).toBe('https://api.example.com/a%2Fb/%3Fc%23d/%40e%3Af');
  });
});
