import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withFileLock } from '../../../src/apply/files/write-file.js';
import { campaign } from '../../support/campaign.js';
import { compileChild } from '../../support/compile-child.js';
import { makeFolder } from '../support/folder.js';

const take = (file: string) =>
  withFileLock({ file, command: 'apply undo', nowMs: 0 }, async () => readdirSync(join(file, '..')).sort());

describe('the lock of a file', () => {
  it('is gone with its note when the work is done, and after an error', async () => {
    const folder = makeFolder();
    const file = join(folder, 'orders.csv');
    expect(await take(file)).toEqual(['orders.csv.svc-migrate-lock', 'orders.csv.svc-migrate-owner']);
    const failed = withFileLock({ file, command: 'apply undo', nowMs: 0 }, () => Promise.reject('failed'));
    await expect(failed).rejects.toBe('failed');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is refused where its file is not a lock, and where the folder is gone', async () => {
    const file = join(makeFolder(), 'orders.csv');
    writeFileSync(`${file}.svc-migrate-lock`, 'of somebody else'.repeat(100));
    await expect(take(file)).rejects.toMatchObject({ code: 'bad_input', hint: 'Move it away.' });
    await expect(take(join(file, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is held by one process at a time, and released by one that ends inside', async () => {
    const script = await compileChild('test/apply/support/lock-child.ts');
    const folder = makeFolder();
    const file = join(folder, 'orders.csv');
    const ended = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const args = [script, file, String(campaign({ small: 100, full: 2000 }))];
        const [code] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit');
        return code;
      }),
    );
    expect(ended).toEqual([0, 0, 0]);
    await take(file);
    expect(readdirSync(folder)).toEqual([]);
  });
});
