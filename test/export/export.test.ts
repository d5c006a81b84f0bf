import { describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { listV4Companies } from '../../src/store/records.js';
import type { Db } from '../../src/store/sqlite.js';
import { listStreams, readExportSeq } from '../../src/store/streams.js';
import { config, pair } from './config.js';
import { createFakeService, httpError } from './fake-service.js';
import {
  bench,
  countRecords,
  errorOf,
  records,
  storedIds,
  storedRecords,
  V3_LIST,
  V4_LIST,
  v4Service,
} from './support.js';

/** V4's lists, without its list of companies. */
function listsOf<T extends { readonly model: string }>({ streams }: { readonly streams: readonly T[] }): T[] {
  return streams.filter(({ model }) => model !== 'core/companies');
}

describe('export of V3', () => {
  it('reads a list to its end and says so', async () => {
    const b = bench();
    const summary = await b.run(createFakeService({ [V3_LIST]: records(10) }));
    expect(summary.error).toBeNull();
    expect(summary.streams).toMatchObject([
      {
        state: 'complete',
        endReason: 'end_of_list',
        records: 10,
        uniqueRecords: 10,
        duplicates: 0,
        totalCountFirst: 10,
        totalCountLast: 10,
      },
    ]);
    expect(b.look(storedRecords)).toHaveLength(10);
  });

  it('never ends a list by its total_count', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(400) });
    service.pageSize = () => 20;
    service.totalCount = () => 360;
    expect((await b.run(service)).streams).toMatchObject([{ state: 'complete', uniqueRecords: 400 }]);
    expect(b.look(countRecords)).toBe(400);
  });

  it('reads each region and model as a list of its own, whatever their ids', async () => {
    const b = bench(config({ regions: ['eu', 'us'], models: [pair('a/x'), pair('b/x', null)] }));
    const names = ['v3 eu a/x all', 'v3 eu b/x all', 'v3 us a/x all', 'v3 us b/x all'];
    await b.run(createFakeService(Object.fromEntries(names.map((name) => [name, records(2)]))));
    expect(b.look(storedRecords)).toHaveLength(8);
  });

  it.each([
    [[1n, 2n, 4n], [1n, 2n, 3n], [2n], [1n]],
    [[1n, 2n, 1n], [], [2n], [1n]],
    [[], [1n, 2n, 3n], [2n], [1n, 3n]],
    [[], [], [2n], [null]],
  ])(
    'splits lists by the companies %s of those included, %s, but for %s',
    async (v3Companies, include, exclude, lists) => {
      const b = bench(config({ v3Companies, companies: { include, exclude } }));
      const { streams } = await b.run(createFakeService());
      expect(streams.map(({ companyId }) => companyId)).toEqual(lists);
    },
  );

  it('counts records of excluded companies against total_count and as progress, without keeping them', async () => {
    const b = bench(config({ companies: { exclude: [8n] } }));
    const others = records(400, 100).map((record) => ({ ...record, companyId: 8n }));
    const service = createFakeService({ [V3_LIST]: [...records(2), ...others, ...records(2, 900)] });
    service.fault = ({ number }) => (number === 130 ? { kind: 'throw', error: httpError(410) } : null);
    const { streams } = await b.run(service);
    expect(streams).toMatchObject([
      { state: 'complete', uniqueRecords: 4, excluded: 400, totalCountLast: 404 },
    ]);
    expect(b.look(storedIds)).toEqual([1n, 2n, 900n, 901n]);
  });

  it('tops up a finished list by a sweep; the later reading of a record replaces the earlier with its children', async () => {
    const b = bench();
    const line = (platformId: string) => [{ svcId: 70n, platformId }];
    const service = createFakeService({
      [V3_LIST]: records(10).map((record) => ({ ...record, children: line('before') })),
    });
    const begunMs = b.clock.now();
    await b.run(service);
    b.clock.advance(60_000);
    const list = service.lists.get(V3_LIST) ?? [];
    // A record may be listed a while after its update time.
    list.push({ svcId: 12n, companyId: 7n, platformId: 'p12', updatedMs: begunMs - 14 * 60_000 });
    list[3] = {
      svcId: 4n,
      companyId: 7n,
      platformId: 'new',
      updatedMs: b.clock.now(),
      children: line('after'),
    };
    service.calls.length = 0;
    const { streams } = await b.run(service);
    expect(service.calls.every(({ updatedSince }) => updatedSince !== null)).toBe(true);
    expect(streams).toMatchObject([{ state: 'complete', uniqueRecords: 11 }]);
    expect(b.look(storedRecords).find(({ svcId }) => svcId === 4n)).toMatchObject({
      platformId: 'new',
      children: '[["line_items",70,"after"]]',
    });
  });

  it('notices on a top-up no record that vanished, and on a restart every one', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    await b.run(service);
    service.lists.set(V3_LIST, records(8, 3));
    await b.run(service);
    expect(b.look(storedIds)).toHaveLength(10);
    const { streams } = await b.run(service, 'v3', { restart: true });
    expect(b.look(storedIds)).toEqual(records(8, 3).map(({ svcId }) => svcId));
    expect(streams).toMatchObject([{ state: 'complete', records: 8, uniqueRecords: 8, duplicates: 0 }]);
  });

  it('records a model that answers 404 as absent, and asks again next time', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const service = createFakeService({ 'v3 eu a/x all': records(2) });
    const summary = await b.run(service);
    expect(summary).toMatchObject({
      error: null,
      streams: [{}, { state: 'absent', endReason: 'not_found' }],
    });
    await b.run(service, 'v3', { restart: true });
    service.lists.set('v3 eu b/x all', records(2));
    expect((await b.run(service)).streams).toMatchObject([{}, { state: 'complete', uniqueRecords: 2 }]);
  });

  it('takes a V3 list that is gone as absent, and keeps its records', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const service = createFakeService({ 'v3 eu a/x all': records(2), 'v3 eu b/x all': records(2) });
    const [, before] = (await b.run(service)).streams;
    service.lists.delete('v3 eu b/x all');
    for (const options of [{}, {}, { restart: true }]) {
      const { error, streams } = await b.run(service, 'v3', options);
      expect(error).toBeNull();
      expect(streams[1]).toMatchObject({ state: 'absent', endReason: 'not_found', readAt: before?.readAt });
      expect(streams[1]?.uniqueRecords).toBe(2);
    }
    expect(b.look(storedIds)).toHaveLength(4);
    expect(b.events).toContainEqual(
      expect.objectContaining({ kind: 'note', level: 'warning', text: expect.stringContaining('b/x') }),
    );
  });

  it('keeps the rejected objects of a V3 list that is gone, on a restart too, and counts its records', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const bad = { rejected: 'no_svc_id', raw: '{"svc_id":"5"}' } as const;
    const all = [...records(9), bad];
    const service = createFakeService({ 'v3 eu a/x all': records(2), 'v3 eu b/x all': all });
    const countRejected = (db: Db) => db.prepare('select count(*) from rejected').pluck().get();
    await b.run(service);
    service.lists.delete('v3 eu b/x all');
    const [, restarted] = (await b.run(service, 'v3', { restart: true })).streams;
    expect(restarted).toMatchObject({ state: 'absent', records: 10, uniqueRecords: 9, rejected: 1 });
    expect(b.look(countRejected)).toBe(1n);
    service.lists.set('v3 eu b/x all', all);
    service.onCall = ({ request: { stream, cursor } }) => {
      if (stream.model === 'b/x' && cursor !== null) service.lists.delete('v3 eu b/x all');
    };
    const { streams } = await b.run(service, 'v3', { restart: true });
    expect(streams[1]).toMatchObject({ state: 'short', uniqueRecords: 9, rejected: 0 });
  });

  it.each([false, true])(
    'still disputes the count of a V3 list that is gone (restart: %s)',
    async (restart) => {
      const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
      const service = createFakeService({ 'v3 eu a/x all': records(2), 'v3 eu b/x all': records(9) });
      service.totalCount = (exact, { request }) => (request.stream.model === 'b/x' ? exact + 1 : exact);
      await b.run(service);
      service.lists.delete('v3 eu b/x all');
      for (const options of [{ restart }, {}]) {
        const { streams } = await b.run(service, 'v3', options);
        expect(streams[1]).toMatchObject({ state: 'short', uniqueRecords: 9, totalCountLast: 10 });
      }
    },
  );

  it('does not count a V3 list as absent if it is gone before its end was read', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const service = createFakeService({ 'v3 eu a/x all': records(2), 'v3 eu b/x all': records(9) });
    service.onCall = ({ request: { stream, cursor } }) => {
      if (stream.model === 'b/x' && cursor !== null) service.lists.delete('v3 eu b/x all');
    };
    for (const restart of [false, false, true]) {
      const { error, streams } = await b.run(service, 'v3', { restart });
      expect(streams[1]).toMatchObject({ state: 'failed', endReason: 'http_status' });
      expect(error?.hint).toMatch(/operator.*--db/);
      const stored = b.look((db) =>
        db.prepare("select error ->> 'hint' as hint from stream where error is not null").all(),
      );
      expect(stored).toEqual([{ hint: error?.hint }]);
    }
    expect(b.look(storedIds)).toHaveLength(5);
    service.onCall = () => {};
    service.lists.set('v3 eu b/x all', records(9));
    expect((await b.run(service)).streams[1]).toMatchObject({ state: 'complete', uniqueRecords: 9 });
  });

  it('counts as another export where only the state of a list changes', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const service = createFakeService({ 'v3 eu a/x all': records(2), 'v3 eu b/x all': [] });
    service.fault = ({ request: { stream } }) =>
      stream.model === 'b/x' ? { kind: 'throw', error: httpError(503) } : null;
    await b.run(service);
    const before = b.look(readExportSeq);
    service.fault = () => null;
    await b.run(service, 'v3', { models: ['b/x'] });
    expect(b.look(readExportSeq)).toBeGreaterThan(before);
  });

  it('is a mistake of the configuration where every list answers 404', async () => {
    expect((await bench().run(createFakeService())).error).toMatchObject({ exitCode: 2 });
  });

  it('keeps what it has when V3 is gone, even on a restart', async () => {
    const b = bench();
    await b.run(createFakeService({ [V3_LIST]: records(10) }));
    const summary = await b.run(createFakeService(), 'v3', { restart: true });
    expect(summary).toMatchObject({ error: { exitCode: 2 }, streams: [{ state: 'absent' }] });
    expect(summary.error?.hint).toContain('kept');
    expect(b.look(storedIds)).toHaveLength(10);
  });

  it('walks a list once more where its count is higher than what came, and then takes it as short', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    service.totalCount = (exact) => exact + 1;
    const summary = await b.run(service);
    expect(summary).toMatchObject({
      error: null,
      streams: [{ state: 'short', uniqueRecords: 10, records: 20 }],
    });
    service.calls.length = 0;
    service.fault = ({ number }) => (number === 1 ? { kind: 'skip', svcIds: [5n] } : null);
    service.totalCount = (exact) => exact;
    const second = bench();
    expect((await second.run(service)).streams).toMatchObject([{ state: 'complete', uniqueRecords: 10 }]);
  });

  it('walks a list once more where its count falls, so that a deletion hides no other record', async () => {
    const b = bench();
    const items = records(10);
    const service = createFakeService({ [V3_LIST]: items });
    service.onCall = ({ number }) => {
      if (number === 1) items.shift();
    };
    expect((await b.run(service)).streams).toMatchObject([{ state: 'complete' }]);
    expect(b.look(storedIds)).toHaveLength(10);
  });

  it('keeps a child that cannot be taken of each record, once, however alike they are', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    service.fault = ({ number }) => (number === 1 ? { kind: 'overlap', by: 1 } : null);
    const source: typeof service = {
      ...service,
      fetchPage: async (request) => {
        const page = await service.fetchPage(request);
        const child = { path: 'line_items', reason: 'no_svc_id', raw: '{"svc_id":null}' } as const;
        const rejected = page.records.map(({ svcId }, position) => ({
          ...{ position, parentSvcId: svcId },
          ...child,
        }));
        return { ...page, rejected };
      },
    };
    await b.run(source);
    await b.run(source);
    expect(b.look((db) => db.prepare('select count(*) from rejected').pluck().get())).toBe(10n);
  });

  it('asks once more for an empty last page', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    service.totalCount = () => null;
    service.fault = ({ number }) => (number === 2 ? { kind: 'end' } : null);
    expect((await b.run(service)).streams).toMatchObject([{ state: 'complete', uniqueRecords: 10 }]);
  });

  it('walks again from the start when a cursor expires, and keeps what it has', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    service.fault = ({ number }) => (number === 3 ? { kind: 'throw', error: httpError(410) } : null);
    expect((await b.run(service)).streams).toMatchObject([
      { state: 'complete', records: 19, uniqueRecords: 10, duplicates: 9 },
    ]);
  });

  it.each([
    ['cursors that always expire', 'cursor_expired', httpError(410)],
    ['a cursor that comes twice', 'cursor_loop', null],
    ['pages without a new record', 'no_progress', null],
  ])('fails at %s, and reads on once they are over', async (_, code, thrown) => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    service.fault = ({ request, number }) => {
      if (request.cursor === null) return null;
      if (thrown !== null) return { kind: 'throw', error: thrown };
      return code === 'cursor_loop'
        ? { kind: 'cursor', next: 'again' }
        : { kind: 'cursor', next: `0:${number}` };
    };
    expect(await b.run(service)).toMatchObject({
      error: { exitCode: 4, cause: { code } },
      streams: [{ state: 'failed', endReason: code }],
    });
    service.fault = () => null;
    expect((await b.run(service)).streams).toMatchObject([{ state: 'complete', uniqueRecords: 10 }]);
  });

  it('reads the other lists when one fails, and names an error that another run may mend', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x'), pair('c/x')] }));
    const service = createFakeService({
      'v3 eu a/x all': records(4),
      'v3 eu b/x all': [],
      'v3 eu c/x all': [],
    });
    service.fault = ({ request: { stream } }) =>
      stream.model === 'a/x' ? null : { kind: 'throw', error: httpError(stream.model === 'b/x' ? 400 : 503) };
    const summary = await b.run(service);
    expect(summary).toMatchObject({
      error: { message: expect.stringContaining('2 of 3 V3 lists'), cause: { code: 'unavailable' } },
    });
    expect(summary.streams.map(({ state }) => state)).toEqual(['complete', 'failed', 'failed']);
    expect(await b.run(service, 'v3', { models: ['a/x'] })).toMatchObject({ error: null });
    expect(await errorOf(b.run(service, 'v3', { models: ['no/such'] }))).toMatchObject({ code: 'usage' });
  });

  it.each(['auth', 'disk'] as const)('stops everything at once at %s', async (code) => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const service = createFakeService({ 'v3 eu a/x all': records(40), 'v3 eu b/x all': records(40) });
    service.fault = ({ request: { stream, cursor } }) =>
      stream.model === 'a/x' && cursor !== null ? { kind: 'throw', error: new SvcError(code, 'No.') } : null;
    expect(await errorOf(b.run(service))).toMatchObject({ code });
    expect(service.calls.length).toBeLessThan(10);
    service.fault = () => null;
    expect((await b.run(service)).error).toBeNull();
    expect(b.look(countRecords)).toBe(80);
  });

  it('stores no page where only ids are kept, and no page that nothing refers to', async () => {
    const pages = (b: ReturnType<typeof bench>) =>
      b.look((db) => Number(db.prepare('select count(*) from page').pluck().get()));
    const service = createFakeService({ [V3_LIST]: records(10) });
    const ids = bench(config({ payload: 'ids' }));
    await ids.run(service);
    expect([pages(ids), ids.look(countRecords)]).toEqual([0, 10]);
    const full = bench();
    await full.run(service);
    await full.run(service, 'v3', { restart: true });
    expect(pages(full)).toBe(4);
  });
});

describe('export of V4', () => {
  it('reads each model that V4 has for each company that V4 lists', async () => {
    const b = bench(config({ models: [pair('a/x', 'x'), pair('b/y', null)] }));
    const service = v4Service({ 'v4  a/x 7': records(3), 'v4  a/x 8': records(3) });
    service.companies.push(8n);
    expect((await b.run(service, 'v4')).streams).toMatchObject([
      { generation: 'v4', region: '', model: 'a/x', route: 'x', companyId: 7n, state: 'complete' },
      { generation: 'v4', region: '', model: 'a/x', route: 'x', companyId: 8n, state: 'complete' },
      { model: 'core/companies', companyId: null, state: 'complete', uniqueRecords: 2 },
    ]);
  });

  it('reads every company beside a named V3 company until a remap has paired it', async () => {
    const b = bench();
    const service = v4Service({ [V3_LIST]: records(2), [V4_LIST]: records(3) });
    const both = { generations: ['v3', 'v4'], companies: [2n] } as const;
    await b.run(service, 'v3', both);
    expect(b.look((db) => listStreams(db, 'v4'))).toMatchObject([{ companyId: 7n, state: 'complete' }, {}]);
  });

  it('reads the companies that the configuration names, without the list', async () => {
    const b = bench(config({ v4Companies: [8n] }));
    const service = v4Service({ [V4_LIST]: records(3), 'v4  accounting/invoices 8': records(2) });
    expect((await b.run(service, 'v4')).streams).toMatchObject([{ companyId: 8n, uniqueRecords: 2 }]);
  });

  it('drops what a complete new walk no longer shows, and keeps it until then', async () => {
    const b = bench();
    const child = { svcId: 1n, platformId: 'line' };
    const withChild = (list: ReturnType<typeof records>) =>
      list.map((record) => ({ ...record, children: [child] }));
    const service = v4Service({ [V4_LIST]: withChild(records(10)) });
    await b.run(service, 'v4');
    service.lists.set(V4_LIST, withChild(records(9, 5)));
    service.fault = ({ request }) =>
      request.cursor === null ? null : { kind: 'throw', error: httpError(500) };
    expect(listsOf(await b.run(service, 'v4'))).toMatchObject([{ state: 'failed', uniqueRecords: 3 }]);
    expect(b.look(storedIds)).toHaveLength(10);
    service.fault = () => null;
    expect(listsOf(await b.run(service, 'v4'))).toMatchObject([{ state: 'complete', uniqueRecords: 9 }]);
    expect(b.look(storedIds)).toEqual(records(9, 5).map(({ svcId }) => svcId));
    expect(b.look((db) => db.prepare('select count(*) from child').pluck().get())).toBe(9n);
    service.lists.delete(V4_LIST);
    await b.run(service, 'v4');
    expect(b.look(storedIds)).toEqual([]);
  });

  it('drops the lists of companies that V4 no longer names', async () => {
    const b = bench();
    const service = v4Service({ [V4_LIST]: records(4), 'v4  accounting/invoices 8': records(2) });
    service.companies.push(8n);
    await b.run(service, 'v4');
    service.companies.shift();
    const before = b.look(readExportSeq);
    expect(listsOf(await b.run(service, 'v4')).map(({ companyId }) => companyId)).toEqual([8n]);
    expect(b.look(storedIds)).toEqual([1n, 2n]);
    expect(b.look((db) => listV4Companies(db, config()))).toEqual([8n]);
    expect(b.look(readExportSeq)).toBeGreaterThan(before);
  });

  it('does not read the finished lists of an unfinished export again', async () => {
    const { b, service } = await halfRead();
    expect((await b.run(service, 'v4')).error).toBeNull();
    expect(service.calls.map(({ stream }) => stream.model)).toEqual(['b/x', 'b/x']);
    service.calls.length = 0;
    await b.run(service, 'v4');
    expect(service.calls).toHaveLength(5);
  });

  it('reads them again where they would be half as old as the gate allows', async () => {
    const { b, service } = await halfRead();
    b.clock.advance(config().maxAgeMs / 2);
    await b.run(service, 'v4');
    const models = service.calls.map(({ stream }) => stream.model);
    expect(new Set(models)).toEqual(new Set(['core/companies', 'a/x', 'b/x']));
  });

  it('stops at a list of companies that cannot be read, and leaves V3 to be read', async () => {
    const b = bench();
    const service = v4Service({ [V3_LIST]: records(4), [V4_LIST]: records(4) });
    service.fault = ({ request: { stream } }) =>
      stream.model === 'core/companies' ? { kind: 'throw', error: httpError(500) } : null;
    await b.run(service, 'v4', { generations: ['v4', 'v3'] }).then((v4) => {
      expect(v4).toMatchObject({ generation: 'v4', error: { exitCode: 4 } });
    });
    expect(b.look(countRecords)).toBe(4);
  });

  it('refuses another configuration, unless it walks V4 anew for V4 alone', async () => {
    const b = bench();
    const service = v4Service({ [V4_LIST]: records(2) });
    await b.run(service, 'v4');
    const other = { ...config(), database: b.file, v4: { ...config().v4, companyIdField: 'id' } };
    const otherModels = {
      ...config({ models: [{ ...pair('accounting/invoices'), expand: ['x'] }] }),
      database: b.file,
    };
    const otherMatching = {
      ...config({ models: [{ ...pair('accounting/invoices'), children: [] }] }),
      database: b.file,
      backfill: { sinceMs: 5, dateFields: ['created_at'] },
    };
    expect(await errorOf(b.run(service, 'v4', { config: other }))).toMatchObject({
      code: 'other_configuration',
    });
    expect(await errorOf(b.run(service, 'v4', { config: otherModels, restart: true }))).toMatchObject({
      exitCode: 6,
    });
    expect((await b.run(service, 'v4', { config: otherMatching })).error).toBeNull();
    expect((await b.run(service, 'v4', { config: other, restart: true })).error).toBeNull();
  });

  it('takes another address while V4 has shown nothing but companies', async () => {
    const b = bench();
    const service = v4Service({ [V4_LIST]: records(2) });
    service.fault = ({ request: { stream } }) =>
      stream.model === 'core/companies' ? null : { kind: 'throw', error: httpError(500) };
    await b.run(service, 'v4');
    expect(b.look((db) => listV4Companies(db, config()))).toEqual([7n]);
    service.fault = () => null;
    const other = { ...config(), database: b.file, v4: { ...config().v4, baseUrl: 'http://127.0.0.1:8' } };
    expect((await b.run(service, 'v4', { config: other })).error).toBeNull();
  });
});

/** An export of V4 in which one of two lists failed; the service works again. */
async function halfRead() {
  const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
  const service = v4Service({ 'v4  a/x 7': records(4), 'v4  b/x 7': records(4) });
  service.fault = ({ request: { stream } }) =>
    stream.model === 'b/x' ? { kind: 'throw', error: httpError(500) } : null;
  await b.run(service, 'v4');
  service.fault = () => null;
  service.calls.length = 0;
  return { b, service };
}
