import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HostLimiter, type LimiterOptions } from '../../src/api/limiter.js';
import { SvcError } from '../../src/errors.js';
import { VirtualTime } from './support/virtual-time.js';

function setUp(options: Partial<LimiterOptions> = {}) {
  const time = new VirtualTime();
  const stop = new AbortController();
  const limiter = new HostLimiter({
    host: 'api.example.com',
    concurrency: 8,
    requestsPerSecond: 20,
    attempts: 6,
    maxWaitMs: 300_000,
    clock: time.clock,
    sleep: time.sleep,
    signal: stop.signal,
    ...options,
  });
  return { time, limiter, stop };
}

/** When each of so many requests started, each taking `tookMs`. */
async function startsOf(
  { time, limiter }: ReturnType<typeof setUp>,
  count: number,
  tookMs = 0,
): Promise<readonly number[]> {
  const starts: number[] = [];
  const all = Array.from({ length: count }, () =>
    limiter.run(async (startedAt) => {
      starts.push(startedAt);
      if (tookMs > 0) await time.pass(tookMs);
    }),
  );
  await time.run(Promise.all(all));
  return starts;
}

/** The largest number of starts within any second. */
function mostInASecond(starts: readonly number[]): number {
  return Math.max(...starts.map((from) => starts.filter((at) => at >= from && at < from + 1000).length));
}

describe('requests per second', () => {
  it('are never exceeded in any second, and missed by less than 3 %', async () => {
    const rates = fc.constantFrom(0.5, 1, 2, 3, 7, 20, 50, 333);
    await fc.assert(
      fc.asyncProperty(rates, async (requestsPerSecond) => {
        const count = Math.max(20, Math.ceil(requestsPerSecond * 4));
        const starts = await startsOf(setUp({ requestsPerSecond, concurrency: 100 }), count);
        const elapsed = (starts.at(-1) ?? 0) - (starts[0] ?? 0);
        expect(mostInASecond(starts)).toBeLessThanOrEqual(Math.max(1, requestsPerSecond));
        expect((count - 1) / (elapsed / 1000)).toBeGreaterThan(requestsPerSecond * 0.97);
      }),
      { numRuns: 16 },
    );
  });

  it('hold with timers that fire up to 10 ms late', async () => {
    const set = setUp({ concurrency: 100 });
    let state = 1;
    const sloppy = new HostLimiter({
      host: 'h',
      concurrency: 100,
      requestsPerSecond: 20,
      attempts: 1,
      maxWaitMs: 1000,
      clock: set.time.clock,
      sleep: (ms, signal) => {
        state = (state * 48_271) % 2_147_483_647;
        return set.time.sleep(ms + (state % 11), signal);
      },
      signal: new AbortController().signal,
    });
    const starts = await startsOf({ ...set, limiter: sloppy }, 200);
    const elapsed = (starts.at(-1) ?? 0) - (starts[0] ?? 0);
    expect(mostInASecond(starts)).toBeLessThanOrEqual(20);
    expect(199 / (elapsed / 1000)).toBeGreaterThan(20 * 0.97);
  });

  it('hold with timers that fire early', async () => {
    const set = setUp();
    const hasty = new HostLimiter({
      host: 'h',
      concurrency: 8,
      requestsPerSecond: 20,
      attempts: 1,
      maxWaitMs: 1000,
      clock: set.time.clock,
      sleep: (ms, signal) => set.time.sleep(ms > 2 ? ms - 1 : ms, signal),
      signal: new AbortController().signal,
    });
    expect(mostInASecond(await startsOf({ ...set, limiter: hasty }, 100))).toBeLessThanOrEqual(20);
  });

  it('do not pile up while nothing is asked', async () => {
    const set = setUp({ concurrency: 100 });
    await startsOf(set, 1);
    await set.time.run(set.time.pass(60_000));
    expect(mostInASecond(await startsOf(set, 60))).toBeLessThanOrEqual(20);
  });
});

describe('concurrency', () => {
  it('is never exceeded', async () => {
    const { time, limiter } = setUp({ concurrency: 3, requestsPerSecond: 1000 });
    let running = 0;
    let most = 0;
    const all = Array.from({ length: 30 }, () =>
      limiter.run(async () => {
        most = Math.max(most, ++running);
        await time.pass(200);
        running--;
      }),
    );
    await time.run(Promise.all(all));
    expect(most).toBe(3);
  });
});

describe('a wait the server asked for', () => {
  it('holds back every request, those already in line too, and does not end in a burst', async () => {
    const set = setUp({ concurrency: 100 });
    const start = set.time.clock.now();
    set.limiter.hold(30_000);
    const starts = await startsOf(set, 60);
    expect(Math.min(...starts)).toBeGreaterThanOrEqual(start + 30_000);
    expect(mostInASecond(starts)).toBeLessThanOrEqual(20);
  });

  it('holds back requests that were waiting for their turn when it came', async () => {
    const set = setUp({ concurrency: 100 });
    const starts: number[] = [];
    let held = 0;
    const all = Array.from({ length: 10 }, (_, index) =>
      set.limiter.run(async (startedAt) => {
        starts.push(startedAt);
        if (index === 2) {
          set.limiter.hold(10_000);
          held = set.time.clock.now() + 10_000;
        }
      }),
    );
    await set.time.run(Promise.all(all));
    expect(starts.slice(3).every((at) => at >= held)).toBe(true);
  });

  it('is only ever prolonged', async () => {
    const set = setUp();
    const start = set.time.clock.now();
    expect(set.limiter.hold(5000)).toBe(true);
    expect(set.limiter.hold(1000)).toBe(false);
    expect((await startsOf(set, 1))[0]).toBeGreaterThanOrEqual(start + 5000);
  });

  it('that is longer than allowed fails every request at once', async () => {
    const set = setUp({ maxWaitMs: 60_000 });
    set.limiter.hold(3_600_000);
    const outcomes = await set.time.run(
      Promise.allSettled([1, 2, 3].map(() => set.limiter.run(async () => 'asked'))),
    );
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'wait_too_long' } });
      expect(outcome.status === 'rejected' && String(outcome.reason)).toContain('3600 s');
    }
    expect(set.time.waits).toEqual([]);
  });

  it('ends when the run is interrupted', async () => {
    const set = setUp();
    set.limiter.hold(60_000);
    const waiting = [1, 2, 3].map(() => set.limiter.run(async () => 'asked'));
    const reason = new SvcError('interrupted', 'Interrupted.');
    const outcomes = Promise.allSettled(waiting);
    await new Promise((resolve) => setImmediate(resolve));
    set.stop.abort(reason);
    expect(await outcomes).toEqual(waiting.map(() => ({ status: 'rejected', reason })));
  });
});

describe('slowing down on 429', () => {
  it('halves the pace once per burst, down to a floor, and finds back', async () => {
    const set = setUp({ concurrency: 100 });
    const paceOf = (starts: readonly number[]): number =>
      ((starts.at(-1) ?? 0) - (starts[0] ?? 0)) / (starts.length - 1);
    const usual = paceOf(await startsOf(set, 40));
    const burst = set.time.clock.now();
    for (let i = 0; i < 8; i++) set.limiter.slowDown(burst);
    const slowed = paceOf(await startsOf(set, 40));
    expect(slowed / usual).toBeGreaterThan(1.8);
    expect(slowed / usual).toBeLessThan(2.3);
    for (let i = 0; i < 200; i++) set.limiter.succeed(set.time.clock.now());
    expect(paceOf(await startsOf(set, 40))).toBeLessThan(usual * 1.05);
  });

  it('is not undone by answers to requests that were under way when it came', async () => {
    const set = setUp({ concurrency: 100 });
    const [before = 0] = await startsOf(set, 1);
    await set.time.run(set.time.pass(1000));
    set.limiter.slowDown(set.time.clock.now());
    for (let i = 0; i < 99; i++) set.limiter.succeed(before);
    const starts = await startsOf(set, 20);
    expect(((starts.at(-1) ?? 0) - (starts[0] ?? 0)) / 19).toBeGreaterThan(90);
  });

  it('starts from the pace that was really kept, not from the one allowed', async () => {
    const set = setUp({ requestsPerSecond: 1000, concurrency: 1 });
    await startsOf(set, 50, 100);
    set.limiter.slowDown(set.time.clock.now());
    const starts = await startsOf(set, 20);
    expect(((starts.at(-1) ?? 0) - (starts[0] ?? 0)) / 19).toBeGreaterThan(150);
  });

  it('never waits longer than five seconds between requests, or than the limit asks', async () => {
    for (const requestsPerSecond of [20, 0.1]) {
      const set = setUp({ requestsPerSecond, concurrency: 100 });
      for (let i = 0; i < 30; i++) {
        await set.time.run(set.time.pass(1));
        set.limiter.slowDown(set.time.clock.now());
      }
      const starts = await startsOf(set, 5);
      const widest = Math.max(...starts.slice(1).map((at, index) => at - (starts[index] ?? 0)));
      expect(widest).toBeLessThanOrEqual(Math.max(5000, 1020 / requestsPerSecond));
    }
  });
});

describe('the retry budget', () => {
  it('covers one round of retries of everything under way, then nothing', () => {
    const { limiter } = setUp({ concurrency: 8, attempts: 6 });
    let taken = 0;
    while (limiter.takeRetry()) taken++;
    expect(taken).toBe(40);
    expect(limiter.takeRetry()).toBe(false);
  });

  it('is refilled by successes only, two for a retry, up to where it began', () => {
    const { limiter, time } = setUp({ concurrency: 1, attempts: 3 });
    const now = time.clock.now();
    while (limiter.takeRetry());
    limiter.succeed(now);
    expect(limiter.takeRetry()).toBe(false);
    limiter.succeed(now);
    expect(limiter.takeRetry()).toBe(true);
    for (let i = 0; i < 100; i++) limiter.succeed(now);
    expect([1, 2, 3].map(() => limiter.takeRetry())).toEqual([true, true, false]);
  });
});
