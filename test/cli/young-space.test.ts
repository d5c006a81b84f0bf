import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const MODULE = new URL('../../dist/commands/export-in-thread.js', import.meta.url).href;

/** While a thread holds a database, keeps many small objects for a while; tells the space for young ones before and after. */
const GROWING = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { holdInThread } from '${MODULE}';
  const sizeOfYoung = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size;
  const hold = { file: process.argv[2], mode: 'create', command: 'export v3', nowMs: Date.now() };
  const io = { signal: new AbortController().signal, onProgress: () => {} };
  await holdInThread(hold, io, async () => {
    const before = sizeOfYoung();
    let kept = [];
    for (let at = 0; at < 3_000_000; at++) {
      if (kept.length === 100_000) kept = [];
      kept.push({ at });
    }
    console.log(before, sizeOfYoung());
  });
`;

describe('the space for young objects', () => {
  it('does not grow while a thread holds the database', () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-young-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const script = join(folder, 'growing.mjs');
    writeFileSync(script, GROWING);
    const printed = execFileSync(process.execPath, [script, join(folder, 'young.db')], { encoding: 'utf8' });
    const [before = 0, after = Number.NaN] = printed.split(' ').map(Number);
    expect(before).toBeGreaterThan(0);
    expect(after).toBeLessThanOrEqual(before);
  });
});
