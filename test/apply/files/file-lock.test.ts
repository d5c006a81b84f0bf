import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { withFileLock } from '../../../src/apply/files/file-lock.js';
import { campaign } from '../../support/campaign.js';
import { compileChild } from '../../support/compile-child.js';
import { makeFolder } from '../support/folder.js';

const GONE = spawnSync(process.execPath, ['-e', '']).pid;
const SUFFIX = '.svc-migrate-lock';
const HOLDER = {
  ...{ pid: GONE, host: hostname(), started: '', since: '2026-11-20T00:00:00.000Z', command: 'apply write' },
  token: '0123456789abcdef',
};

describe('the lock of a file', () => {
  it.each([
    ['a process that is gone', HOLDER, true],
    ['a process whose number another one has now', { ...HOLDER, pid: process.pid, started: '1' }, true],
    ['a running process', { ...HOLDER, pid: process.pid }, false],
    ['a process on another machine', { ...HOLDER, host: 'elsewhere' }, false],
    ['nobody it names', {}, false],
  ])('of %s', async (_, holder, isFree) => {
    const folder = makeFolder();
    const file = join(folder, 'orders.csv');
    writeFileSync(file + SUFFIX, JSON.stringify(holder));
    const work = withFileLock({ file, command: 'apply undo', nowMs: 0 }, async () => 'done');
    if (isFree) expect(await work).toBe('done');
    else await expect(work).rejects.toMatchObject({ code: 'locked', hint: expect.stringContaining(SUFFIX) });
    expect(readdirSync(folder)).toEqual(isFree ? [] : [`orders.csv${SUFFIX}`]);
  });

  it('is taken over by one process at a time, however many find that its owner is gone', async () => {
    const child = await compileChild('test/apply/support/lock-child.ts');
    afterAll(child.remove);
    const file = join(makeFolder(), 'orders.csv');
    const ended = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const args = [child.script, file, String(campaign({ small: 100, full: 2000 })), String(GONE)];
        const [code] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit');
        return code;
      }),
    );
    expect(ended).toEqual([0, 0, 0]);
  });
});
