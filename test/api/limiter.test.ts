import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HostLimiter, type LimiterOptions, type Sleep } from '../../src/api/hosts.js';
import { SvcError } from '../../src/errors.js';
import { codeOf } from '../support/code-of.js';
import { VirtualTime } from './support/virtual-time.js';

/** A limiter whose requests all have one signal. */
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
    ...options,
  });
  const run = <T>(task: () => Promise<T>): Promise<T> => limiter.run(task, stop.signal);
  return { time, limiter, stop, run };
}

/** When each of so many requests started, each taking `tookMs`. */
async function startsOf(
  { time, run }: ReturnType<typeof setUp>,
  count: number,
  tookMs = 0,
): Promise<readonly number[]> {
  const starts: number[] = [];
  const all = Array.from({ length: count }, () =>
    run(async () => {
      starts.push(time.clock.now());
      if (tookMs > 0) await time.pass(tookMs);
    }),
  );
  await time.run(Promise.all(all));
  return starts;
}

/** The most starts in the shortest time that a whole number of them may take. */
function mostAtOnce(starts: readonly number[], requestsPerSecond: number): number {
  const spanMs = (1000 * Math.ceil(requestsPerSecond)) / requestsPerSecond;
  let most = 0;
  for (let from = 0, to = 0; to < starts.length; to++) {
    while ((starts[to] ?? 0) - (starts[from] ?? 0) >= spanMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

function mostInASecond(starts: readonly number[]): number {
  return mostAtOnce(starts, 1);
}

describe('requests per second', () => {
  it('are never exceeded, and missed by less than 3 %', async () => {
    for (const requestsPerSecond of [0.5, 1, 2, 2.5, 3, 7, 20, 50, 333]) {
      const count = Math.max(20, Math.ceil(requestsPerSecond * 4));
      const starts = await startsOf(setUp({ requestsPerSecond, concurrency: 100 }), count);
      const elapsed = (starts.at(-1) ?? 0) - (starts[0] ?? 0);
      expect(mostAtOnce(starts, requestsPerSecond)).toBeLessThanOrEqual(Math.ceil(requestsPerSecond));
      expect((count - 1) / (elapsed / 1000)).toBeGreaterThan(requestsPerSecond * 0.97);
    }
  });

  it('are never exceeded with late timers, work that stalls and pauses', async () => {
    let starts = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(0.5, 1, 2.5, 7, 20, 50, 333),
        fc.array(fc.tuple(fc.nat(3000), fc.double({ min: 0, max: 1, noNaN: true })), {
          minLength: 1,
          maxLength: 4,
        }),
        async (requestsPerSecond, pauses) => {
          const time = new VirtualTime();
          let late = 0;
          const sleep: Sleep = (ms, signal) =>
            time.sleep(ms + (late++ % 7) + (late % 31 === 0 ? 400 : 0), signal);
          const limits = { requestsPerSecond, concurrency: 1000, clock: time.clock, sleep };
          const set = { ...setUp(limits), time };
          const found: number[] = [];
          for (const [pauseMs, share] of pauses) {
            await time.run(time.pass(pauseMs * share));
            found.push(...(await startsOf(set, Math.ceil(requestsPerSecond * 1.5))));
          }
          expect(mostAtOnce(found, requestsPerSecond)).toBeLessThanOrEqual(Math.ceil(requestsPerSecond));
          starts += found.length;
        },
      ),
      { numRuns: 40 },
    );
    process.stdout.write(`requests per second: ${starts} starts, none too early\n`);
  });

  it('make nothing up for after a wait', async () => {
    const set = setUp({ requestsPerSecond: 50, concurrency: 1000 });
    const starts: number[] = [];
    const all = Array.from({ length: 40 }, (_, index) =>
      set.run(async () => {
        starts.push(set.time.clock.now());
        if (index === 10) set.limiter.hold(900);
      }),
    );
    await set.time.run(Promise.all(all));
    expect(mostAtOnce(starts, 50)).toBeLessThanOrEqual(50);
    const afterWait = starts.slice(11);
    expect((afterWait.at(-1) ?? 0) - (afterWait[0] ?? 0)).toBeGreaterThan(28 * 20 - 24);
  });
});

describe('concurrency', () => {
  it('is never exceeded', async () => {
    const { time, run } = setUp({ concurrency: 3, requestsPerSecond: 1000 });
    let running = 0;
    let most = 0;
    const all = Array.from({ length: 30 }, () =>
      run(async () => {
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
      set.run(async () => {
        starts.push(set.time.clock.now());
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
    expect(codeOf(() => set.limiter.hold(waitMs))).toBe('wait_too_long');
    const outcomes = await set.time.run(
      Promise.allSettled([1, 2, 3].map(() => set.run(async () => 'asked'))),
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
    const waiting = [1, 2, 3].map(() => set.run(async () => 'asked'));
    const reason = new SvcError('interrupted', 'Interrupted.');
    const outcomes = Promise.allSettled(waiting);
    await new Promise((resolve) => setImmediate(resolve));
    set.stop.abort(reason);
    expect(await outcomes).toEqual(waiting.map(() => ({ status: 'rejected', reason })));
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
    const { limiter } = setUp({ concurrency: 1, attempts: 3 });
    while (limiter.takeRetry());
    limiter.succeed();
    expect(limiter.takeRetry()).toBe(false);
    limiter.succeed();
    expect(limiter.takeRetry()).toBe(true);
    for (let i = 0; i < 100; i++) limiter.succeed();
    expect([1, 2, 3].map(() => limiter.takeRetry())).toEqual([true, true, false]);
  });
});
