import { describe, expect, it } from 'vitest';
import { waitSettled } from '../../src/export/settle.js';
import { config } from './config.js';
import type { FakeService } from './fake-service.js';
import { bench, errorOf, records, V4_LIST, v4Service } from './support.js';

const V4_OTHER = 'v4  accounting/invoices 8';

/** Waits on a clock that only sleeping moves; `onSleep` changes the service. */
async function wait(service: FakeService, onSleep: (nowMs: number) => void = () => {}) {
  let nowMs = 0;
  const sleep = async (ms: number) => {
    nowMs += ms;
    onSleep(nowMs);
  };
  const clock = { now: () => nowMs };
  const times = { settleMs: 1000, timeoutMs: 10_000 };
  const counts = await waitSettled({
    config: config(),
    api: service,
    ...times,
    clock,
    sleep,
    onProgress: () => {},
  });
  return { counts, nowMs };
}

describe('waiting for a backfill', () => {
  it('ends with the counts that stayed the same; a list that V4 lacks counts as null', async () => {
    const service = v4Service({ [V4_LIST]: records(2) });
    service.companies.push(8n);
    const { counts, nowMs } = await wait(service, (atMs) => {
      if (atMs === 500) service.lists.set(V4_LIST, records(9));
    });
    expect([...counts]).toEqual([
      ['["v4","","accounting/invoices","7"]', 9],
      ['["v4","","accounting/invoices","8"]', null],
    ]);
    expect(nowMs).toBe(1500);
  });

  it.each<[string, number, (lists: FakeService['lists'], atMs: number) => void]>([
    ['once its counts stayed the same for long enough', 1000, () => {}],
    ['later with each change', 1900, (lists, atMs) => atMs <= 900 && lists.set(V4_LIST, records(atMs))],
    ['later where a list loses records', 1900, (lists, atMs) => atMs === 900 && lists.set(V4_LIST, [])],
    ['later where a list disappears', 1900, (lists, atMs) => atMs === 900 && lists.delete(V4_LIST)],
    ['later where a list appears', 1900, (lists, atMs) => atMs === 900 && lists.set(V4_OTHER, [])],
  ])('ends %s', async (_name, endMs, change) => {
    const service = v4Service({ [V4_LIST]: records(2) });
    service.companies.push(8n);
    const { nowMs } = await wait(service, (atMs) => change(service.lists, atMs));
    expect(nowMs).toBe(endMs);
  });

  it('gives up at its time limit, and where there are no counts', async () => {
    const service = v4Service({ [V4_LIST]: records(2) });
    const moving = wait(service, (atMs) => service.lists.set(V4_LIST, records(atMs)));
    expect(await errorOf(moving)).toMatchObject({ code: 'not_settled', exitCode: 5 });
    service.totalCount = () => null;
    expect(await errorOf(wait(service))).toMatchObject({ code: 'not_settled' });
  });

  it('asks for one record of each list', async () => {
    const service = v4Service({ [V4_LIST]: records(2) });
    await wait(service);
    const lists = service.calls.filter(({ pair }) => pair !== null);
    expect(lists.length).toBeGreaterThan(1);
    expect(new Set(lists.map(({ limit }) => limit))).toEqual(new Set([1]));
  });

  it('walks a list anew that moved after an unfinished export had read it, and reads V3 meanwhile', async () => {
    const b = bench();
    const service = v4Service({ [V4_LIST]: records(4), 'v3 eu accounting/invoices all': records(2) });
    await b.run(service, 'v4');
    service.lists.set(V4_LIST, records(6));
    const sleep = async (ms: number) => b.clock.advance(ms);
    const options = { generations: ['v4', 'v3'] as const, wait: { settleMs: 1000, timeoutMs: 9000 }, sleep };
    expect(await b.run(service, 'v4', options)).toMatchObject({
      error: null,
      streams: [{ uniqueRecords: 6 }, {}],
    });
  });
});
