import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { Writable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HostLimits } from '../../src/api/limiter.js';
import type { Exporter, ExportRequest } from '../../src/commands/export-thread.js';
import type { ApiIo } from '../../src/commands/with-api.js';
import type { Generation, ProgressEvent } from '../../src/domain.js';
import type { ErrorCode } from '../../src/errors.js';
import type { PageSource } from '../../src/export/prefetch.js';
import type { ExportSummary } from '../../src/export/run-export.js';
import { config } from './config.js';
import { createFakeService, type FakeItem } from './fake-service.js';
import { type Bench, bench, records, storedRecords, V3_LIST, V4_LIST, v4Service } from './support.js';

/** The thread runs what was built, so this side of it must, too. */
async function fromDist<T>(path: string): Promise<T> {
  return (await import(new URL(`../../dist/${path}`, import.meta.url).href)) as T;
}

const { holdInThread } =
  await fromDist<typeof import('../../src/commands/export-thread.js')>('commands/export-thread.js');
const { createPageSupply } =
  await fromDist<typeof import('../../src/export/prefetch.js')>('export/prefetch.js');
const { SvcError } = await fromDist<typeof import('../../src/errors.js')>('errors.js');

function errorOfDist(code: ErrorCode, facts = {}): Error {
  return new SvcError(code, `It was ${code}.`, { hint: 'Mend it.', facts });
}

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });

/** A thread on a bench's database. */
function threadOn(b: Bench) {
  const events: ProgressEvent[] = [];
  const stop = new AbortController();
  const io: ApiIo = {
    stdout: nowhere,
    stderr: nowhere,
    env: {},
    clock: b.clock,
    isTty: false,
    width: 80,
    color: false,
    signal: stop.signal,
    onProgress: (event) => events.push(event),
    hostLimits: new HostLimits(),
    runUninterruptible: async (work) => work(),
  };
  const request: ExportRequest = { config: config(), models: [], companies: [], restart: false };
  const hold = { file: b.file, mode: 'create', command: 'export', nowMs: 0 } as const;
  const within = <T>(work: (exporter: Exporter, io: ApiIo) => Promise<T>) => holdInThread(hold, io, work);
  const run = (source: PageSource, generation: Generation = 'v3'): Promise<ExportSummary> =>
    within((exporter) => exporter(generation, request, createPageSupply(source, b.clock)));
  return { events, stop, within, run };
}

/** With children, rejected objects, deleted ones and more bytes than a page's first columns expect. */
function mixedItems(count: number): FakeItem[] {
  return records(count).map((record, at): FakeItem => {
    if (at % 11 === 10) return { rejected: 'no_svc_id', raw: `{"at":${at},"é":"ü"}` };
    const children = Array.from({ length: at % 4 }, (_, kid) => ({
      svcId: BigInt(at * 10 + kid),
      platformId: `k${kid}`.repeat(at % 50),
    }));
    return { ...record, platformId: at % 7 === 0 ? null : `p${'é'.repeat(at % 9)}${at}`, children };
  });
}

function look(b: Bench) {
  return b.look((db) => ({
    records: storedRecords(db),
    rejected: db
      .prepare('SELECT model, page, position, reason, raw FROM rejected ORDER BY page, position')
      .all(),
    streams: db.prepare('SELECT state, pages, records, unique_records, rejected FROM stream').all(),
  }));
}

describe('an export with the database in a thread of its own', () => {
  it.each([1, 7, 100])('stores what one within a single thread stores, in pages of %i', async (size) => {
    const items = mixedItems(500);
    const [here, there] = [bench(), bench()];
    for (const b of [here, there]) {
      const service = createFakeService({ [V3_LIST]: items });
      service.pageSize = () => size;
      const { complete } = await (b === here ? here.run(service) : threadOn(there).run(service));
      expect(complete).toBe(true);
    }
    expect(look(there)).toEqual(look(here));
    expect(look(there).records).toHaveLength(455);
  });

  it('keeps bodies whole that share their memory with others', async () => {
    const service = createFakeService({ [V3_LIST]: records(20) });
    const source: PageSource = {
      ...service,
      fetchPage: async (request) => {
        const page = await service.fetchPage(request);
        const { body } = page.columns;
        const shared = new Uint8Array(body.length + 64).fill(0x58);
        shared.set(body, 32);
        const own = shared.subarray(32, 32 + body.length);
        return { ...page, columns: { ...page.columns, body: own } };
      },
    };
    const b = bench();
    await threadOn(b).run(source);
    expect(look(b).records.map(({ body }) => body)).toEqual(
      records(20).map(({ svcId }) => expect.stringContaining(`${svcId}`)),
    );
    expect(look(b).records.every(({ body }) => body?.includes('X') === false)).toBe(true);
  });

  it('tells pages, ends and the companies of V4 across', async () => {
    const b = bench();
    const thread = threadOn(b);
    const summary = await thread.run(v4Service({ [V4_LIST]: records(10) }), 'v4');
    expect(summary).toMatchObject({ complete: true, firstError: null });
    expect(summary.streams).toMatchObject([{ companyId: 7n, uniqueRecords: 10, state: 'complete' }]);
    const arrived = thread.events.filter((event) => event.kind === 'page').map((event) => event.records);
    expect(arrived).toEqual([3, 3, 3, 1]);
  });

  it('hands over an error of one list with what is known of it', async () => {
    const service = createFakeService({ [V3_LIST]: records(9) });
    const error = errorOfDist('http_status', { status: 500, requestId: 'r-1' });
    service.fault = ({ number }) => (number === 1 ? { kind: 'throw', error } : null);
    const b = bench();
    const summary = await threadOn(b).run(service);
    expect(summary.complete).toBe(false);
    expect(summary.firstError).toBeInstanceOf(SvcError);
    expect(summary.firstError).toMatchObject({ code: 'http_status', message: 'It was http_status.' });
    expect(look(b).records).toHaveLength(3);
    service.fault = () => null;
    expect((await threadOn(b).run(service)).complete).toBe(true);
    expect(look(b).records).toHaveLength(9);
  });

  it.each([
    ['refused keys', () => errorOfDist('auth'), { code: 'auth', hint: 'Mend it.' }],
    ['faults of the program', () => new TypeError('no such thing'), { message: 'TypeError: no such thing' }],
  ])('ends with %s of pages and of the list of companies', async (_, make, expected) => {
    const service = createFakeService({ [V3_LIST]: records(9) });
    service.fault = ({ number }) => (number === 1 ? { kind: 'throw', error: make() } : null);
    await expect(threadOn(bench()).run(service)).rejects.toMatchObject(expected);
    const v4 = { ...v4Service({}), fetchV4Companies: () => Promise.reject(make()) };
    await expect(threadOn(bench()).run(v4, 'v4')).rejects.toMatchObject(expected);
  });

  it('tells where and why an error happened over there', async () => {
    const service = createFakeService({ [V3_LIST]: records(9) });
    const cause = new SvcError('disk', 'It was full.', { cause: new Error('ENOSPC') });
    const error = new SvcError('timeout', 'Too late.', { cause });
    service.fault = ({ number }) => (number === 1 ? { kind: 'throw', error } : null);
    const { firstError } = await threadOn(bench()).run(service);
    expect(firstError).toMatchObject({ code: 'timeout', stack: error.stack });
    expect(firstError?.cause).toMatchObject({ code: 'disk', cause: { message: 'Error: ENOSPC' } });
  });

  it('does not hide that the database could not be released', async () => {
    const b = bench();
    mkdirSync(`${b.file}.lock`);
    await expect(threadOn(b).within(async () => 'done')).rejects.toThrow(/EISDIR|directory/);
    const failed = threadOn(b).within(() => Promise.reject(new Error('an error before that')));
    await expect(failed).rejects.toThrow('an error before that');
  });

  it('releases the database when the work fails on this side', async () => {
    const b = bench();
    const failed = threadOn(b).within(() => Promise.reject(new Error('no keys')));
    await expect(failed).rejects.toThrow('no keys');
    expect(look(b).records).toEqual([]);
  });

  it('stops work that waits for something else when it dies', async () => {
    const post = vi.spyOn(Worker.prototype, 'postMessage');
    onTestFinished(() => post.mockRestore());
    const threads = post.mock.contexts as Worker[];
    const b = bench();
    const begun = threadOn(b).within(async (exporter, { signal }) => {
      const service = createFakeService({ [V3_LIST]: records(3) });
      await exporter(
        'v3',
        { config: config(), models: [], companies: [], restart: false },
        createPageSupply(service, { now: () => 0 }),
      );
      void threads.at(-1)?.terminate();
      await once(signal, 'abort');
      throw new Error('the wait was broken off');
    });
    await expect(begun).rejects.toMatchObject({
      code: 'internal',
      message: 'The export thread ended with code 1.',
    });
    expect(existsSync(`${b.file}.lock`)).toBe(false);
  });
});
