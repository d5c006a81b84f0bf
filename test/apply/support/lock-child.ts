import { mkdirSync, rmdirSync } from 'node:fs';
import { withFileLock } from '../../../src/apply/files/write-file.js';

/**
 * Takes the lock of a file again and again, and at last ends inside. Fails if another process is inside at the same time.
 * Arguments: the file, and how often.
 */
const [file = '', times = '0'] = process.argv.slice(2);

for (let taken = 0; taken < Number(times); ) {
  try {
    await withFileLock({ file, command: 'test', nowMs: 0 }, async () => {
      mkdirSync(`${file}.inside`);
      // Long enough that others look at the lock meanwhile.
      for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
      rmdirSync(`${file}.inside`);
      taken += 1;
      if (taken === Number(times)) process.exit();
    });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'locked')) throw error;
  }
}
