import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ProgressEvent, progressOf, type StreamKey } from '../../src/domain.js';
import { createProgress, type ProgressOptions, Stage } from '../../src/progress.js';
import { displayWidth } from '../../src/text/text-layout.js';

const INVOICES: StreamKey = { generation: 'v3', region: 'eu', model: 'accounting/invoices', companyId: null };
const STAGES: StreamKey = { generation: 'v4', region: '', model: 'crm/stages', companyId: 7n };

function page(stream: StreamKey, records: number, totalCount: number | null): ProgressEvent {
  return { kind: 'page', stream, records, totalCount };
}

/** The filled cells of the bar in a line; null where it has none. */
function barIn(line: string): number | null {
  return /^(█*)░*/.exec(line)?.[0] ? (/^█*/.exec(line)?.[0].length ?? 0) : null;
}

/** A progress display on a stream of its own, with time that only `pass` moves. */
async function show(more: Partial<ProgressOptions> = {}) {
  const stream = new PassThrough();
  const written: string[] = [];
  stream.on('data', (chunk) => written.push(String(chunk)));
  let nowMs = 0;
  let tick = () => {};
  const progress = await createProgress({
    stream,
    isTty: false,
    width: () => 100,
    color: false,
    quiet: false,
    verbose: false,
    clock: { now: () => nowMs },
    every: (_, work) => {
      tick = work;
      return () => {};
    },
    ...more,
  });
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 200) {
      nowMs += Math.min(200, ms - passed);
      tick();
    }
  };
  return { ...progress, pass, stream, text: () => written.join('') };
}

describe('where there is no terminal', () => {
  it('a plain line comes every ten seconds and one at the end of each stage', async () => {
    const { onProgress, pass, stop, text } = await show();
    onProgress({ kind: 'stage', name: 'export v3' });
    onProgress({ kind: 'step', name: 'lists', done: 0, total: 2 });
    pass(1000);
    onProgress(page(INVOICES, 500, 2000));
    pass(9000);
    onProgress(page(INVOICES, 500, 2000));
    pass(5000);
    onProgress(page(INVOICES, 1000, 2000));
    onProgress({ kind: 'stream', stream: INVOICES, state: 'complete' });
    pass(5000);
    onProgress({ kind: 'stage', name: 'export v4' });
    stop('done');
    expect(text()).toBe(
      [
        'export v3 · 500 records · 50/s · 1 min 10 s left · 0 of 2 lists · 1 page',
        'export v3 · 2,000 records · 100/s · 20 s left · 1 of 2 lists · 3 pages',
        'export v3: 2,000 records received in 3 pages, 20 s',
        'export v4: done in 0 s',
        '',
      ].join('\n'),
    );
  });

  it('two generations that are read at the same time have a line each', async () => {
    const { onProgress, pass, stop, text } = await show();
    for (const generation of ['v3', 'v4'] as const) {
      onProgress({ kind: 'stage', name: `export ${generation}`, generation });
    }
    onProgress({ ...page(INVOICES, 500, null), generation: 'v3' });
    pass(10_000);
    onProgress({ kind: 'end', how: 'done', generation: 'v3' });
    pass(10_000);
    onProgress({ kind: 'stage', name: 'remap' });
    stop('done');
    expect(text().split('\n')).toEqual([
      'export v3 · 500 records · 50/s · 1 page',
      'export v4',
      'export v3: 500 records received in 1 page, 10 s',
      'export v4',
      'export v4: done in 20 s',
      'remap: done in 0 s',
      '',
    ]);
  });

  it('waits are named while they happen', async () => {
    const { onProgress, pass, text } = await show();
    onProgress({ kind: 'stage', name: 'export v3' });
    pass(9000);
    onProgress({ kind: 'wait', host: 'h', waitMs: 13_000, reason: 'V3 answered 429 and asked for it' });
    pass(1000);
    pass(15_000);
    expect(text()).toBe(
      [
        'export v3 · waiting 12 s: V3 answered 429 and asked for it',
        'export v3 · waiting 2 s: V3 answered 429 and asked for it',
        '',
      ].join('\n'),
    );
  });

  it('a failed stage is not called done', async () => {
    const before = await show();
    before.onProgress({ kind: 'stage', name: 'export v3' });
    before.stop('failed');
    expect(before.text()).toBe('');
    const after = await show();
    after.onProgress({ kind: 'stage', name: 'export v3' });
    after.onProgress(page(INVOICES, 5, null));
    after.stop('failed');
    expect(after.text()).toBe('export v3: stopped after 5 records received in 1 page, 0 s\n');
  });
});

describe('how much is said', () => {
  const say = async (more: Partial<ProgressOptions>) => {
    const { onProgress, pass, stop, text } = await show(more);
    onProgress({ kind: 'stage', name: 'export v4' });
    onProgress(page(STAGES, 1, 1));
    onProgress({ kind: 'note', level: 'info', text: 'by the way' });
    onProgress({ kind: 'note', level: 'warning', text: 'beware \u001b[31mof\u202e this' });
    onProgress({ kind: 'stream', stream: STAGES, state: 'complete' });
    pass(20_000);
    stop('done');
    return text();
  };

  it('is warnings only with quiet, and nothing of the API reaches the terminal raw', async () => {
    expect(await say({ quiet: true })).toBe('Warning: beware \\u001b[31mof\\u202e this\n');
  });
});

describe('on a terminal', () => {
  it('one line is drawn over and over, and lines that stay push it away', async () => {
    const { onProgress, pass, stop, text } = await show({ isTty: true, width: () => 80 });
    onProgress({ kind: 'stage', name: 'export v3' });
    onProgress({ kind: 'step', name: 'lists', done: 0, total: 1 });
    onProgress(page(INVOICES, 500, 2000));
    pass(1000);
    onProgress({ kind: 'note', level: 'warning', text: 'look' });
    pass(200);
    stop('done');
    const lines = stripVTControlCharacters(text()).split('\n');
    expect(lines).toEqual([
      expect.stringMatching(
        /█████░{15} export v3 · 500 of 2,000 records · 500\/s · 3 s left.*Warning: look$/,
      ),
      expect.stringMatching(/export v3: 500 records received in 1 page, 1 s$/),
      '',
    ]);
  });

  it('two generations that are read at the same time have a line each', async () => {
    const { onProgress, pass, stop, text } = await show({ isTty: true, width: () => 80 });
    const v3 = progressOf('v3', onProgress);
    const v4 = progressOf('v4', onProgress);
    v3({ kind: 'stage', name: 'export v3' });
    v4({ kind: 'stage', name: 'export v4' });
    v3(page(INVOICES, 500, 2000));
    v4(page(STAGES, 1, 4));
    pass(200);
    const drawn = stripVTControlCharacters(text());
    v3({ kind: 'end', how: 'done' });
    pass(200);
    onProgress({ kind: 'wait', host: 'h', waitMs: 1000, reason: 'V4 answered 503', generation: 'v4' });
    pass(200);
    stop('failed');
    const lines = stripVTControlCharacters(text().slice(text().indexOf('export v3:'))).split('\n');
    expect(drawn).toMatch(/ █{5}░{15} export v3 · 500[^\n]*\n {2}█{5}░{15} export v4 · 1[^\n]*$/);
    expect(lines[0]).toMatch(/^export v3: 500 records received in 1 page, 200 ms/);
    expect(lines.join(' ')).toMatch(/export v4 · waiting 1 s: V4 answered 503/);
    expect(lines.at(-2)).toMatch(/export v4: stopped after 1 record received in 1 page, 600 ms, 1 wait$/);
  });

  it('a bar only grows, whatever the lists report', () => {
    const key = fc.integer({ min: 0, max: 9 }).map((n): StreamKey => ({ ...STAGES, companyId: BigInt(n) }));
    const event: fc.Arbitrary<ProgressEvent> = fc.oneof(
      fc.record({
        kind: fc.constant('page' as const),
        stream: key,
        records: fc.nat(500),
        totalCount: fc.option(fc.nat(5000)),
      }),
      fc.record({
        kind: fc.constant('stream' as const),
        stream: key,
        state: fc.constant('complete' as const),
      }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const stage = new Stage('export v4', 0);
        stage.count({ kind: 'step', name: 'lists', done: 0, total: 10 }, 0);
        let before = 0;
        for (const [at, one] of events.entries()) {
          stage.count(one, at * 1000);
          const bar = barIn(stage.renderBarLine(at * 1000, 100));
          if (bar !== null) expect(bar).toBeGreaterThanOrEqual(before);
          before = bar ?? before;
        }
      }),
    );
  });

  it('goes on after a resume from where it stood, and counts only its own records per second', () => {
    const stage = new Stage('export v3', 0);
    const open = [{ stream: INVOICES, records: 400, totalCount: 1000 }];
    stage.count({ kind: 'resume', lists: 3, records: 600, open }, 0);
    stage.count({ kind: 'step', name: 'lists', done: 0, total: 4 }, 0);
    stage.count(page(INVOICES, 100, 1000), 1000);
    expect(stage.renderBarLine(1000, 120)).toBe(
      '█████████████░░░░░░░ export v3 · 1,100 of 1,600 records · 100/s · 5 s left · 3 of 4 lists · 1 page',
    );
  });

  it('no line is ever wider than the terminal', async () => {
    const key = fc.constantFrom(INVOICES, STAGES);
    const event: fc.Arbitrary<ProgressEvent> = fc.oneof(
      fc.record({
        kind: fc.constant('page' as const),
        stream: key,
        records: fc.nat(1e9),
        totalCount: fc.option(fc.nat(1e9)),
      }),
      fc.record({
        kind: fc.constant('stream' as const),
        stream: key,
        state: fc.constant('complete' as const),
      }),
      fc.record({
        kind: fc.constant('wait' as const),
        host: fc.string(),
        waitMs: fc.nat(1e8),
        reason: fc.string({ unit: 'binary', maxLength: 300 }),
      }),
      fc.record({
        kind: fc.constant('step' as const),
        name: fc.constantFrom('lists', 'a step with a name'),
        done: fc.nat(1e6),
        total: fc.option(fc.nat(1e6)),
      }),
    );
    fc.assert(
      fc.property(fc.array(event), fc.integer({ min: 1, max: 220 }), fc.nat(1e9), (events, width, nowMs) => {
        const stage = new Stage('export v3', 0);
        for (const one of events) stage.count(one, 0);
        expect(displayWidth(stage.renderLine(nowMs, width))).toBeLessThanOrEqual(width);
        expect(displayWidth(stage.renderBarLine(nowMs, width))).toBeLessThanOrEqual(width);
      }),
      { numRuns: 2000 },
    );
  });
});
