import { describe, expect, it } from 'vitest';
import type { ProgressEvent } from '../../src/domain.js';
import { SvcError } from '../../src/errors.js';
import { readExportSeq } from '../../src/store/meta.js';
import { listStreams } from '../../src/store/streams.js';
import { storedPayloads } from '../support/payloads.js';
import { config, pair } from './config.js';
import { createFakeService, httpError } from './fake-service.js';
import { bench, errorOf, records, storedIds, storedRecords, V3_LIST, V4_LIST, v4Service } from './support.js';

describe('export v4', () => {
  it('reads each model that V4 has for each company that V4 lists', async () => {
    const b = bench(config({ models: [pair('a/x', 'x'), pair('b/y', null)] }));
    const service = v4Service({ 'v4  a/x 7': records(3), 'v4  a/x 8': records(3) });
    service.companies.push({ companyId: 8n, raw: Buffer.from('{"id":8}') });
    const { streams } = await b.run(service, 'v4');
    expect(streams).toMatchObject([
      { generation: 'v4', region: '', model: 'a/x', route: 'x', companyId: 7n, state: 'complete' },
      { generation: 'v4', region: '', model: 'a/x', route: 'x', companyId: 8n, state: 'complete' },
    ]);
    expect(
      b.look((db) => db.prepare('SELECT body FROM v4_company ORDER BY company_id').pluck().all()),
    ).toEqual(['{"name":"Seven"}', '{"id":8}']);
  });

  it('drops what a complete new walk no longer shows, with everything that hangs on it', async () => {
    const b = bench();
    const child = { svcId: 1n, platformId: 'line' };
    const service = v4Service({ [V4_LIST]: records(10).map((record) => ({ ...record, children: [child] })) });
    await b.run(service, 'v4');
    service.lists.set(V4_LIST, records(3, 5));
    const { streams } = await b.run(service, 'v4');
    expect(streams).toMatchObject([{ state: 'complete', uniqueRecords: 3, records: 3 }]);
    expect(b.look(storedIds)).toEqual([5n, 6n, 7n]);
    expect(b.look(storedPayloads)).toHaveLength(3);
    expect(b.look((db) => db.prepare('SELECT count(*) FROM child').pluck().get())).toBe(0n);
  });

  it('keeps the old records until the new walk has reached its end', async () => {
    const b = bench();
    const service = v4Service({ [V4_LIST]: records(10) });
    await b.run(service, 'v4');
    service.lists.set(V4_LIST, records(9, 5));
    service.fault = ({ request }) =>
      request.cursor === null ? null : { kind: 'throw', error: httpError(500) };
    expect((await b.run(service, 'v4')).streams).toMatchObject([{ state: 'failed', uniqueRecords: 3 }]);
    expect(b.look(storedIds)).toHaveLength(10);
    service.fault = () => null;
    await b.run(service, 'v4');
    expect(b.look(storedIds)).toEqual(records(9, 5).map(({ svcId }) => svcId));
  });

  it('drops the records of a list that is gone', async () => {
    const b = bench();
    const service = v4Service({ [V4_LIST]: records(4) });
    await b.run(service, 'v4');
    service.lists.delete(V4_LIST);
    expect((await b.run(service, 'v4')).streams).toMatchObject([{ state: 'absent', uniqueRecords: 0 }]);
    expect(b.look(storedIds)).toEqual([]);
  });

  it('drops the lists of companies that V4 no longer names', async () => {
    const b = bench();
    const service = v4Service({ [V4_LIST]: records(4), 'v4  accounting/invoices 8': records(2) });
    service.companies.push({ companyId: 8n, raw: Buffer.from('{}') });
    await b.run(service, 'v4');
    service.companies.shift();
    const { streams } = await b.run(service, 'v4');
    expect(streams.map(({ companyId }) => companyId)).toEqual([8n]);
    expect(b.look(storedIds)).toEqual([1n, 2n]);
    expect(b.look((db) => db.prepare('SELECT company_id FROM v4_company').pluck().all())).toEqual([8n]);
  });

  it('reads the lists of known companies again also where there is a new one', async () => {
    const b = bench();
    const service = v4Service({ [V4_LIST]: records(2), 'v4  accounting/invoices 8': records(2) });
    await b.run(service, 'v4');
    service.companies.push({ companyId: 8n, raw: Buffer.from('{}') });
    service.calls.length = 0;
    await b.run(service, 'v4');
    expect(service.calls.map(({ stream }) => stream.companyId)).toEqual([7n, 8n]);
    // an id may be that of a record in either
    expect(b.look(storedIds)).toEqual([1n, 1n, 2n, 2n]);
  });

  it('does not take a list for read while it is being dropped', async () => {
    const b = bench();
    const service = v4Service({ [V4_LIST]: records(4) });
    await b.run(service, 'v4');
    service.companies.shift();
    const stop = new AbortController();
    const onProgress = ({ kind }: ProgressEvent) => (kind === 'step' ? stop.abort() : undefined);
    expect(await errorOf(b.run(service, 'v4', { signal: stop.signal, onProgress }))).toMatchObject({
      code: 'interrupted',
    });
    expect(b.look((db) => listStreams(db).map(({ state }) => state))).toEqual(['running']);
    const before = b.look(readExportSeq);
    expect((await b.run(service, 'v4')).streams).toEqual([]);
    expect(b.look(storedIds)).toEqual([]);
    expect(b.look(readExportSeq)).toBeGreaterThan(before);
  });

  it.each([1, 2])(
    'reads a list that returns while it is being dropped, after %i readings',
    async (readings) => {
      const b = bench();
      const service = v4Service({ [V4_LIST]: records(7) });
      for (let at = 0; at < readings; at++) await b.run(service, 'v4');
      const companies = service.companies.splice(0);
      const stop = new AbortController();
      // after the first transaction, which deletes the records
      const onProgress = ({ kind }: ProgressEvent) =>
        kind === 'step' ? queueMicrotask(() => stop.abort()) : undefined;
      await errorOf(b.run(service, 'v4', { signal: stop.signal, onProgress }));
      expect(b.look(storedIds)).toEqual([]);
      service.companies.push(...companies);
      const { streams } = await b.run(service, 'v4');
      expect(streams).toMatchObject([{ state: 'complete', uniqueRecords: 7, records: 7 }]);
      expect(b.look(storedIds)).toHaveLength(7);
    },
  );

  it('leaves V3 alone', async () => {
    const b = bench();
    await b.run(createFakeService({ [V3_LIST]: records(4) }));
    const before = b.look(storedRecords);
    await b.run(v4Service({}), 'v4');
    expect(b.look(storedRecords)).toEqual(before);
  });

  it('makes a remap stale also where V4 lists no company', async () => {
    const b = bench();
    const service = createFakeService();
    await b.run(service, 'v4');
    const before = b.look(readExportSeq);
    await b.run(service, 'v4');
    expect(b.look(readExportSeq)).toBeGreaterThan(before);
  });

  it('keeps a completion record of the company list', async () => {
    const b = bench();
    const service = v4Service({ [V4_LIST]: records(2) });
    const list = () =>
      b.look((db) =>
        db
          .prepare(`SELECT model, state, end_reason, pages, unique_records, total_count_last FROM stream
            WHERE generation = 'v4' AND company_id IS NULL`)
          .get(),
      );
    await b.run(service, 'v4');
    const row = { model: 'core/companies', pages: 1n, unique_records: 1n, total_count_last: 1n };
    expect(list()).toEqual({ ...row, state: 'complete', end_reason: 'end_of_list' });
    service.reading = () => ({
      state: 'short',
      walks: [
        { pages: 1, totalCount: 2, added: 1 },
        { pages: 1, totalCount: 2, added: 0 },
      ],
      arrived: 2,
    });
    await b.run(service, 'v4');
    expect(list()).toEqual({
      ...row,
      state: 'short',
      end_reason: 'count_disputed',
      pages: 2n,
      total_count_last: 2n,
    });
    for (const code of ['cursor_loop', 'cursor_expired', 'network'] as const) {
      const failing = { ...service, fetchV4Companies: () => Promise.reject(new SvcError(code, 'No end.')) };
      const before = b.look(readExportSeq);
      expect(await errorOf(b.run(failing, 'v4'))).toMatchObject({ code });
      expect(b.look(readExportSeq)).toBeGreaterThan(before);
      expect(list()).toMatchObject({ state: 'failed', end_reason: code });
    }
    expect(b.look(storedIds)).toEqual([1n, 2n]);
    service.reading = () => null;
    await b.run(service, 'v4');
    expect(list()).toBeUndefined();
  });

  it('says so when V4 lists no company', async () => {
    const b = bench();
    expect(await b.run(createFakeService(), 'v4')).toMatchObject({ complete: true, streams: [] });
    expect(b.events).toContainEqual({ kind: 'note', level: 'warning', text: 'V4 lists no companies.' });
  });
});
