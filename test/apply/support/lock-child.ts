import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { withFileLock } from '../../../src/apply/files/file-lock.js';

/**
 * Takes the lock of a file again and again, and each time leaves one behind as a killed process does. Fails if another process
 * is inside at the same time. Arguments: the file, how often, and the number of a process that is gone.
 */
const [file = '', times = '0', gone = '0'] = process.argv.slice(2);
const lock = `${file}.svc-migrate-lock`;

for (let taken = 0; taken < Number(times); ) {
  try {
    await withFileLock({ file, command: 'test', nowMs: 0 }, async () => {
      mkdirSync(`${file}.inside`);
      // Long enough that others, which found the old lock, act on it meanwhile.
      for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
      rmdirSync(`${file}.inside`);
      const token = String(taken).padStart(8, '0') + process.pid.toString(16).padStart(8, '0');
      const holder = { ...JSON.parse(readFileSync(lock, 'utf8')), token, pid: Number(gone) };
      // Replaced in place: the file is never empty, because the text is as long as the old one.
      writeFileSync(lock, JSON.stringify(holder).padEnd(400), { flag: 'r+' });
    });
    taken += 1;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'locked')) throw error;
  }
}
