import { describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { config, pair } from './config.js';
import { createFakeService, type FakeService, httpError } from './fake-service.js';
import { type Bench, bench, errorOf, records, storedIds, V3_LIST, V4_LIST, v4Service } from './support.js';

describe('an unfinished export', () => {
  it('goes on from its cursor without asking again for what it has', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    service.fault = ({ number }) => (number === 2 ? { kind: 'throw', error: new Error('crash') } : null);
    await expect(b.run(service)).rejects.toThrow('crash');
    expect(b.look(storedIds)).toHaveLength(6);
    service.fault = () => null;
    service.calls.length = 0;
    expect((await b.run(service)).streams).toMatchObject([{ state: 'complete', records: 10, duplicates: 0 }]);
    expect(service.calls[0]?.cursor).toBe('6:1');
  });

  it('stops at once when interrupted, stays running, and can be resumed', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    const stop = new AbortController();
    service.onCall = ({ number }) => {
      if (number === 2) stop.abort();
    };
    const error = await errorOf(b.run(service, 'v3', { signal: stop.signal }));
    expect(error).toMatchObject({ code: 'interrupted', exitCode: 130 });
    expect(b.look((db) => db.prepare('SELECT state FROM stream').pluck().all())).toEqual(['running']);
    // the one that was being asked for when the signal came may have left
    expect(service.calls.length).toBeLessThan(5);
    service.onCall = () => {};
    await b.run(service);
    expect(b.look(storedIds)).toHaveLength(10);
  });

  it('does not wait for an answer that is under way when interrupted', async () => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    const stop = new AbortController();
    const hanging = {
      ...service,
      fetchPage: () => new Promise<never>(() => setImmediate(() => stop.abort())),
    };
    expect(await errorOf(b.run(hanging, 'v3', { signal: stop.signal }))).toMatchObject({
      code: 'interrupted',
    });
  });

  it('stops everything when the key is refused', async () => {
    const models = Array.from({ length: 40 }, (_, at) => pair(`a/x${at}`));
    const b = bench(config({ models }));
    const service = createFakeService();
    const refused = new SvcError('auth', 'The key was refused.');
    service.fault = ({ number }) => (number === 5 ? { kind: 'throw', error: refused } : null);
    const error = await errorOf(b.run(service));
    expect(error).toBe(refused);
    expect(service.calls.length).toBeLessThan(12);
    const states = b.look((db) => db.prepare('SELECT DISTINCT state FROM stream').pluck().all());
    expect(states.sort()).toEqual(['absent', 'running']);
  });

  it('does not read again what it has read', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const service = createFakeService({ 'v3 eu a/x all': records(2), 'v3 eu b/x all': records(2) });
    service.fault = ({ request }) =>
      request.stream.model === 'b/x' ? { kind: 'throw', error: httpError(500) } : null;
    const asked = async () => {
      service.calls.length = 0;
      await b.run(service);
      return [...new Set(service.calls.map(({ stream }) => stream.model))];
    };
    expect(await asked()).toEqual(['a/x', 'b/x']);
    expect(await asked()).toEqual(['b/x']);
    expect(await asked()).toEqual(['b/x']);
  });

  it.each([
    { why: 'with --restart', laterMs: 0, restart: true },
    { why: 'that has become old meanwhile', laterMs: 13 * 3_600_000, restart: false },
  ])('reads a finished list again $why', async ({ laterMs, restart }) => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const service = createFakeService({ 'v3 eu a/x all': records(2), 'v3 eu b/x all': records(2) });
    service.fault = ({ request }) =>
      request.stream.model === 'b/x' ? { kind: 'throw', error: httpError(500) } : null;
    await b.run(service);
    b.clock.advance(laterMs);
    service.calls.length = 0;
    await b.run(service, 'v3', { restart });
    expect(service.calls.map(({ stream }) => stream.model)).toContain('a/x');
  });

  it.each([
    { settled: 5, expected: ['a/x', 'b/x'] },
    { settled: 1, expected: ['a/x', 'b/x'] },
    { settled: 2, expected: ['b/x'] },
    { settled: undefined, expected: ['b/x'] },
  ])('reads a V4 list again if the backfill went on afterwards: 2, then $settled', async (given) => {
    const b = bench(config({ models: [pair('a/x', 'x'), pair('b/x', 'y')] }));
    const service = v4Service({ 'v4  a/x 7': records(2), 'v4  b/x 7': records(2) });
    service.fault = ({ request }) =>
      request.stream.model === 'b/x' ? { kind: 'throw', error: httpError(500) } : null;
    await b.run(service, 'v4');
    service.fault = () => null;
    service.calls.length = 0;
    const counts = { 'a/x of company 7': given.settled ?? 0, 'b/x of company 7': 2 };
    const settledCounts = given.settled === undefined ? undefined : new Map(Object.entries(counts));
    await b.run(service, 'v4', { settledCounts });
    expect([...new Set(service.calls.map(({ stream }) => stream.model))].sort()).toEqual(given.expected);
  });
});

describe('a narrowed export', () => {
  it('reads only the models and companies that are named', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const service = v4Service({});
    service.companies.push({ companyId: 8n, raw: Buffer.from('{}') });
    const summary = await b.run(service, 'v4', { onlyModels: ['b/x'], onlyCompanies: [8n] });
    expect(service.calls.map(({ stream }) => [stream.model, stream.companyId])).toEqual([['b/x', 8n]]);
    expect(summary.complete).toBe(true);
  });

  it('reads V3 lists of all companies, whichever are named', async () => {
    const service = createFakeService({ [V3_LIST]: records(4) });
    await bench().run(service, 'v3', { onlyCompanies: [9n] });
    expect(service.calls[0]?.stream.companyId).toBeNull();
  });

  it('leaves the others known as unread', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/x')] }));
    const { streams } = await b.run(createFakeService(), 'v3', { onlyModels: ['b/x'] });
    expect(streams.map(({ model, state }) => [model, state])).toEqual([
      ['a/x', 'running'],
      ['b/x', 'absent'],
    ]);
  });

  it('refuses a selection that is empty', async () => {
    expect(await errorOf(bench().run(createFakeService(), 'v3', { onlyModels: ['z'] }))).toMatchObject({
      code: 'usage',
    });
  });
});

describe('the configuration an export was made with', () => {
  const before = { 'v3.baseUrl': 'https://a', 'v4.baseUrl': 'https://b', fieldPrefix: 'svc_' };
  const refused = async (
    b: Bench,
    service: FakeService,
    generation: 'v3' | 'v4',
    restart: boolean,
    now: object,
  ) => {
    const fingerprint = { ...before, ...now };
    const error: SvcError | null = await errorOf(b.run(service, generation, { fingerprint, restart }));
    return error === null ? null : [error.code, error.message.includes(' → ')];
  };

  it('must be the same the next time, but for what V4 is read with on a restart', async () => {
    const b = bench();
    const service = v4Service({ [V3_LIST]: records(4), [V4_LIST]: records(4) });
    await b.run(service, 'v3', { fingerprint: before });
    await b.run(service, 'v4', { fingerprint: before });
    const no = ['other_configuration', true];
    expect(await refused(b, service, 'v3', false, { 'v3.baseUrl': 'https://c' })).toEqual(no);
    expect(await refused(b, service, 'v3', true, { 'v3.baseUrl': 'https://c' })).toEqual(no);
    expect(await refused(b, service, 'v4', true, { fieldPrefix: 'x_' })).toEqual(no);
    expect(await refused(b, service, 'v4', false, { 'v4.baseUrl': 'https://c' })).toEqual(no);
    expect(await refused(b, service, 'v3', true, { 'v4.baseUrl': 'https://c' })).toEqual(no);
    expect(await refused(b, service, 'v3', false, { 'v4.baseUrl': 'https://c' })).toEqual(no);
    service.calls.length = 0;
    expect(await refused(b, service, 'v4', true, { 'v4.baseUrl': 'https://c' })).toBeNull();
    expect(service.calls).toHaveLength(2);
    expect(await refused(b, service, 'v4', false, { 'v4.baseUrl': 'https://c' })).toBeNull();
  });

  it('is changed for all of V4, also where only a part of it is read anew', async () => {
    const b = bench(config({ models: [pair('a/x'), pair('b/y')] }));
    const service = v4Service({ 'v4  a/x 7': records(4), 'v4  b/y 7': records(4) });
    await b.run(service, 'v4', { fingerprint: before });
    const fingerprint = { ...before, 'v4.baseUrl': 'https://c' };
    const { streams } = await b.run(service, 'v4', { fingerprint, restart: true, onlyModels: ['a/x'] });
    expect(streams.map(({ state }) => state)).toEqual(['complete', 'running']);
  });

  it('may be mended as long as no record is stored, and then everything is read anew', async () => {
    const b = bench(config({ models: [pair('accounting/invoices'), pair('b/y')] }));
    const wrong = createFakeService({ [V3_LIST]: [] });
    wrong.fault = ({ request }) =>
      request.stream.model === 'b/y' ? { kind: 'throw', error: httpError(500) } : null;
    await b.run(wrong, 'v3', { fingerprint: { 'v3.baseUrl': 'https://wrong' } });
    const right = createFakeService({ [V3_LIST]: records(4) });
    await b.run(right, 'v3', { fingerprint: { 'v3.baseUrl': 'https://right' } });
    expect(b.look(storedIds)).toHaveLength(4);
  });

  it('may differ for a side that was never exported', async () => {
    const b = bench();
    await b.run(createFakeService(), 'v3', { fingerprint: before });
    expect(await refused(b, v4Service({}), 'v4', false, { 'v4.baseUrl': 'https://c' })).toBeNull();
  });
});
