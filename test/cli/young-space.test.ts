import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

const MODULE = new URL('../../dist/commands/young-space.js', import.meta.url).href;

/** Starts a thread, keeps many small objects for a while, and prints how many bytes the space for young ones has. */
const GROWING = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { Worker } from 'node:worker_threads';
  import { keepYoungSpaceSmall } from '${MODULE}';
  keepYoungSpaceSmall();
  const thread = new Worker('setInterval(() => {}, 1000)', { eval: true });
  thread.once('online', () => {
    keepYoungSpaceSmall();
    let kept = [];
    for (let at = 0; at < 3_000_000; at++) {
      if (kept.length === 100_000) kept = [];
      kept.push({ at });
    }
    console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size);
    thread.terminate();
  });
`;

describe('the space for young objects', () => {
  it('stays small when it is told so again once a thread has started', () => {
    const bytes = execFileSync(process.execPath, ['--input-type=module', '-e', GROWING], {
      encoding: 'utf8',
    });
    // V8 begins with 2 MiB and would end with 32
    expect(Number(bytes)).toBeLessThanOrEqual(4 * 1024 * 1024);
  });
});
