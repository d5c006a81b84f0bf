import { describe, expect, it } from 'vitest';
import { watermarkOf } from '../../src/export/decide-page.js';
import { createFakeService, type FakeService } from './fake-service.js';
import { bench, records, storedIds, V3_LIST } from './support.js';

const HOUR_MS = 3_600_000;
const START_MS = Date.parse('2001-09-09T01:46:40Z');

describe('the watermark of a page', () => {
  // asked for at 1000 and stored at 1030 by the local clock
  it.each<[string, number | null, number | null, number | null]>([
    ['the clocks agree: the answer less the duration of the request', 1020, 700, 990],
    ['the local clock is fast: the answer less the duration', 220, 100, 190],
    ['the local clock is slow: its own time, which is earlier', 9020, 700, 1000],
    ['no clock told: the latest update time on the page', null, 700, 700],
    ['no clock told, an update time ahead of the local clock: the local time', null, 9000, 1000],
    ['neither clock nor update time: unknown', null, null, null],
    ['a clock told and no update time: the answer less the duration', 1020, null, 990],
  ])('%s', (_, servedMs, latestUpdateMs, expected) => {
    expect(watermarkOf({ askedMs: 1000, nowMs: 1030, servedMs, latestUpdateMs })).toBe(expected);
  });

  it('does not move later where the local clock was set back during the request', () => {
    const page = { askedMs: 1000, nowMs: 400, servedMs: 900, latestUpdateMs: null };
    expect(watermarkOf(page)).toBe(900);
  });
});

/** A record that comes to the front of the list, which is paged already, with the third request. */
function addBehind(service: FakeService, nowMs: () => number): void {
  service.totalCount = () => null;
  service.onCall = ({ number }) => {
    const added = { svcId: 99n, companyId: 7n, platformId: 'p99', updatedMs: nowMs() };
    if (number === 2) service.lists.get(V3_LIST)?.unshift(added);
  };
}

describe('a record added while a list is paged', () => {
  const clocks = [
    ['right', 0],
    ['two hours fast', 2 * HOUR_MS],
    ['two hours slow', -2 * HOUR_MS],
  ] as const;
  const tellings = [
    ['tells its time', true],
    ['tells no time', false],
  ] as const;
  it.each(
    clocks.flatMap(([clock, offMs]) =>
      tellings.map(([telling, tells]) => [clock, telling, offMs, tells] as const),
    ),
  )('is found where the local clock is %s and the service %s', async (_clock, _telling, offMs, tells) => {
    const b = bench();
    const serviceMs = () => b.clock.now() - offMs;
    const old = records(10).map((record) => ({ ...record, updatedMs: START_MS - offMs - HOUR_MS }));
    const service = createFakeService({ [V3_LIST]: old });
    service.now = () => (tells ? serviceMs() : null);
    addBehind(service, serviceMs);
    expect((await b.run(service)).streams).toMatchObject([{ state: 'complete', uniqueRecords: 11 }]);
    expect(b.look(storedIds)).toContain(99n);
  });

  it.each(clocks)('is found by a top-up where the clock of the first export was %s', async (_, offMs) => {
    const b = bench();
    const service = createFakeService({ [V3_LIST]: records(10) });
    service.now = () => b.clock.now() - offMs;
    await b.run(service);
    b.clock.advance(60_000 - offMs);
    service.now = () => b.clock.now();
    const list = service.lists.get(V3_LIST);
    list?.unshift({ svcId: 99n, companyId: 7n, platformId: 'p99', updatedMs: b.clock.now() - 30_000 });
    await b.run(service);
    expect(b.look(storedIds)).toContain(99n);
  });

  it('is found where the service tells neither its time nor when records changed', async () => {
    const b = bench();
    const old = records(10).map((record) => ({ ...record, updatedMs: null }));
    const service = createFakeService({ [V3_LIST]: old });
    service.now = () => null;
    addBehind(service, () => b.clock.now());
    await b.run(service);
    expect(b.look(storedIds)).toContain(99n);
  });
});
