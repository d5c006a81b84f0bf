import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HostLimiter, type LimiterOptions } from '../../src/api/limiter.js';
import { SvcError } from '../../src/errors.js';
import { VirtualTime } from './support/virtual-time.js';

/** Its requests all have one signal. */
class TestLimiter extends HostLimiter {
  readonly stop = new AbortController();

  override run<T>(task: (startedAt: number) => Promise<T>, signal = this.stop.signal): Promise<T> {
    return super.run(task, signal);
  }
}

function setUp(options: Partial<LimiterOptions> = {}) {
  const time = new VirtualTime();
  const limiter = new TestLimiter({
    host: 'api.example.com',
    concurrency: 8,
    requestsPerSecond: 20,
    attempts: 6,
    maxWaitMs: 300_000,
    clock: time.clock,
    sleep: time.sleep,
    ...options,
  });
  return { time, limiter, stop: limiter.stop };
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

/** The most starts, of sorted ones, in the shortest time that a whole number of them may take. */
function mostAtOnce(starts: readonly number[], requestsPerSecond: number): number {
  const spanMs = (1000 * Math.ceil(requestsPerSecond)) / requestsPerSecond;
  let most = 0;
  for (let from = 0, to = 0; to < starts.length; to++) {
    while ((starts[to] ?? 0) - (starts[from] ?? 0) >= spanMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

interface Lateness {
  /** Every timer is late by up to this. */
  readonly lateMs: number;
  /** How often one is late by up to `stallMs` instead. */
  readonly stall: number;
  readonly stallMs: number;
  readonly seed: number;
}

/** A limiter on a machine that is busy with other things. */
function lateSetUp(requestsPerSecond: number, { lateMs, stall, stallMs, seed }: Lateness) {
  const set = setUp();
  let state = (seed % 2_147_483_646) + 1;
  const random = (): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const limiter = new TestLimiter({
    host: 'h',
    concurrency: 1000,
    requestsPerSecond,
    attempts: 1,
    maxWaitMs: 1000,
    clock: set.time.clock,
    sleep: (ms, signal) => set.time.sleep(ms + random() * (random() < stall ? stallMs : lateMs), signal),
  });
  return { ...set, limiter };
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

  it('hold with late timers and work that stalls, in the eyes of the server too', async () => {
    let starts = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(0.5, 1, 2.5, 7, 20, 50, 333),
        fc.record({ stall: fc.constantFrom(0, 0.01, 0.1), seed: fc.nat(), pauses: fc.array(fc.nat(3000)) }),
        async (requestsPerSecond, { stall, seed, pauses }) => {
          const set = lateSetUp(requestsPerSecond, { lateMs: 10, stall, stallMs: 800, seed });
          const found: number[] = [];
          for (const pause of [0, ...pauses]) {
            await set.time.run(set.time.pass(pause));
            found.push(...(await startsOf(set, Math.ceil(requestsPerSecond * 1.5))));
          }
          const arrivals = found.map((at, index) => at + ((index * 7919) % 20)).sort((a, b) => a - b);
          expect(mostAtOnce(found, requestsPerSecond)).toBeLessThanOrEqual(Math.ceil(requestsPerSecond));
          expect(mostAtOnce(arrivals, requestsPerSecond)).toBeLessThanOrEqual(Math.ceil(requestsPerSecond));
          starts += found.length;
        },
      ),
      { numRuns: 60, seed: 20261121 },
    );
    process.stdout.write(`requests per second: ${starts} starts, none too early for a server 20 ms off\n`);
  });

  it.each([20, 50, 333])('keep to %d within 3 % where timers are late and work stalls', async (rate) => {
    const set = lateSetUp(rate, { lateMs: 4, stall: 0.5 / rate, stallMs: 150, seed: 7 });
    const count = Math.ceil(rate * 30);
    const starts = await startsOf(set, count);
    const elapsed = (starts.at(-1) ?? 0) - (starts[0] ?? 0);
    expect((count - 1) / (elapsed / 1000)).toBeGreaterThan(rate * 0.97);
    expect(mostAtOnce(starts, rate)).toBeLessThanOrEqual(Math.ceil(rate));
  });

  it('hold for a server that first has to be connected to, request by request', async () => {
    const set = setUp({ requestsPerSecond: 50, concurrency: 8 });
    const arrivals: number[] = [];
    const all = Array.from({ length: 200 }, (_, index) =>
      set.limiter.run(async () => {
        // all eight connections are opened by the first eight
        await set.time.pass(index < 8 ? 300 : 5);
        arrivals.push(set.time.clock.now());
        await set.time.pass(10);
      }),
    );
    await set.time.run(Promise.all(all));
    expect(
      mostAtOnce(
        arrivals.sort((a, b) => a - b),
        50,
      ),
    ).toBe(50);
  });

  it('are missed by less than 3 % where answers take their time', async () => {
    const starts = await startsOf(setUp({ requestsPerSecond: 50, concurrency: 8 }), 3000, 100);
    expect(2999 / (((starts.at(-1) ?? 0) - (starts[0] ?? 0)) / 1000)).toBeGreaterThan(50 * 0.97);
  });

  it.each(['a wait', 'a 429'])('make nothing up for after %s', async (event) => {
    const set = lateSetUp(50, { lateMs: 0, stall: 0, stallMs: 0, seed: 1 });
    const starts: number[] = [];
    const all = Array.from({ length: 40 }, (_, index) =>
      set.limiter.run(async (startedAt) => {
        starts.push(startedAt);
        if (index !== 10) return;
        if (event === 'a wait') set.limiter.hold(900);
        // the line is 150 ms late when the answer comes
        else set.time.jump(150);
        if (event === 'a 429') set.limiter.slowDown(set.time.clock.now());
      }),
    );
    await set.time.run(Promise.all(all));
    const gaps = starts.slice(12).map((at, index) => at - (starts[index + 11] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(event === 'a wait' ? 18 : 36);
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
  it('is only ever prolonged', async () => {
    const set = setUp();
    const start = set.time.clock.now();
    expect(set.limiter.hold(5000)).toBe(true);
    expect(set.limiter.hold(1000)).toBe(false);
    expect((await startsOf(set, 1))[0]).toBeGreaterThanOrEqual(start + 5000);
  });

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

  it.each([
    [3_600_000, 'asked to wait 1 h, until'],
    [Number.MAX_SAFE_INTEGER, 'asked to wait 104249991 d 8 h, until'],
  ])('that is longer than allowed fails every request at once: %d ms', async (waitMs, said) => {
    const set = setUp({ maxWaitMs: 60_000 });
    set.limiter.hold(waitMs);
    const outcomes = await set.time.run(
      Promise.allSettled([1, 2, 3].map(() => set.limiter.run(async () => 'asked'))),
    );
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'wait_too_long' } });
      expect(outcome.status === 'rejected' && String(outcome.reason)).toContain(said);
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
  /** The time between starts, ms. */
  const paceOf = (starts: readonly number[]): number =>
    ((starts.at(-1) ?? 0) - (starts[0] ?? 0)) / (starts.length - 1);

  it('halves the pace once per burst, and finds back', async () => {
    const set = setUp({ concurrency: 100 });
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
    expect(paceOf(await startsOf(set, 20))).toBeGreaterThan(90);
  });

  it('starts from the pace that was kept, not from the one allowed', async () => {
    const set = setUp({ requestsPerSecond: 1000, concurrency: 1 });
    await startsOf(set, 50, 100);
    set.limiter.slowDown(set.time.clock.now());
    expect(paceOf(await startsOf(set, 20))).toBeGreaterThan(150);
  });

  it.each([20, 0.1])('of %d a second stops at five seconds, or at what the limit asks', async (rate) => {
    const set = setUp({ requestsPerSecond: rate, concurrency: 100 });
    for (let i = 0; i < 30; i++) {
      await set.time.run(set.time.pass(1));
      set.limiter.slowDown(set.time.clock.now());
    }
    expect(paceOf(await startsOf(set, 5))).toBeCloseTo(Math.max(5000, 1024 / rate), 0);
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
