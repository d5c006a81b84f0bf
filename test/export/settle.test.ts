import { describe, expect, it } from 'vitest';
import {
  addObservation,
  beginSettling,
  hasSettled,
  type Observation,
  waitSettled,
} from '../../src/export/settle.js';
import { config } from './config.js';
import type { createFakeService } from './fake-service.js';
import { bench, errorOf, records, V4_LIST, v4Service } from './support.js';

const LIST = '["v4","","a/x","7"]';

function seen(atMs: number, count: number | null, list = LIST): Observation {
  return { atMs, counts: new Map([[list, count]]) };
}

describe('a backfill that is watched', () => {
  it.each<[string, readonly Observation[], boolean]>([
    ['is not settled at first sight', [seen(0, 5)], false],
    [
      'settles once its counts stayed the same for long enough',
      [seen(0, 5), seen(50, 5), seen(100, 5)],
      true,
    ],
    ['starts again with each change', [seen(0, 5), seen(50, 6), seen(100, 6)], false],
    ['starts again where a list loses records', [seen(0, 5), seen(99, 4), seen(100, 4)], false],
    ['starts again where a list appears', [seen(0, null), seen(60, 0), seen(100, 0)], false],
    [
      'starts again where a list has another name',
      [seen(0, 5), seen(60, 5, '["v4","","b/x","7"]'), seen(100, 5)],
      false,
    ],
  ])('%s', (_, [first, ...more], settled) => {
    if (first === undefined) throw new Error('nothing was seen');
    expect(hasSettled(more.reduce(addObservation, beginSettling(first)), 100)).toBe(settled);
  });
});

/** Waits on a clock that only sleeping moves; `onSleep` changes the service. */
async function wait(
  service: ReturnType<typeof createFakeService>,
  onSleep: (nowMs: number) => void = () => {},
) {
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
