import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { judgeReadings, type PairReading, type PairSide } from '../../src/inspect/verify.js';
import type { RemapEntry } from '../../src/store/remap-entries.js';
import { keysOf, makeFolder, runCli } from '../support/run-cli.js';
import { serveFile } from '../support/serve-http.js';

const ROW: RemapEntry = {
  id: 1n,
  model: 'accounting/invoices',
  path: '',
  region: 'default',
  v3_company_id: 2n,
  v4_company_id: 5n,
  platform_id: 'k',
  parent_platform_id: null,
  v3_svc_id: 1n,
  v4_svc_id: 9n,
  status: 'matched',
  reason: null,
  matched_by: 'platform_id',
  evidence: '{}',
  parent_v3_svc_id: null,
  parent_v4_svc_id: null,
};

const V3: PairSide = { company_id: '2', platform_id: 'k', platform_unique_id: 'u' };
const V4: PairSide = { ...V3, company_id: '5' };
const SHOWN: PairReading = { row: ROW, v3: V3, v4: V4, differing: [] };

type Changes<T> = Partial<T> | 'unknown' | null;

describe('a pair read again', () => {
  const decided = { matched_by: 'decision' } as const;
  const byUniqueId = { matched_by: 'platform_unique_id' } as const;
  const deletedInV4 = { status: 'deleted', reason: 'deleted_in_v4' } as const;
  const parentDeleted = { status: 'deleted', reason: 'parent_deleted_in_v4' } as const;
  const deletedInBoth = { status: 'deleted', reason: 'deleted_in_both' } as const;
  const deletedInV3 = { status: 'deleted', reason: 'deleted_in_v3' } as const;
  it.each<[string, Partial<RemapEntry>, Changes<PairSide>, Changes<PairSide>, string]>([
    ['the same', {}, {}, {}, 'agrees'],
    ['the same, V3 unread', {}, 'unknown', {}, 'agrees'],
    ['another V4 company', {}, {}, { company_id: '6' }, 'company_differs'],
    ['another V3 company', {}, { company_id: '3' }, {}, 'company_differs'],
    ['another V4 key', {}, {}, { platform_id: 'x' }, 'platform_id_differs'],
    ['another V4 key, V3 unread', {}, 'unknown', { platform_id: 'x' }, 'platform_id_differs'],
    ['no V4 key', {}, 'unknown', { platform_id: null }, 'platform_id_differs'],
    ['another key on both sides', {}, { platform_id: 'x' }, { platform_id: 'x' }, 'platform_id_changed'],
    ['another unique id, paired by key', {}, {}, { platform_unique_id: 'w' }, 'agrees'],
    ['another unique id, paired by it', byUniqueId, {}, { platform_unique_id: 'w' }, 'unique_id_differs'],
    ['decided, other V4 key', decided, {}, { platform_id: 'x' }, 'agrees'],
    ['decided, other V3 key since', decided, { platform_id: 'x' }, {}, 'platform_id_changed'],
    ['not in V4', {}, {}, null, 'v4_not_found'],
    ['not in V4, where it was deleted', deletedInV4, {}, null, 'gone'],
    ['not in V4, whose record was deleted there', parentDeleted, {}, null, 'gone'],
    ['not in V4, deleted in both', deletedInBoth, {}, null, 'gone'],
    [
      'not in V4, unmatched since',
      { status: 'unmatched', reason: 'deleted_in_v4' },
      {},
      null,
      'v4_not_found',
    ],
    ['not in V4, deleted in V3 alone', deletedInV3, {}, null, 'v4_not_found'],
    ['not in V3', {}, null, {}, 'v3_not_found'],
    ['not in a region that shows nothing', { region: 'us' }, null, {}, 'agrees'],
    ['in neither', {}, null, null, 'v4_not_found'],
  ])('%s', (_name, row, v3, v4, verdict) => {
    const change = (side: PairSide, by: Changes<PairSide>) =>
      by === null || by === 'unknown' ? by : { ...side, ...by };
    const reading = { ...SHOWN, row: { ...ROW, ...row }, v3: change(V3, v3), v4: change(V4, v4) };
    // Another pair shows that both services answer.
    const judged = judgeReadings([SHOWN, reading as PairReading]);
    const codes = judged.disagreements.map(({ code }) => code as string);
    expect([
      ...codes,
      ...(judged.gone === 1 ? ['gone'] : []),
      ...(judged.agree[1] ? ['agrees'] : []),
    ]).toEqual([verdict]);
  });

  it('proves nothing where V4 shows no record at all', () => {
    const hidden: PairReading = { ...SHOWN, v4: null };
    expect(judgeReadings([hidden, hidden])).toMatchObject({ disagreements: [], unproven: 2 });
  });
});

/** What the service does to reads by id (V4) and by filter (V3). */
interface Behaviour {
  readonly missing?: (v4Id: number) => boolean;
  readonly failing?: (v4Id: number) => boolean;
  /** Line items of these records are left out. */
  readonly emptied?: (v4Id: number) => boolean;
  readonly v3Filter?: 'honoured' | 'ignored' | 'refused' | 'empty' | 'html' | 'absent';
}

const COUNT = 25;
/** Has the key `null`, which the service's filter takes for no value. */
const WITH_NULL = 24;

describe('a service', () => {
  let behaviour: Behaviour = {};
  const records = (company: number, offset: number) =>
    Array.from({ length: COUNT }, (_, index) => ({
      svc_id: offset + index,
      svc_company_id: company,
      platform_id: index === WITH_NULL ? 'null' : `k${index}`,
      document_number: `INV-${index}`,
      memo: offset > 500 && index === 0 ? 'other' : 'same',
      total: offset > 500 && index < 2 ? 2 : 1,
      line_items: [
        { svc_id: offset * 10 + index, platform_id: `line-${index}`, price: offset > 500 ? 2 : 1 },
      ],
    }));
  const [inV3, inV4] = [records(2, 100), records(5, 900)];
  const service = serveFile(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://x');
    const send = (body: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (pathname.startsWith('/v3')) {
      const key = searchParams.get('platform_id[eq]');
      if (key !== null && behaviour.v3Filter === 'refused') return send({ error: 'unknown filter' }, 400);
      if (key !== null && behaviour.v3Filter === 'absent') return send({ error: 'no such route' }, 404);
      if (key !== null && behaviour.v3Filter === 'html') return response.writeHead(200).end('<html>');
      const isFiltered = key !== null && behaviour.v3Filter !== 'ignored';
      const shown = inV3.filter(({ platform_id }) => !isFiltered || (platform_id === key && key !== 'null'));
      return send({ data: key !== null && behaviour.v3Filter === 'empty' ? [] : shown, next: null });
    }
    if (pathname === '/v4/core/companies') return send({ data: { data: [{ svc_id: 5 }], next: null } });
    const id = Number(pathname.split('/')[6] ?? 0);
    if (id === 0) return send({ data: { data: inV4, next: null } });
    const record = inV4.find(({ svc_id }) => svc_id === id);
    if (behaviour.failing?.(id) === true) return send({ error: 'broken' }, 500);
    if (record !== undefined && behaviour.emptied?.(id) === true)
      return send({ data: { ...record, line_items: [] } });
    return record === undefined || behaviour.missing?.(id) === true
      ? send({ error: 'not found' }, 404)
      : send({ data: record });
  });
  let at: { cwd: string; env: Readonly<Record<string, string>> };

  beforeAll(async () => {
    const cwd = makeFolder({
      v3: { regions: { default: { baseUrl: `${service.origin}/v3` } }, requestsPerSecond: 1000 },
      v4: { baseUrl: service.origin, requestsPerSecond: 1000 },
      models: [
        { v3: 'accounting/invoices', v4: 'invoices', expand: ['line_items'], children: ['line_items'] },
      ],
      http: { attempts: 1 },
    });
    at = { cwd, env: keysOf('secret-key-1') };
    expect((await runCli(['run', '--quiet'], at)).code).toBe(0);
  });
  beforeEach(() => {
    behaviour = {};
  });

  const verify = async (changed: Behaviour) => {
    behaviour = changed;
    const { code, stdout } = await runCli(['verify', '--json', '-'], at);
    return { code, json: JSON.parse(stdout) };
  };

  it('that answers as before agrees, and shows the fields that differ, most frequent first', async () => {
    const { code, json } = await verify({});
    expect([code, json.agree, json.coverage.readInV3]).toEqual([0, 2 * COUNT, 2 * COUNT - 2]);
    const lines = { path: 'line_items', field: 'price', pairs: COUNT - 1 };
    expect(json.differences).toMatchObject([
      lines,
      { field: 'total', pairs: 2 },
      { field: 'memo', pairs: 1 },
    ]);
    expect(json.differences[2]).toEqual({
      model: 'accounting/invoices',
      path: '',
      field: 'memo',
      pairs: 1,
      example: { v3_svc_id: '100', v4_svc_id: '900', v3: 'same', v4: 'other' },
    });
  });

  it('that answers 404 to one V4 id disagrees about the record and its line item', async () => {
    const { code, json } = await verify({ missing: (id) => id === 907 });
    expect([code, json.agree, json.disagree]).toEqual([1, 2 * COUNT - 2, 2]);
    expect(json.disagreements).toMatchObject([
      { code: 'v4_not_found', path: '', v3_svc_id: '107', v4_svc_id: '907', v4: null },
      { code: 'v4_not_found', path: 'line_items', v3_svc_id: '1007', v4_svc_id: '9007', v4: null },
    ]);
    expect(json.disagreements[0].v3).toEqual({
      company_id: '2',
      platform_id: 'k7',
      platform_unique_id: null,
    });
  });

  it('that shows a record without its line item disagrees about the line item', async () => {
    const { code, json } = await verify({ emptied: (id) => id === 907 });
    expect([code, json.disagree]).toEqual([1, 1]);
    expect(json.disagreements).toMatchObject([
      { code: 'v4_not_found', path: 'line_items', v4_svc_id: '9007' },
    ]);
  });

  it('that fails for one V4 id is incomplete, unless a pair disagrees', async () => {
    const failing = (id: number) => id === 903;
    const { code, json } = await verify({ failing });
    expect([code, json.agree, json.failed]).toEqual([4, 2 * COUNT - 2, 2]);
    expect(json.firstError).toContain('500');
    expect((await verify({ failing, missing: (id) => id === 907 })).code).toBe(1);
  });

  it('that answers 404 to all V4 ids proves nothing', async () => {
    const { code, json } = await verify({ missing: () => true });
    expect([code, json.agree, json.disagree, json.failed]).toEqual([4, 0, 0, 2 * COUNT]);
  });

  it('that fails for all V4 ids is incomplete', async () => {
    const { code, json } = await verify({ failing: () => true });
    expect([code, json.failed, json.disagree]).toEqual([4, 2 * COUNT, 0]);
  });

  it.each(['ignored', 'refused', 'empty', 'html', 'absent'] as const)(
    'whose V3 filter is %s is compared with V4 alone',
    async (v3Filter) => {
      const { code, json } = await verify({ v3Filter });
      expect([code, json.agree, json.coverage.readInV3]).toEqual([0, 2 * COUNT, 0]);
    },
  );
});
