import { describe, expect, it } from 'vitest';
import { config, pair } from './config.js';
import { createFakeService, type FakeRecord, httpError } from './fake-service.js';
import { bench, records, storedIds, storedRecords, V3_LIST } from './support.js';

describe('export v3', () => {
  it('reads a list to its end and says so', async () => {
    const b = bench();
    const summary = await b.run(createFakeService({ [V3_LIST]: records(10) }));
    expect(summary).toMatchObject({ complete: true, firstError: null });
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
    expect(b.events.at(-1)).toMatchObject({ kind: 'stream', state: 'complete' });
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
    ['auto' as const, [1n], [], [1n]],
    [[], [], [2n], [null]],
  ])(
    'splits lists by the companies %s of those included, %s, but for %s',
    async (v3Companies, include, exclude, lists) => {
      const b = bench(config({ v3Companies, companies: { include, exclude } }));
      const { streams } = await b.run(createFakeService());
      expect(streams.map(({ companyId }) => companyId)).toEqual(lists);
    },
  );

  it('counts records of excluded companies against total_count without keeping them', async () => {
    const b = bench(config({ companies: { exclude: [8n] } }));
    const others = records(400, 100).map((record) => ({ ...record, companyId: 8n }));
    const service = createFakeService({ [V3_LIST]: [...records(2), ...others, ...records(2, 900)] });
    const { streams } = await b.run(service);
    expect(streams).toMatchObject([{ state: 'complete', records: 4, uniqueRecords: 4, totalCountLast: 404 }]);
    expect(b.look(storedIds)).toEqual([1n, 2n, 900n, 901n]);
  });

  it('takes records of excluded companies for progress, also when it walks again', async () => {
    const b = bench(config({ companies: { exclude: [8n] } }));
    const others = records(400, 100).map((record) => ({ ...record, companyId: 8n }));
    const service = createFakeService({ [V3_LIST]: [...others, ...records(2)] });
    service.fault = ({ number }) => (number === 130 ? { kind: 'throw', error: httpError(410) } : null);
    expect((await b.run(service)).streams).toMatchObject([{ state: 'complete', uniqueRecords: 2 }]);
  });

  it('keeps the newer of two versions, and of equally old ones the later', async () => {
    const version = (platformId: string, updatedMs: number | null) => ({
      ...records(1)[0],
      svcId: 1n,
      companyId: 7n,
      platformId,
      updatedMs,
    });
    const winner = async (...versions: FakeRecord[]) => {
      const fresh = bench();
      await fresh.run(createFakeService({ [V3_LIST]: versions }));
      return fresh.look((db) => db.prepare('SELECT platform_id FROM record').pluck().all());
    };
    expect(await winner(version('new', 9), version('old', 5))).toEqual(['new']);
    expect(await winner(version('old', 5), version('new', 9))).toEqual(['new']);
    expect(await winner(version('first', 5), version('second', 5))).toEqual(['second']);
    expect(await winner(version('first', 5), version('second', null))).toEqual(['second']);
    expect(await winner(version('first', null), version('second', 5))).toEqual(['second']);
  });

  it('tops up a finished database by a sweep instead of a new walk', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    const begunMs = b.clock.now();
    await b.run(service);
    b.clock.advance(60_000);
    const list = service.lists.get(V3_LIST) ?? [];
    // A record may be listed a while after its update time.
    list.push({ svcId: 12n, companyId: 7n, platformId: 'p12', updatedMs: begunMs - 14 * 60_000 });
    list.push({ svcId: 11n, companyId: 7n, platformId: 'p11', updatedMs: b.clock.now() });
    list[3] = { svcId: 4n, companyId: 7n, platformId: 'changed', updatedMs: b.clock.now() };
    service.calls.length = 0;
    service.pageSize = () => 1;
    const { streams } = await b.run(service);
    expect(service.calls.every(({ updatedSince }) => updatedSince !== null)).toBe(true);
    expect(streams).toMatchObject([{ state: 'complete', uniqueRecords: 12 }]);
    expect(b.look((db) => db.prepare('SELECT platform_id FROM record WHERE svc_id = 4').pluck().get())).toBe(
      'changed',
    );
    expect(b.look(storedIds)).toHaveLength(12);
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
    const b = bench();
    const service = createFakeService();
    const summary = await b.run(service);
    expect(summary).toMatchObject({ complete: true, streams: [{ state: 'absent', endReason: 'not_found' }] });
    service.lists.set(V3_LIST, records(2));
    expect((await b.run(service)).streams).toMatchObject([{ state: 'complete', uniqueRecords: 2 }]);
  });

  it('says so when V3 has no such list', async () => {
    const b = bench();
    await b.run(createFakeService());
    const text = 'V3 has no list accounting/invoices in region eu (404).';
    expect(b.events).toContainEqual({ kind: 'note', level: 'warning', text });
  });

  it('names all lists that a region lacks in one warning', async () => {
    const names = ['accounting/invoices', 'crm/companies'];
    const b = bench(config({ regions: ['eu', 'us'], models: names.map((name) => pair(name)) }));
    await b.run(
      createFakeService(Object.fromEntries(names.map((name) => [`v3 us ${name} all`, records(1)]))),
    );
    const warnings = b.events.filter((event) => event.kind === 'note' && event.level === 'warning');
    const text = 'V3 has no lists accounting/invoices, crm/companies in region eu (404).';
    expect(warnings).toEqual([{ kind: 'note', level: 'warning', text }]);
  });

  it('keeps what it has when V3 is gone, even on a restart', async () => {
    const b = bench();
    await b.run(createFakeService({ [V3_LIST]: records(10) }));
    const summary = await b.run(createFakeService(), 'v3', { restart: true });
    expect(summary).toMatchObject({ complete: false, streams: [{ state: 'failed' }] });
    expect(b.look(storedIds)).toHaveLength(10);
  });

  it('takes a stream that stays short of its count as read, after a second walk', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    service.totalCount = (exact) => exact + 1;
    const summary = await b.run(service);
    expect(summary).toMatchObject({
      complete: true,
      streams: [{ state: 'short', uniqueRecords: 10, records: 20 }],
    });
  });

  it('walks again from the start when a cursor expires, and keeps what it has', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    service.fault = ({ number }) => (number === 3 ? { kind: 'throw', error: httpError(410) } : null);
    expect((await b.run(service)).streams).toMatchObject([
      { state: 'complete', records: 19, uniqueRecords: 10, duplicates: 9 },
    ]);
  });

  it('reads the other streams when one fails', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const service = createFakeService({ 'v3 eu a/x all': records(4), 'v3 eu b/x all': records(4) });
    service.fault = ({ request }) =>
      request.stream.model === 'a/x' ? { kind: 'throw', error: httpError(500) } : null;
    const summary = await b.run(service);
    expect(summary).toMatchObject({
      complete: false,
      firstError: { code: 'unavailable', facts: { status: 500 } },
    });
    expect(summary).toMatchObject({ selectedLists: 2, openLists: 1 });
    expect(summary.streams.map(({ state }) => state)).toEqual(['failed', 'complete']);
    const other = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const narrowed = await other.run(service, 'v3', { onlyModels: ['a/x'] });
    expect(narrowed).toMatchObject({ selectedLists: 1, openLists: 1, streams: [{}, {}] });
  });

  it('names an error that another run may mend before one that it cannot', async () => {
    const service = createFakeService({ 'v3 eu a/x all': [], 'v3 eu b/x all': [] });
    service.fault = ({ request }) => ({
      kind: 'throw',
      error: httpError(request.stream.model === 'a/x' ? 400 : 503),
    });
    const summary = await bench(config({ models: [pair('a/x'), pair('b/x')] })).run(service);
    expect(summary.firstError).toMatchObject({ code: 'unavailable', facts: { status: 503 } });
  });
});
