import { describe, expect, it } from 'vitest';
import type { Api } from '../../../src/api/client.js';
import type { ParsedPage, ParsedRecord } from '../../../src/domain.js';
import { SvcError } from '../../../src/errors.js';
import { createLiveReader, type PairReader } from '../../../src/inspect/live-records.js';
import { type PairVerdict, readLive } from '../../../src/inspect/verify/read-live.js';
import type { MappedPair, ParentPair } from '../../../src/store/mapped-pairs.js';
import { configOf, INVOICES } from '../../support/exported.js';
import { type Child, renderChildren } from '../../support/stored-children.js';

const CONFIG = configOf();

function recordOf(svcId: bigint, platformId: string | null, more: Partial<ParsedRecord> = {}): ParsedRecord {
  return {
    svcId,
    companyId: 1n,
    platformId,
    platformUniqueId: null,
    deleted: false,
    updatedMs: null,
    latestMs: null,
    latestFrom: null,
    createdMs: null,
    children: null,
    members: null,
    raw: new Uint8Array(),
    ...more,
  };
}

function childOf(svcId: bigint, platformId: string): Child {
  return { path: 'line_items', svcId, platformId, platformUniqueId: null, deleted: false };
}

function pageOf(records: readonly ParsedRecord[], next: string | null = null): ParsedPage {
  return { records, rejected: [], next, totalCount: null };
}

function pairOf(more: Partial<MappedPair> = {}): MappedPair {
  return {
    row: 1n,
    parent: null,
    model: INVOICES,
    path: '',
    region: 'default',
    v3_company_id: 1n,
    v4_company_id: 1n,
    platform_id: 'k',
    v4_platform_id: 'k',
    parent_platform_id: null,
    v3_svc_id: 10n,
    v4_svc_id: 20n,
    status: 'matched',
    reason: null,
    matched_by: 'platform_id',
    ...more,
  };
}

const REFUSED = new SvcError('http_status', 'V3 answered 400.', { facts: { status: 400 } });
const ABSENT = new SvcError('http_status', 'V4 answered 404.', { facts: { status: 404 } });

type Answers = { [Name in 'v3' | 'v4']?: (parameters: Record<string, string>) => ParsedPage | SvcError } & {
  record?: (svcId: bigint) => ParsedRecord | null | SvcError;
};

/** An API that answers as told; without an answer it fails the test. */
function apiOf({ v3, v4, record }: Answers) {
  const asked: string[] = [];
  const answerOf = <T>(answer: T | SvcError | undefined): Promise<T> => {
    if (answer === undefined) throw new Error('This was not to be asked.');
    return answer instanceof SvcError ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const api: Pick<Api, 'fetchRecord' | 'fetchRawList'> = {
    fetchRawList: ({ stream, parameters }) => {
      const filters = parameters.filter(([name]) => name.includes('['));
      asked.push(`${stream.generation} ${filters.map(([name, value]) => `${name}=${value}`).join(' ')}`);
      return answerOf((stream.generation === 'v3' ? v3 : v4)?.(Object.fromEntries(parameters)));
    },
    fetchRecord: ({ svcId }) => {
      asked.push(`v4 /${svcId}`);
      return answerOf(record?.(svcId));
    },
  };
  return { api, asked };
}

const REF = { model: INVOICES, region: 'default', companyId: 1n, svcId: 10n, platformId: 'k' };

describe('reading one V3 record', () => {
  it('asks the list for its id, deleted or not', async () => {
    const { api, asked } = apiOf({
      v3: (parameters) => {
        expect(parameters['include_deleted_records']).toBe('true');
        return pageOf([recordOf(10n, 'k')]);
      },
    });
    expect(await createLiveReader(api, CONFIG).readV3(REF)).toMatchObject({ svcId: 10n });
    expect(asked).toEqual(['v3 svc_id[eq]=10']);
  });

  it.each([
    ['refuses', () => REFUSED],
    ['ignores', () => pageOf([recordOf(7n, 'other'), recordOf(10n, 'k')])],
  ])('asks for its key where V3 %s a filter by id, and remembers that', async (_, byId) => {
    const { api, asked } = apiOf({
      v3: (parameters) =>
        'svc_id[eq]' in parameters ? byId() : pageOf([recordOf(9n, 'k'), recordOf(10n, 'k')]),
    });
    const reader = createLiveReader(api, CONFIG);
    expect(await reader.readV3(REF)).toMatchObject({ svcId: 10n });
    expect(await reader.readV3(REF)).toMatchObject({ svcId: 10n });
    expect(asked).toEqual([
      'v3 svc_id[eq]=10',
      'v3 platform_id[eq]=k svc_company_id[eq]=1',
      'v3 platform_id[eq]=k svc_company_id[eq]=1',
    ]);
  });

  it('asks once more for an empty last page behind a cursor', async () => {
    let asked = 0;
    const { api } = apiOf({
      v3: ({ next }) => {
        if (next === undefined) return pageOf([], 'c');
        asked += 1;
        return pageOf(asked === 1 ? [] : [recordOf(10n, 'k')]);
      },
    });
    expect(await createLiveReader(api, CONFIG).readV3(REF)).toMatchObject({ svcId: 10n });
    expect(asked).toBe(2);
  });

  it.each([
    ['honours neither filter', () => pageOf([recordOf(7n, 'other')])],
    ['shows another company for the key', () => pageOf([recordOf(9n, 'k', { companyId: 2n })])],
    ['goes on for ever', () => pageOf([recordOf(10n, 'k')], 'c')],
  ])('fails where V3 %s', async (_, v3) => {
    const { api, asked } = apiOf({ v3 });
    await expect(createLiveReader(api, CONFIG).readV3(REF)).rejects.toMatchObject({ code: 'bad_response' });
    expect(asked.length).toBeLessThan(30);
  });

  it('takes the record of the company where several have the id', async () => {
    const { api } = apiOf({ v3: () => pageOf([recordOf(10n, 'x', { companyId: 2n }), recordOf(10n, 'k')]) });
    expect(await createLiveReader(api, CONFIG).readV3(REF)).toMatchObject({ platformId: 'k' });
  });
});

describe('reading one V4 record', () => {
  it('asks its route', async () => {
    const { api, asked } = apiOf({ record: (svcId) => recordOf(svcId, 'k') });
    expect(await createLiveReader(api, CONFIG).readV4({ ...REF, region: '' })).toMatchObject({ svcId: 10n });
    expect(asked).toEqual(['v4 /10']);
  });

  it('asks the list where the route hides it', async () => {
    const { api, asked } = apiOf({
      record: () => null,
      v4: ({ include_deleted_records: asks }) =>
        pageOf(asks === 'true' ? [recordOf(10n, 'k', { deleted: true })] : []),
    });
    expect(await createLiveReader(api, CONFIG).readV4({ ...REF, region: '' })).toMatchObject({
      deleted: true,
    });
    expect(asked).toEqual(['v4 /10', 'v4 svc_id[eq]=10']);
  });

  it('asks the list without its deleted records where V4 refuses to show them', async () => {
    const { api } = apiOf({
      record: () => null,
      v4: (parameters) => ('include_deleted_records' in parameters ? REFUSED : pageOf([recordOf(10n, 'k')])),
    });
    expect(await createLiveReader(api, CONFIG).readV4({ ...REF, region: '' })).toMatchObject({ svcId: 10n });
  });

  it.each([
    ['is absent', () => ABSENT],
    ['refuses the filter', () => REFUSED],
    ['ignores the filter', () => pageOf([recordOf(3n, 'x')])],
    ['is empty', () => pageOf([])],
  ])('finds nothing where the list %s too', async (_, v4) => {
    const { api } = apiOf({ record: () => null, v4 });
    expect(await createLiveReader(api, CONFIG).readV4({ ...REF, region: '' })).toBeNull();
  });
});

type Known = Readonly<Record<string, ParsedRecord | SvcError>>;

/** A reader that knows these records: `v3 10`, `v4 20`. */
function readerOf(known: Known): PairReader {
  const read = async (name: string) => {
    const found = known[name];
    if (found instanceof SvcError) throw found;
    return found ?? null;
  };
  return { readV3: ({ svcId }) => read(`v3 ${svcId}`), readV4: ({ svcId }) => read(`v4 ${svcId}`) };
}

/** What was found out about each pair. */
async function judge(
  pairs: readonly MappedPair[],
  known: Known | PairReader,
  parents: readonly ParentPair[] = [{ v3_svc_id: 10n, v4_svc_id: 20n }],
) {
  const verdicts: PairVerdict[] = [];
  const { unread } = await readLive({
    pairs,
    total: pairs.length,
    reader: isReader(known) ? known : readerOf(known),
    findParents: () => parents,
    onVerdict: (_, verdict) => verdicts.push(verdict),
    onProgress: () => {},
  });
  return { unread, words: verdicts.map(wordOf) };
}

function isReader(known: Known | PairReader): known is PairReader {
  return 'readV3' in known;
}

function wordOf(verdict: PairVerdict): string {
  if (verdict.kind === 'disagrees') return verdict.code;
  return verdict.kind === 'agrees' && verdict.deletedSince ? 'deleted since' : verdict.kind;
}

const BOTH: Known = { 'v3 10': recordOf(10n, 'k'), 'v4 20': recordOf(20n, 'k') };
const DELETED: Known = { ...BOTH, 'v4 20': recordOf(20n, 'k', { deleted: true }) };
const DECIDED: Partial<MappedPair> = { matched_by: 'decision', v4_platform_id: 'K' };
const OTHER = pairOf({ row: 2n, v3_svc_id: 11n, v4_svc_id: 21n, platform_id: 'o' });
const OTHERS: Known = { 'v3 11': recordOf(11n, 'o'), 'v4 21': recordOf(21n, 'o') };

describe('a pair', () => {
  const cases: [string, Partial<MappedPair>, Known, string][] = [
    ['agrees', {}, BOTH, 'agrees'],
    ['has another key in V4', {}, { ...BOTH, 'v4 20': recordOf(20n, 'K') }, 'platform_id_differs'],
    [
      'has no key on either side',
      {},
      { 'v3 10': recordOf(10n, null), 'v4 20': recordOf(20n, null) },
      'platform_id_differs',
    ],
    ['changed its key on both sides', { platform_id: 'old' }, BOTH, 'platform_id_changed'],
    [
      'is of another V3 company',
      {},
      { ...BOTH, 'v3 10': recordOf(10n, 'k', { companyId: 2n }) },
      'company_differs',
    ],
    [
      'is of another V4 company',
      {},
      { ...BOTH, 'v4 20': recordOf(20n, 'k', { companyId: 2n }) },
      'company_differs',
    ],
    ['is not in V3', {}, { ...OTHERS, 'v4 20': recordOf(20n, 'k') }, 'v3_not_found'],
    ['is not in V4', {}, { ...OTHERS, 'v3 10': recordOf(10n, 'k') }, 'v4_not_found'],
    [
      'was told apart by unique ids that differ',
      { matched_by: 'platform_unique_id' },
      {
        'v3 10': recordOf(10n, 'k', { platformUniqueId: 'a' }),
        'v4 20': recordOf(20n, 'k', { platformUniqueId: 'b' }),
      },
      'unique_id_differs',
    ],
    [
      'has unique ids that differ where the key alone decides',
      {},
      {
        'v3 10': recordOf(10n, 'k', { platformUniqueId: 'a' }),
        'v4 20': recordOf(20n, 'k', { platformUniqueId: 'b' }),
      },
      'agrees',
    ],
    [
      'was deleted in V4 and is gone',
      { status: 'deleted', reason: 'deleted_in_v4' },
      { ...OTHERS, 'v3 10': recordOf(10n, 'k') },
      'gone',
    ],
    [
      'was deleted in V3 only and is gone from V4',
      { status: 'deleted', reason: 'deleted_in_v3' },
      { ...OTHERS, 'v3 10': recordOf(10n, 'k') },
      'v4_not_found',
    ],
    [
      'was deleted on both sides with its record and is gone',
      { status: 'deleted', reason: 'parent_deleted_in_both' },
      { ...OTHERS, 'v3 10': recordOf(10n, 'k') },
      'gone',
    ],
    ['was deleted in V4 since', {}, DELETED, 'deleted since'],
    ['was deleted in V4 already', { status: 'deleted', reason: 'deleted_in_v4' }, DELETED, 'agrees'],
    ['was decided', DECIDED, { ...BOTH, 'v4 20': recordOf(20n, 'K') }, 'agrees'],
    ['was decided and has another key in V4', DECIDED, BOTH, 'platform_id_changed'],
    [
      'was decided and has another key in V3',
      DECIDED,
      { 'v3 10': recordOf(10n, 'K'), 'v4 20': recordOf(20n, 'K') },
      'platform_id_changed',
    ],
  ];
  it.each(cases)('that %s is judged so', async (_, more, known, expected) => {
    const { words } = await judge([pairOf(more), OTHER], { ...OTHERS, ...known });
    expect([...words].sort()).toEqual([expected, 'agrees'].sort());
  });

  const pair = pairOf({
    path: 'line_items',
    v3_svc_id: 1n,
    v4_svc_id: 2n,
    platform_id: 'l',
    parent_platform_id: 'k',
  });
  const known = (v4Key: string, more: Partial<Child> = {}): Known => ({
    'v3 10': recordOf(10n, 'k', { children: renderChildren([childOf(1n, 'l')]) }),
    'v4 20': recordOf(20n, 'k', { children: renderChildren([{ ...childOf(2n, v4Key), ...more }]) }),
  });

  it('of children is read through its parents', async () => {
    expect((await judge([pair], known('l'))).words).toEqual(['agrees']);
    expect((await judge([pair], known('m'))).words).toEqual(['platform_id_differs']);
    expect((await judge([{ ...pair, v4_svc_id: 3n }], known('l'))).words).toEqual(['v4_not_found']);
    expect((await judge([pair], known('l', { path: 'taxes' }))).words).toEqual(['v4_not_found']);
    expect((await judge([pair], known('l', { deleted: true }))).words).toEqual(['deleted since']);
    expect((await judge([pair], known('l'), [])).words).toEqual(['parent_not_mapped']);
  });

  it.each([
    ['the first', [20n, 21n]],
    ['the last', [21n, 20n]],
    ['the one that has a twin', [null, 20n]],
  ])('of children agrees if it is in %s of several parents', async (_, twins) => {
    const parents = twins.map((v4_svc_id) => ({ v3_svc_id: 10n, v4_svc_id }));
    const both = { ...known('l'), 'v4 21': recordOf(21n, 'k', { children: renderChildren([]) }) };
    expect((await judge([pair], both, parents)).words).toEqual(['agrees']);
  });

  it('is read for its own region, company and key', async () => {
    const asked: string[] = [];
    const reader: PairReader = {
      readV3: async ({ region, companyId, svcId, platformId }) => {
        asked.push(platformId);
        return recordOf(svcId, `${region} ${companyId}`, { companyId });
      },
      readV4: async ({ companyId, svcId }) =>
        recordOf(svcId, svcId === 21n ? 'eu 1' : `default ${companyId}`, { companyId }),
    };
    const pairs = [
      pairOf({ platform_id: 'default 1' }),
      pairOf({ platform_id: 'eu 1', region: 'eu', v4_svc_id: 21n }),
      pairOf({ platform_id: 'default 2', v3_company_id: 2n, v4_company_id: 2n }),
      pair,
    ];
    expect((await judge(pairs, reader, [{ v3_svc_id: 11n, v4_svc_id: 20n }])).words).toEqual([
      ...['agrees', 'agrees', 'agrees'],
      'v3_not_found',
    ]);
    expect(asked).toEqual(['default 1', 'eu 1', 'default 2', 'k']);
  });

  it('that could not be read is neither right nor wrong', async () => {
    const error = new SvcError('network', 'gone');
    expect((await judge([pairOf(), OTHER], { ...OTHERS, 'v3 10': error })).words).toEqual([
      'failed',
      'agrees',
    ]);
  });

  it('that is not found proves nothing where the API shows no record at all', async () => {
    expect((await judge([pairOf(), OTHER], {})).words).toEqual(['failed', 'failed']);
    const onlyV3: Known = { 'v3 10': recordOf(10n, 'k'), 'v3 11': recordOf(11n, 'o') };
    expect((await judge([pairOf(), OTHER], onlyV3)).words).toEqual(['failed', 'failed']);
  });
});

describe('an outage', () => {
  it('is not waited out pair by pair', async () => {
    const down = new SvcError('network', 'down');
    const pairs = Array.from({ length: 1000 }, (_, at) => pairOf({ row: BigInt(at) }));
    const { unread, words } = await judge(pairs, { 'v3 10': down });
    expect(words.length + unread).toBe(1000);
    expect(unread).toBeGreaterThan(500);
    expect((await judge([...pairs.slice(1), OTHER], { ...BOTH, 'v3 11': down })).unread).toBe(0);
    expect((await judge([OTHER, ...pairs.slice(1)], { ...BOTH, 'v3 11': down })).unread).toBe(0);
  });
});
