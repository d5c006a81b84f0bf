import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { ProgressEvent, StreamKey } from '../../src/domain.js';
import { createProgress, type ProgressOptions } from '../../src/progress.js';
import { displayWidth, fitParts } from '../../src/text/wrap.js';

const INVOICES: StreamKey = { generation: 'v3', region: 'eu', model: 'accounting/invoices', companyId: null };

function page(stream: StreamKey, records: number, totalCount: number | null): ProgressEvent {
  return { kind: 'page', stream, records, totalCount };
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
  return { ...progress, pass, text: () => written.join('') };
}

describe('where there is no terminal', () => {
  it('a plain line comes every ten seconds and one at the end of each stage', async () => {
    const { onProgress, pass, stop, text } = await show();
    onProgress({ kind: 'stage', name: 'export v3' });
    onProgress({ kind: 'step', name: 'lists', done: 0, total: 2 });
    pass(1000);
    onProgress(page(INVOICES, 500, 2000));
    pass(9000);
    onProgress(page(INVOICES, 1500, 2000));
    onProgress({ kind: 'stream', stream: INVOICES, state: 'complete' });
    onProgress(page({ ...INVOICES, model: 'a/b' }, 0, 2000));
    pass(10_000);
    onProgress({ kind: 'stage', name: 'export v4' });
    stop('done');
    expect(text().split('\n')).toEqual([
      'export v3 · 500 records · 50/s · 0 of 2 lists',
      'export v3 · 2,000 of 4,000 records · 100/s · 20 s left · 1 of 2 lists',
      'export v3: 2,000 records received in 3 pages, 20 s',
      'export v4: done in 0 s',
      '',
    ]);
  });

  it('two generations that are read at the same time have a line each', async () => {
    const { onProgress, pass, stop, text } = await show();
    for (const generation of ['v3', 'v4'] as const) {
      onProgress({ kind: 'stage', name: `export ${generation}`, generation });
    }
    onProgress({ ...page(INVOICES, 500, null), generation: 'v3' });
    pass(10_000);
    onProgress({ kind: 'end', how: 'done', generation: 'v3' });
    onProgress({ kind: 'stage', name: 'remap' });
    stop('failed');
    expect(text().split('\n')).toEqual([
      'export v3 · 500 records · 50/s',
      'export v4',
      'export v3: 500 records received in 1 page, 10 s',
      'export v4: done in 10 s',
      '',
    ]);
  });

  it('waits are named while they happen', async () => {
    const { onProgress, pass, text } = await show();
    onProgress({ kind: 'stage', name: 'export v3' });
    pass(9000);
    onProgress({ kind: 'wait', host: 'h', waitMs: 13_000, reason: 'V3 answered 429 and asked for it' });
    pass(1000);
    expect(text()).toBe('export v3 · waiting 12 s: V3 answered 429 and asked for it\n');
  });
});

describe('how much is said', () => {
  it.each([
    [{}, true, false],
    [{ quiet: true }, false, false],
    [{ verbose: true }, true, true],
  ])('with %j', async (more, saysStages, saysLists) => {
    const { onProgress, stop, text } = await show(more);
    onProgress({ kind: 'stage', name: 'export v3' });
    onProgress({ kind: 'stream', stream: INVOICES, state: 'complete' });
    onProgress({ kind: 'note', level: 'warning', text: 'mind \u001b[31m this' });
    stop('done');
    expect(text()).toContain('Warning: mind \\u001b[31m this');
    expect([text().includes('export v3: done'), text().includes('accounting/invoices')]).toEqual([
      saysStages,
      saysLists,
    ]);
  });
});

it('on a terminal a line is redrawn, and cleared before other output', async () => {
  const { onProgress, pass, stop, clearBefore, text } = await show({ isTty: true, width: () => 60 });
  const stdout = new PassThrough();
  onProgress({ kind: 'stage', name: 'export v3' });
  onProgress(page(INVOICES, 500, 2000));
  pass(1000);
  await new Promise<void>((done) => clearBefore(stdout).write('result\n', () => done()));
  stop('done');
  const lines = stripVTControlCharacters(text());
  expect(lines).toContain('export v3 · 500 records');
  expect(lines).toMatch(/500 records received in 1 page/);
  expect(stdout.read().toString()).toBe('result\n');
});

it('a line never exceeds the width', () => {
  const parts = ['export v3', `waiting 5 s: ${'日'.repeat(40)}`, '1,000,000 of 5,000,000 records', '500/s'];
  for (let width = 1; width < 120; width += 1) {
    expect(displayWidth(fitParts(parts, width))).toBeLessThanOrEqual(width);
  }
});
