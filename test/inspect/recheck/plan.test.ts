import { describe, expect, it } from 'vitest';
import type { StreamState } from '../../../src/domain.js';
import { planRecheck } from '../../../src/inspect/recheck/plan-recheck.js';
import { indexOpen } from '../../../src/inspect/recheck/recheck-findings.js';
import type { OpenRow } from '../../../src/store/open-findings.js';
import { FIRST_POSITION, type StreamRow } from '../../../src/store/streams.js';
import { configOf, INVOICES } from '../../support/exported.js';

function streamOf(
  generation: 'v3' | 'v4',
  companyId: bigint | null,
  more: Partial<StreamRow> & { state?: StreamState } = {},
): StreamRow {
  return {
    id: generation === 'v3' ? 1n : 10n + (companyId ?? 0n),
    generation,
    region: generation === 'v3' ? 'default' : '',
    model: INVOICES,
    companyId,
    route: '',
    state: 'complete',
    endReason: 'end_of_list',
    endNote: null,
    pages: 1,
    records: 10,
    uniqueRecords: 10,
    duplicates: 0,
    rejected: 0,
    totalCountFirst: null,
    totalCountLast: null,
    startedAt: '',
    finishedAt: '',
    readBy: 'list',
    readAt: '',
    position: FIRST_POSITION,
    ...more,
  };
}

function rowOf(reason: string, more: Partial<OpenRow> = {}): OpenRow {
  return {
    model: INVOICES,
    path: '',
    region: 'default',
    v3_company_id: 1n,
    v4_company_id: 5n,
    platform_id: 'k',
    v3_svc_id: 100n,
    v4_svc_id: null,
    status: 'unmatched',
    reason,
    ...more,
  };
}

const V4_ONLY = {
  region: null,
  v3_company_id: null,
  v3_svc_id: null,
  v4_svc_id: 200n,
  status: 'v4_only',
} as const;
const LISTS = [streamOf('v3', null), streamOf('v4', 5n), streamOf('v4', 6n)];

function plan(
  findings: readonly OpenRow[],
  more: { parents?: readonly OpenRow[]; streams?: readonly StreamRow[]; lonely?: readonly bigint[] } = {},
) {
  const { parents = [], streams = LISTS, lonely = [6n] } = more;
  const v3Of = new Map([[5n, { region: 'default', companyId: 1n }]]);
  const made = planRecheck({
    findings,
    parents,
    streams,
    pairs: { v3Of, unpairedV4: lonely },
    config: configOf(),
  });
  return {
    asks: made.questions.map(
      ({ stream, companyId, by, value }) => `${stream.generation} ${companyId} ${by} ${value}`,
    ),
    lists: [...made.lists].map(({ generation, companyId }) => `${generation} ${companyId ?? 'all'}`).sort(),
    asksCompanies: made.readsCompanies,
  };
}

it('findings are told apart by region, path, model and company', () => {
  const rows = [
    ...[{}, { region: 'eu' }, { path: 'line_items' }, { model: 'x/y' }, { v3_company_id: 2n }, V4_ONLY],
    ...[{ path: 'line_items' }, { v4_company_id: 6n }].map((more) => ({ ...V4_ONLY, ...more })),
  ].map((more) => rowOf('unexplained', more));
  expect(indexOpen([...rows, ...rows]).size).toBe(rows.length);
});

describe('what a recheck asks', () => {
  const cases: [string, OpenRow, ReturnType<typeof plan>][] = [
    [
      'an unmatched record: itself, and V4 for its key',
      rowOf('unexplained'),
      { asks: ['v3 1 svc_id 100', 'v4 5 platform_id k'], lists: [], asksCompanies: false },
    ],
    [
      'one without a key: itself',
      rowOf('no_platform_id', { platform_id: null }),
      { asks: ['v3 1 svc_id 100'], lists: [], asksCompanies: false },
    ],
    [
      'one that only V4 has: itself, and V3 for its key',
      rowOf('unexplained', V4_ONLY),
      { asks: ['v4 5 svc_id 200', 'v3 1 platform_id k'], lists: [], asksCompanies: false },
    ],
    [
      'an ambiguous one: itself, and both sides for its key',
      rowOf('duplicate_platform_id_v4', { status: 'ambiguous' }),
      {
        asks: ['v3 1 svc_id 100', 'v3 1 platform_id k', 'v4 5 platform_id k'],
        lists: [],
        asksCompanies: false,
      },
    ],
    [
      'an inert connection: the list that is empty',
      rowOf('connection_inert'),
      { asks: ['v3 1 svc_id 100'], lists: ['v4 5'], asksCompanies: false },
    ],
    [
      'a company without a pair: itself, the companies, and the lists of V4 companies without one',
      rowOf('company_not_in_v4', { v4_company_id: null }),
      { asks: ['v3 1 svc_id 100'], lists: ['v4 6'], asksCompanies: true },
    ],
    [
      'a V4 company without a pair: also V3',
      rowOf('company_not_in_v3', { ...V4_ONLY, v4_company_id: 6n }),
      { asks: [], lists: ['v3 all', 'v4 6'], asksCompanies: true },
    ],
  ];
  it.each(cases)('about %s', (_, row, expected) => {
    expect(plan([row])).toEqual(expected);
  });

  it('reads the companies for any finding that needs them, and each of its lists once', () => {
    const rows = ['unexplained', 'company_not_in_v4', 'company_not_in_v3'].map((reason) => rowOf(reason));
    expect(plan(rows)).toMatchObject({ lists: ['v3 all', 'v4 6'], asksCompanies: true });
  });

  it('finishes lists that were not read in full instead of asking them', () => {
    const streams = [streamOf('v3', null), streamOf('v4', 5n, { state: 'failed' }), streamOf('v4', 6n)];
    expect(plan([rowOf('scope_incomplete')], { streams })).toMatchObject({
      asks: ['v3 1 svc_id 100'],
      lists: ['v4 5'],
    });
    expect(plan([rowOf('unexplained')], { streams })).toMatchObject({
      asks: ['v3 1 svc_id 100'],
      lists: ['v4 5'],
    });
  });

  it('finishes any list that was not read in full for what such a list may explain', () => {
    const streams = [streamOf('v3', null), streamOf('v4', 5n), streamOf('v4', 6n, { state: 'failed' })];
    expect(plan([rowOf('scope_incomplete')], { streams }).lists).toEqual(['v4 6']);
    expect(plan([rowOf('unexplained')], { streams }).lists).toEqual([]);
  });

  it('looks again whether a list exists that did not', () => {
    const streams = [streamOf('v3', null), streamOf('v4', 5n, { state: 'absent' })];
    expect(plan([rowOf('model_not_in_v4')], { streams })).toMatchObject({ lists: ['v4 5'] });
    // Accepted by a decision: if the list exists now, a record asked for by its key could not be saved.
    const accepted = plan([rowOf('decided_none')], { streams });
    expect(accepted).toMatchObject({ asks: ['v3 1 svc_id 100'], lists: ['v4 5'] });
    const inV3 = [streamOf('v3', null, { state: 'absent' }), streamOf('v4', 5n)];
    const onlyInV4 = plan([rowOf('unexplained', V4_ONLY)], { streams: inV3 });
    expect(onlyInV4).toMatchObject({ asks: ['v4 5 svc_id 200'], lists: ['v3 all'] });
  });

  it('asks a V3 list that was split by company', () => {
    const streams = [streamOf('v3', 1n, { id: 2n }), streamOf('v3', 2n, { id: 3n }), streamOf('v4', 5n)];
    expect(plan([rowOf('no_platform_id', { platform_id: null })], { streams }).asks).toEqual([
      'v3 1 svc_id 100',
    ]);
  });

  it('asks for children through the records they lie in, and for nothing twice', () => {
    const child = rowOf('unexplained', { path: 'line_items', v3_svc_id: 7n, platform_id: 'l' });
    const parent = rowOf('', { status: 'matched', reason: null, v4_svc_id: 200n });
    expect(plan([child], { parents: [parent, parent] })).toMatchObject({
      asks: ['v3 1 svc_id 100', 'v4 5 svc_id 200'],
    });
  });

  it('reads a list once its questions outnumber its pages', () => {
    const rows = (n: number) =>
      Array.from({ length: n }, (_, at) =>
        rowOf('no_platform_id', { platform_id: null, v3_svc_id: BigInt(at) }),
      );
    expect(plan(rows(25))).toMatchObject({ lists: [] });
    expect(plan(rows(26))).toMatchObject({ asks: [], lists: ['v3 all'] });
    const large = [streamOf('v3', null, { uniqueRecords: 50_000 })];
    expect(plan(rows(101), { streams: large }).lists).toEqual([]);
    expect(plan(rows(102), { streams: large }).lists).toEqual(['v3 all']);
  });
});
