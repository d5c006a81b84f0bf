import { describe, expect, it } from 'vitest';
import type { ListRequest } from '../../src/api/queries.js';
import type { ListPage } from '../../src/domain.js';
import { SvcError } from '../../src/errors.js';
import type { Db } from '../../src/store/open.js';
import { config } from './config.js';
import {
  createFakeService,
  type FakeItem,
  type FakeRecord,
  type FakeService,
  httpError,
} from './fake-service.js';
import { type Bench, bench, errorOf, expectedRecords, storedRecords, V3_LIST } from './support.js';

const COMPANIES = [7n, 8n, 9n];

function record(at: number, companyId: bigint): FakeRecord {
  return { svcId: BigInt(1000 + at), companyId, platformId: `p${at}`, updatedMs: 5 };
}

/** Records of these companies in turn: in pages of three, each company is on the first page. */
function mixed(count = 60, companies: readonly bigint[] = COMPANIES): FakeRecord[] {
  return Array.from({ length: count }, (_, at) => record(at, companies[at % companies.length] ?? 0n));
}

/** A service that filters by company as V3 does. */
function serviceOf(items: FakeItem[]): FakeService {
  const service = createFakeService({ [V3_LIST]: items });
  const { fetchPage } = service;
  service.fetchPage = (request) => {
    const { companyId } = request.stream;
    if (companyId !== null) {
      const own = (service.lists.get(V3_LIST) ?? []).filter(
        (item) => !('rejected' in item) && item.companyId === companyId,
      );
      service.lists.set(V3_LIST.replace('all', String(companyId)), own);
    }
    return fetchPage(request);
  };
  return service;
}

/** Answers in place of a service for requests of a company's part. */
function onParts(service: FakeService, answer: (request: ListRequest, page: ListPage) => ListPage): void {
  const { fetchPage } = service;
  service.fetchPage = async (request) => {
    const page = await fetchPage(request);
    return request.stream.companyId === null ? page : answer(request, page);
  };
}

const auto = () => bench(config({ v3Companies: 'auto' }));

function listOf(b: Bench) {
  return b.look((db) => ({
    ...Object(
      db
        .prepare(
          'SELECT state, read_by AS readBy, unique_records AS n, rejected FROM stream WHERE generation = ?',
        )
        .get('v3'),
    ),
    parts: db.prepare('SELECT count(*) FROM part').pluck().get(),
    cursors: db.prepare('SELECT count(*) FROM cursor_seen').pluck().get(),
  }));
}

const ended = (readBy: string, n: number, rejected = 0) => ({
  ...{ state: 'complete', readBy, n: BigInt(n), rejected: BigInt(rejected) },
  ...{ parts: 0n, cursors: 0n },
});

/** The pages that were requested, without sweeps, in order: `all 3`, `7 0`. */
function pagesOf({ calls }: FakeService): string[] {
  return calls
    .filter(({ updatedSince }) => updatedSince === null)
    .map(({ stream, cursor }) => `${stream.companyId ?? 'all'} ${cursor?.split(':')[0] ?? 0}`);
}

/** Has V4 list these companies, as it would beside the export of V3. */
function listInV4(b: Bench, companies: readonly bigint[]): Promise<unknown> {
  const service = createFakeService();
  service.companies.push(...companies.map((companyId) => ({ companyId, raw: Buffer.from('{}') })));
  return b.run(service, 'v4');
}

function storedIn(b: Bench): unknown {
  return b.look((db: Db) => storedRecords(db).filter(({ list }) => list.startsWith('v3')));
}

describe('a long list of V3', () => {
  it('is read company by company once the companies are known', async () => {
    const b = auto();
    await listInV4(b, COMPANIES);
    // their parts do not end together
    const items = mixed(60, [7n, 7n, 8n, 9n]);
    const service = serviceOf(items);
    await b.run(service);
    expect(listOf(b)).toEqual(ended('companies', 60));
    expect(storedIn(b)).toEqual(expectedRecords(V3_LIST, items));
    const pages = pagesOf(service);
    expect(pages.filter((page) => page.startsWith('all'))).toEqual(['all 0', 'all 3']);
    expect(new Set(pages).size).toBe(pages.length);
  });

  it('without V4 is judged by the companies of its first three pages', async () => {
    const b = auto();
    const service = serviceOf(mixed());
    await b.run(service);
    expect(listOf(b)).toEqual(ended('companies', 60));
    expect(storedIn(b)).toEqual(expectedRecords(V3_LIST, mixed()));
    expect(pagesOf(service)).toContain('all 6');
  });

  it.each<[string, number, readonly bigint[]]>([
    ['seven pages', 21, COMPANIES],
    ['one company', 60, [7n]],
    ['fewer than two pages for each company', 30, [1n, 2n, 3n, 4n, 5n, 6n]],
  ])('with %s is read as one list', async (_, count, companies) => {
    const b = auto();
    await listInV4(b, companies);
    const service = serviceOf(mixed(count, companies));
    await b.run(service);
    expect(listOf(b)).toEqual(ended('list', count));
    expect(pagesOf(service).filter((page) => !page.startsWith('all'))).toEqual([]);
  });

  it('is read as one list where the configuration says so', async () => {
    const b = bench(config({ v3Companies: [] }));
    await listInV4(b, COMPANIES);
    await b.run(serviceOf(mixed()));
    expect(listOf(b)).toEqual(ended('list', 60));
  });

  it('counts records of excluded companies in either way', async () => {
    for (const v3Companies of ['auto', []] as const) {
      const b = bench(config({ v3Companies, companies: { exclude: [8n] } }));
      await b.run(serviceOf(mixed()));
      expect(listOf(b)).toEqual(ended(v3Companies === 'auto' ? 'companies' : 'list', 40));
    }
  });

  it('is topped up as one list, and read company by company again with --restart', async () => {
    const b = auto();
    const service = serviceOf(mixed());
    await b.run(service);
    const added = { ...record(900, 8n), updatedMs: Date.parse('2001-09-10') };
    service.lists.get(V3_LIST)?.push(added);
    await b.run(service);
    expect(listOf(b)).toEqual(ended('companies', 61));
    service.lists.get(V3_LIST)?.shift();
    await b.run(service, 'v3', { restart: true });
    expect(listOf(b)).toEqual(ended('companies', 60));
    expect(storedIn(b)).toEqual(expectedRecords(V3_LIST, [...mixed().slice(1), added]));
  });
});

describe('a list whose parts do not prove that they are all of it', () => {
  const nobody: FakeItem = { rejected: 'no_company_id', raw: '{"svc_id":1}' };
  const late = [record(500, 10n), record(501, 10n)];

  it.each<[string, FakeItem[], (service: FakeService) => void]>([
    ['a company that nobody knew', [...mixed(), ...late], () => {}],
    ['a record without a company', [...mixed(), nobody], () => {}],
    [
      'a filter that is ignored',
      mixed(),
      (service) => {
        const foreign = { position: 0, path: '', reason: 'other_company', raw: Buffer.from('{}') } as const;
        onParts(service, (_, page) => ({ ...page, rejected: [foreign] }));
      },
    ],
    [
      'a filter that is refused',
      mixed(),
      (service) =>
        onParts(service, () => {
          throw httpError(400);
        }),
    ],
    [
      'no count of a part',
      mixed(),
      (service) => onParts(service, (_, page) => ({ ...page, totalCount: null })),
    ],
    [
      'a count of a part that moves',
      mixed(),
      (service) =>
        onParts(service, ({ cursor }, page) => ({
          ...page,
          totalCount: (page.totalCount ?? 0) + (cursor?.startsWith('9') ? 1 : 0),
        })),
    ],
    [
      'counts that add up to more',
      mixed(),
      (service) => onParts(service, (_, page) => ({ ...page, totalCount: (page.totalCount ?? 0) + 1 })),
    ],
    [
      'counts that are estimates',
      [...mixed(65), ...late],
      (service) => {
        service.totalCount = (exact) => Math.floor(exact / 20) * 20;
      },
    ],
    [
      'a cursor that has expired',
      mixed(),
      (service) =>
        onParts(service, ({ cursor }, page) => {
          if (cursor === null) return page;
          throw httpError(410);
        }),
    ],
    [
      'a cursor that repeats',
      mixed(),
      (service) => onParts(service, (_, page) => ({ ...page, next: '3:x' })),
    ],
  ])('%s: it is read as one list to its end', async (_, items, prepare) => {
    const b = auto();
    await listInV4(b, COMPANIES);
    const service = serviceOf(items);
    prepare(service);
    await b.run(service);
    const records = items.filter((item): item is FakeRecord => !('rejected' in item));
    expect(listOf(b)).toEqual(ended('list', records.length, items.length - records.length));
    expect(storedIn(b)).toEqual(expectedRecords(V3_LIST, records));
    // It continues at its cursor, and asks for none of its pages twice.
    const pages = pagesOf(service).filter((page) => page.startsWith('all'));
    expect(new Set(pages).size).toBe(pages.length);
    expect(b.events).toContainEqual(
      expect.objectContaining({ kind: 'note', text: expect.stringContaining('is read as one list') }),
    );
  });

  it('parts that end early are counted again as one list', async () => {
    const b = auto();
    await listInV4(b, COMPANIES);
    const service = serviceOf(mixed());
    onParts(service, ({ cursor }, page) => (cursor?.startsWith('6') ? { ...page, next: null } : page));
    await b.run(service);
    expect(listOf(b)).toEqual(ended('list', 60));
    expect(storedIn(b)).toEqual(expectedRecords(V3_LIST, mixed()));
  });
});

describe('a list that grows while it is read company by company', () => {
  it('by as many records as a company that nobody knew has is read as one list', async () => {
    const b = auto();
    await listInV4(b, COMPANIES);
    const items = [...mixed(), record(500, 10n)];
    const service = serviceOf(items);
    const added = { ...record(600, 7n), updatedMs: Date.parse('2001-09-10') };
    const all = [...items, added];
    const { fetchPage } = service;
    service.fetchPage = (request) => {
      if (request.stream.companyId !== null) service.lists.set(V3_LIST, all);
      return fetchPage(request);
    };
    await b.run(service);
    expect(listOf(b)).toEqual(ended('list', 62));
    expect(storedIn(b)).toEqual(expectedRecords(V3_LIST, all));
  });

  it('needs no cursor of the list to prove that the parts are all of it', async () => {
    const b = auto();
    await listInV4(b, COMPANIES);
    const service = serviceOf(mixed());
    const { fetchPage } = service;
    service.fetchPage = async (request) => {
      if (request.stream.companyId === null && request.cursor !== null) throw httpError(410);
      return fetchPage(request);
    };
    await b.run(service);
    expect(listOf(b)).toEqual(ended('companies', 60));
    expect(storedIn(b)).toEqual(expectedRecords(V3_LIST, mixed()));
  });
});

describe('an export that stops while a list is read company by company', () => {
  it.each([
    ['companies', mixed()],
    ['list', [...mixed(), record(500, 10n)]],
  ] as const)('ends, run again, as an undisturbed one, by %s', async (readBy, items) => {
    const undisturbed = auto();
    await listInV4(undisturbed, COMPANIES);
    await undisturbed.run(serviceOf([...items]));
    const begun: unknown[] = [];
    for (let at = 1, isOver = false; !isOver; at += 1) {
      const b = auto();
      await listInV4(b, COMPANIES);
      const service = serviceOf([...items]);
      service.fault = ({ number }) =>
        number === at ? { kind: 'throw', error: new SvcError('timeout', 'It was late.') } : null;
      isOver = (await b.run(service)).complete;
      service.fault = () => null;
      begun.push(b.look((db) => db.prepare('SELECT max(cursor) FROM part').pluck().get()));
      if (!isOver) await b.run(service);
      expect([at, listOf(b)]).toEqual([at, ended(readBy, items.length)]);
      expect(storedIn(b)).toEqual(storedIn(undisturbed));
      // Of a list that is read as one, no page comes again but the one that failed.
      const pages = pagesOf(service).filter((page) => page.startsWith('all'));
      expect(pages.length - new Set(pages).size).toBeLessThanOrEqual(1);
    }
    // Each part continues at its cursor.
    expect(begun).toContainEqual(expect.any(String));
  });

  it('ends as one list if the configuration now says so', async () => {
    for (let at = 2, isOver = false; !isOver; at += 1) {
      const b = auto();
      await listInV4(b, COMPANIES);
      const service = serviceOf(mixed());
      service.fault = ({ number }) =>
        number === at ? { kind: 'throw', error: new SvcError('timeout', 'It was late.') } : null;
      isOver = (await b.run(service)).complete || service.calls.at(-1)?.updatedSince !== null;
      const before = service.calls.length;
      service.fault = () => null;
      if (isOver) break;
      await b.run(service, 'v3', { config: config({ v3Companies: [] }) });
      expect([at, listOf(b)]).toEqual([at, ended('list', 60)]);
      expect(storedIn(b)).toEqual(expectedRecords(V3_LIST, mixed()));
      expect(service.calls.slice(before).filter(({ stream }) => stream.companyId !== null)).toEqual([]);
    }
  });

  it('a damaged part is noticed', async () => {
    const b = auto();
    const service = serviceOf(mixed());
    service.fault = ({ number }) =>
      number === 10 ? { kind: 'throw', error: new SvcError('timeout', 'It was late.') } : null;
    await b.run(service);
    const error = await b.runWith((db) => db.exec('UPDATE part SET ended = 1'), service);
    expect(error?.code).toBe('corrupt_database');
    expect(await errorOf(b.run(service))).toMatchObject({ code: 'corrupt_database' });
  });
});
